// Stages against ops: what each stage computes, and what it finds in memory. Marks are rectangles, one a run and one a stay,
// never one a cell: 5,000 ops have 25 million cells and some ten thousand marks.

class StageMap extends Plot {
  constructor(model, moment) {
    const across = model.opCount;
    super(byId("map-chart"), {
      margin: { top: 40, right: 12, bottom: 12, left: 56 },
      height: (width) => Math.min(Math.max(220, Math.min(620, width * 0.56)), Math.max(80, 40 * model.plan.stageCount)),
      most: Math.max(1, across / 12),
      buttons: byId("map-zoom"),
      label: "the map",
    });
    Object.assign(this, { model, moment });
    this.collect();
    this.canvas.id = "map-canvas";
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", this.summary());
    this.canvas.setAttribute("aria-describedby", "map-help");
    this.mark = this.svg.append("g").attr("clip-path", `url(#${this.root.id}-clip)`);
    this.mark.append("rect").attr("class", "mark");
    this.listen();
    const again = this.again.length > 0 ? [["again", "recomputed"]] : [];
    fillLegend(byId("map-legend"), [["first", "computed first"], ...again, ["kept", "kept in memory"]]);
    moment.on("change.map", () => this.showMoment());
  }

  collect() {
    const { plan } = this.model;
    this.kept = []; // {op, from, to}: found in memory by the stages from..to
    this.keptOf = new Map();
    for (const stay of plan.stays) {
      const op = this.model.maker(stay.tensor);
      const from = plan.stage[stay.first] + 1;
      const to = plan.stage[stay.last];
      if (op < 0 || to < from) continue;
      const mark = { op, from, to };
      this.kept.push(mark);
      if (!this.keptOf.has(op)) this.keptOf.set(op, []);
      this.keptOf.get(op).push(mark);
    }
    this.again = [];
    this.stepOf = new Map(); // of a cell, its first step
    plan.steps.forEach((op, step) => {
      if (!plan.isFirst[step]) this.again.push(step);
      const cell = this.cell(op, plan.stage[step]);
      if (!this.stepOf.has(cell)) this.stepOf.set(cell, step);
    });
  }

  cell(op, stage) {
    return stage * this.model.opCount + op;
  }

  summary() {
    const runs = counted(this.again.length, "recomputation");
    return `Map of ${counted(this.model.plan.stageCount, "stage")} and ${counted(this.model.opCount, "op")} with ${runs}; the table of what is recomputed has the same in words`;
  }

  draw() {
    const { opCount, plan } = this.model;
    this.x = this.transform.rescaleX(d3.scaleLinear([0, opCount], [0, this.width]));
    this.y = this.transform.rescaleY(d3.scaleLinear([0, plan.stageCount], [0, this.height]));
    const palette = colors(["first", "again", "kept", "soft"]);
    const across = (this.x(1) - this.x(0)) * this.dots;
    const down = (this.y(1) - this.y(0)) * this.dots;
    const context = this.context;
    // A gap between the cells, once there is room for one.
    const gap = Math.min(across, down) > 6 * this.dots ? this.dots : 0;
    const [originX, originY] = [this.x(0) * this.dots, this.y(0) * this.dots];
    const { width: right, height: bottom } = this.canvas;
    let latest = -1; // the dot of the mark before: runs that share a dot are drawn once
    const rectangle = (op, from, to, least) => {
      const left = originX + op * across;
      const top = originY + from * down;
      const width = across - gap;
      const height = down * (to - from + 1) - gap;
      if (left > right || left + width < 0 || top > bottom || top + height < 0) return;
      const dot = Math.round(top) * right + Math.round(left);
      if (least > 0 && dot === latest) return;
      latest = dot;
      // At the edges too the smallest mark is whole.
      context.fillRect(Math.min(left, right - least), Math.min(top, bottom - least), Math.max(least, width), Math.max(least, height));
    };
    const color = (name) => {
      context.fillStyle = palette[name];
      latest = -1;
    };
    context.fillStyle = palette.soft;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    // Stays as wide as they are: where they are thinner than a dot, the shade tells how many there are.
    color("kept");
    for (const { op, from, to } of this.kept) rectangle(op, from, to, 0);
    color("first");
    plan.stageOp.forEach((op, stage) => rectangle(op, stage, stage, 1.5 * this.dots));
    color("again");
    for (const step of this.again) rectangle(plan.steps[step], plan.stage[step], plan.stage[step], 3 * this.dots);
    this.drawAxes();
    this.showMoment();
  }

  drawAxes() {
    const { left, top } = this.margin;
    const whole = (scale, room) => scale.ticks(Math.max(2, room)).filter(Number.isInteger);
    const number = d3.format(",");
    // Ticks stand in the middle of their cells.
    const half = (scale) => scale.copy().domain(scale.domain().map((v) => v - 0.5));
    const across = d3.axisTop(half(this.x)).tickValues(whole(this.x, this.width / 80)).tickFormat(number).tickSize(4);
    const down = d3.axisLeft(half(this.y)).tickValues(whole(this.y, this.height / 50)).tickFormat(number).tickSize(4);
    drawAxis(this, "across", across, left, top);
    drawAxis(this, "up", down, left, top);
    const inside = (scale, size) => function (value) {
      const at = half(scale)(value);
      return at >= 0 && at <= size ? null : "none";
    };
    this.svg.selectAll("g.across .tick").attr("display", inside(this.x, this.width));
    this.svg.selectAll("g.up .tick").attr("display", inside(this.y, this.height));
    const titles = [
      { x: left - 8, y: 14, anchor: "end", text: "stage" },
      { x: left + this.width, y: 14, anchor: "end", text: "op" },
    ];
    this.svg.selectAll("text.title").data(titles).join("text").attr("class", "title").attr("text-anchor", (d) => d.anchor).attr("x", (d) => d.x).attr("y", (d) => d.y).text((d) => d.text);
  }

  /** A frame around the cell of the moment, never too small to see. */
  showMoment() {
    if (!this.x) return;
    const { plan } = this.model;
    const op = plan.steps[this.moment.step];
    const stage = plan.stage[this.moment.step];
    const width = Math.max(8, this.x(1) - this.x(0));
    const height = Math.max(8, this.y(1) - this.y(0));
    const middleX = (this.x(op) + this.x(op + 1)) / 2;
    const middleY = (this.y(stage) + this.y(stage + 1)) / 2;
    this.mark.attr("transform", `translate(${this.margin.left},${this.margin.top})`);
    this.mark.select("rect").attr("x", middleX - width / 2).attr("y", middleY - height / 2).attr("width", width).attr("height", height).attr("rx", 2);
  }

  /** The op and the stage under the pointer, or null. */
  under(event) {
    const [x, y] = this.place(event);
    const op = Math.floor(this.x.invert(x));
    const stage = Math.floor(this.y.invert(y));
    const inside = op >= 0 && op < this.model.opCount && stage >= 0 && stage < this.model.plan.stageCount;
    return inside ? { op, stage } : null;
  }

  /** The step of a cell; where a cell is smaller than the pointer, of the nearest run around it. */
  stepNear({ op, stage }) {
    const exact = this.stepOf.get(this.cell(op, stage));
    if (exact !== undefined) return exact;
    const size = Math.min(this.x(1) - this.x(0), this.y(1) - this.y(0));
    if (size > 4) return undefined;
    const reach = Math.min(8, Math.ceil(3 / Math.max(0.05, size)));
    for (let distance = 1; distance <= reach; ++distance) {
      for (let a = -distance; a <= distance; ++a) {
        for (const [da, db] of [[a, -distance], [a, distance], [-distance, a], [distance, a]]) {
          const step = this.stepOf.get(this.cell(op + da, stage + db));
          if (step !== undefined && op + da >= 0 && op + da < this.model.opCount) return step;
        }
      }
    }
    return undefined;
  }

  tell(event) {
    const under = this.under(event);
    if (!under) return Tip.hide();
    const { plan } = this.model;
    const step = this.stepNear(under);
    const op = step === undefined ? under.op : plan.steps[step];
    const stage = step === undefined ? under.stage : plan.stage[step];
    const kept = (this.keptOf.get(op) ?? []).some(({ from, to }) => from <= stage && stage <= to);
    const how = step === undefined ? (kept ? "kept in memory" : "not in memory") : plan.isFirst[step] ? "computed first" : "recomputed";
    const ends = plan.stageOp[stage];
    const lines = [nameElement(this.model.opName(op)), `op ${countText(op)}, stage ${countText(stage)}: ${how}`];
    if (step !== undefined) lines.push(`step ${countText(step)}`);
    if (ends !== undefined && ends !== op) {
      const line = element("span", {}, "the stage ends with ", nameElement(this.model.opName(ends), 40));
      lines.push(line);
    }
    Tip.show(event.clientX, event.clientY, lines);
    return undefined;
  }

  listen() {
    const canvas = this.canvas;
    let latest = null;
    const tell = oncePerFrame(() => latest && this.tell(latest));
    canvas.addEventListener("pointermove", (event) => {
      latest = event;
      tell();
    });
    canvas.addEventListener("pointerleave", () => {
      latest = null;
      Tip.hide();
    });
    canvas.addEventListener("click", (event) => {
      const under = this.under(event);
      const step = under && this.stepNear(under);
      if (step !== null && step !== undefined) this.moment.pin(step);
    });
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.target.call(this.zoom.translateBy, by[0] / this.transform.k, by[1] / this.transform.k);
    });
  }
}
