// Memory over time: the plan as a stack of what it is made of, keep-all as a line, and the moment one looks at.

const kRibbon = 12; // height of the strip that shows which steps are recomputations

class Timeline extends Plot {
  constructor(model, moment) {
    const most = Math.max(1, Math.min(4000, model.plan.length / 4));
    super(byId("timeline"), {
      margin: { top: 22, right: 12, bottom: 44, left: 56 },
      height: (width) => Math.max(240, Math.min(400, width * 0.46)),
      most,
      buttons: byId("timeline-zoom"),
      label: "the memory over time",
    });
    Object.assign(this, { model, moment });
    this.byTime = model.plan.cost > 0;
    this.cursor = this.svg.append("g").attr("class", "moment-cursor");
    this.cursor.append("line").attr("class", "cursor");
    this.cursor.append("circle").attr("class", "dot").attr("r", 4);
    this.listen();
    this.setUpAxisSwitch();
    this.describe();
    fillLegend(byId("timeline-legend"), this.legend());
    moment.on("change.timeline", () => this.showMoment());
  }

  legend() {
    const { plan, keepAll } = this.model;
    const used = kGroups.filter((group) => plan.groups[group].some((bytes) => bytes > 0));
    const entries = used.map((group) => [group, kGroupText[group]]);
    entries.push(["keep-all", `keeping everything (peak ${bytesText(keepAll.peak)})`, "line"]);
    if (this.model.answer.budget !== null) entries.push(["budget", "budget", "dash"]);
    if (plan.isFirst.includes(0)) entries.push(["again", "recomputation (strip below)"]);
    return entries;
  }

  describe() {
    const canvas = this.canvas;
    canvas.id = "timeline-canvas";
    canvas.setAttribute("role", "slider");
    canvas.setAttribute("aria-label", "Moment of the plan");
    canvas.setAttribute("aria-describedby", "timeline-help");
    canvas.setAttribute("aria-valuemin", "0");
    canvas.setAttribute("aria-valuemax", String(this.model.plan.length - 1));
  }

  setUpAxisSwitch() {
    const inputs = byId("timeline-axis").querySelectorAll("input");
    for (const input of inputs) {
      if (input.value === "time") {
        input.disabled = !this.byTime;
        input.nextElementSibling.textContent = this.model.timeWord;
      }
      if (input.value === (this.byTime ? "time" : "steps")) input.checked = true;
      input.addEventListener("change", () => {
        this.byTime = input.value === "time";
        this.target.call(this.zoom.transform, d3.zoomIdentity);
        this.redraw();
      });
    }
  }

  /** Where a step begins on the axis, before scaling; the step after the last is the end. */
  begin(run, step) {
    return this.byTime ? run.start[step] : step;
  }
  stepAt(run, value) {
    if (!this.byTime) return Math.max(0, Math.min(run.length - 1, Math.floor(value)));
    return Math.max(0, Math.min(run.length - 1, d3.bisectRight(run.start, value) - 1));
  }

  scales() {
    const { plan, keepAll, answer } = this.model;
    const end = Math.max(this.begin(plan, plan.length), this.begin(keepAll, keepAll.length), 1e-9);
    const top = Math.max(plan.peak, keepAll.peak, 1);
    // A budget far above all that is used would press the chart flat.
    this.showsBudget = answer.budget !== null && answer.budget <= 1.3 * top;
    const high = 1.04 * Math.max(top, this.showsBudget ? answer.budget : 0);
    this.x = this.transform.rescaleX(d3.scaleLinear([0, end], [0, this.width]));
    this.y = d3.scaleLinear([0, high], [this.height - kRibbon - 4, 0]);
  }

  /** The step with the most memory in each column of dots, so that no peak is lost however many steps there are. */
  columns(run) {
    const count = this.canvas.width;
    const best = new Int32Array(count).fill(-1);
    const [low, high] = this.x.domain();
    const last = this.stepAt(run, high);
    if (low > this.begin(run, run.length)) return best;
    for (let step = this.stepAt(run, low); step <= last; ++step) {
      const from = Math.max(0, Math.floor(this.x(this.begin(run, step)) * this.dots));
      const to = Math.min(count - 1, Math.max(from, Math.ceil(this.x(this.begin(run, step + 1)) * this.dots) - 1));
      for (let column = from; column <= to; ++column) {
        if (best[column] < 0 || run.memory[step] > run.memory[best[column]]) best[column] = step;
      }
    }
    return best;
  }

  draw() {
    this.scales();
    const palette = colors([...kGroups, "keep-all", "again", "soft", "line"]);
    this.drawGrid(palette.line);
    this.drawStack(this.columns(this.model.plan), palette);
    this.drawKeepAll(this.columns(this.model.keepAll), palette["keep-all"]);
    this.drawRibbon(palette);
    this.drawAxes();
    this.showMoment();
  }

  drawGrid(stroke) {
    this.context.fillStyle = stroke;
    for (const value of byteTicks(0, this.y.domain()[1], 6).values) {
      this.context.fillRect(0, Math.round(this.y(value) * this.dots), this.canvas.width, 1);
    }
  }

  drawStack(columns, palette) {
    const { groups } = this.model.plan;
    const context = this.context;
    const floor = this.y(0) * this.dots;
    for (let from = 0; from < columns.length; ) {
      const step = columns[from];
      let to = from + 1;
      while (to < columns.length && columns[to] === step) ++to;
      if (step >= 0) {
        let sum = 0;
        let below = floor;
        for (const group of kGroups) {
          if (groups[group][step] === 0) continue;
          sum += groups[group][step];
          const above = this.y(sum) * this.dots;
          context.fillStyle = palette[group];
          context.fillRect(from, above, to - from, below - above);
          below = above;
        }
      }
      from = to;
    }
  }

  drawKeepAll(columns, stroke) {
    const { memory } = this.model.keepAll;
    const context = this.context;
    context.beginPath();
    let drawn = false;
    columns.forEach((step, column) => {
      if (step < 0) return;
      const y = this.y(memory[step]) * this.dots;
      if (!drawn) context.moveTo(column, y);
      drawn = true;
      context.lineTo(column, y);
      context.lineTo(column + 1, y);
    });
    context.strokeStyle = stroke;
    context.lineWidth = 1.5 * this.dots;
    context.lineJoin = "round";
    context.stroke();
  }

  drawRibbon(palette) {
    const { plan } = this.model;
    const context = this.context;
    const top = (this.height - kRibbon) * this.dots;
    context.fillStyle = palette.soft;
    context.fillRect(0, top, this.x(this.begin(plan, plan.length)) * this.dots, kRibbon * this.dots);
    context.fillStyle = palette.again;
    const [low, high] = this.x.domain();
    const last = this.stepAt(plan, high);
    for (let step = this.stepAt(plan, low); step <= last; ++step) {
      if (plan.isFirst[step]) continue;
      const from = this.x(this.begin(plan, step)) * this.dots;
      const to = this.x(this.begin(plan, step + 1)) * this.dots;
      context.fillRect(from, top, Math.max(1, to - from), kRibbon * this.dots);
    }
  }

  drawAxes() {
    const { left, top } = this.margin;
    const { model } = this;
    const bottom = top + this.height;
    const text = this.byTime ? (v) => model.costText(v) : d3.format(",");
    const values = this.x.ticks(Math.max(2, this.width / 110)).filter(Number.isInteger);
    const across = d3.axisBottom(this.x).tickValues(values).tickFormat(text).tickSizeOuter(0);
    drawAxis(this, "across", across, left, bottom);
    const ticks = byteTicks(0, this.y.domain()[1], 6);
    const up = d3.axisLeft(this.y).tickValues(ticks.values).tickFormat(ticks.text).tickSize(0).tickPadding(8);
    drawAxis(this, "up", up, left, top);
    const titles = [
      { x: left - 8, y: 10, anchor: "end", text: ticks.unit },
      { x: left + this.width, y: bottom + 38, anchor: "end", text: this.byTime ? `${this.model.timeWord} since the start` : "step of the plan" },
    ];
    this.svg.selectAll("text.title").data(titles).join("text").attr("class", "title").attr("text-anchor", (d) => d.anchor).attr("x", (d) => d.x).attr("y", (d) => d.y).text((d) => d.text);
    this.drawBudget();
  }

  drawBudget() {
    const { left, top } = this.margin;
    const at = this.showsBudget ? [top + this.y(this.model.answer.budget)] : [];
    const text = `budget ${bytesText(this.model.answer.budget ?? 0)}`;
    this.svg.selectAll("line.budget-line").data(at).join("line").attr("class", "budget-line").attr("x1", left).attr("x2", left + this.width).attr("y1", (y) => y).attr("y2", (y) => y);
    this.svg.selectAll("text.budget").data(at).join("text").attr("class", "budget halo").attr("x", left + this.width - 6).attr("y", (y) => y - 6).attr("text-anchor", "end").text(text);
    this.cursor.raise();
  }

  /** Puts the cursor where the moment is. */
  showMoment() {
    if (!this.x) return;
    const { plan } = this.model;
    const step = this.moment.step;
    const at = this.x((this.begin(plan, step) + this.begin(plan, step + 1)) / 2);
    const inside = at >= -1 && at <= this.width + 1;
    const { left, top } = this.margin;
    this.cursor.attr("display", inside ? null : "none").attr("transform", `translate(${left + at},${top})`);
    this.cursor.select("line").attr("y1", 0).attr("y2", this.height);
    this.cursor.select("circle").attr("cy", this.y(plan.memory[step]));
    this.canvas.setAttribute("aria-valuenow", String(step));
    this.canvas.setAttribute("aria-valuetext", momentText(this.model, step));
  }

  listen() {
    const canvas = this.canvas;
    const at = (event) => this.stepAt(this.model.plan, this.x.invert(this.place(event)[0]));
    let latest = null;
    const hover = oncePerFrame(() => latest && this.moment.hover(at(latest)));
    canvas.addEventListener("pointermove", (event) => {
      latest = event;
      hover();
    });
    canvas.addEventListener("pointerleave", () => {
      latest = null;
      this.moment.hover(null);
    });
    canvas.addEventListener("click", (event) => this.moment.pin(at(event)));
    canvas.addEventListener("keydown", (event) => this.moveKey(event));
    byId("to-peak").addEventListener("click", () => {
      this.moment.pin(this.model.raw.peak.steps[0]);
      this.follow();
    });
  }

  moveKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.model.plan.length - 1;
    const page = Math.max(10, Math.round(last / 20));
    const step = this.moment.pinned;
    const one = event.shiftKey ? 10 : 1;
    const goal = {
      ArrowLeft: step - one, ArrowDown: step - one, ArrowRight: step + one, ArrowUp: step + one,
      PageUp: step + page, PageDown: step - page, Home: 0, End: last,
    }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    this.moment.hover(null);
    this.moment.pin(Math.max(0, Math.min(last, goal)));
    this.follow();
  }

  /** Moves what is shown so that the moment is. */
  follow() {
    const { plan } = this.model;
    const value = (this.begin(plan, this.moment.step) + this.begin(plan, this.moment.step + 1)) / 2;
    const at = this.x(value);
    if (at >= 0 && at <= this.width) return;
    this.target.call(this.zoom.translateTo, this.transform.invertX(at), 0);
  }
}

function momentText(model, step) {
  const op = model.plan.steps[step];
  const how = model.plan.isFirst[step] ? "runs" : "recomputes";
  return `step ${step} of ${model.plan.length}, ${how} ${shortName(model.opName(op))}, ${bytesText(model.plan.memory[step])}`;
}

/** The step one looks at: where the pointer is, or else where one clicked. */
class Moment {
  constructor(step) {
    this.pinned = step;
    this.hovered = null;
    this.changes = d3.dispatch("change");
  }
  get step() {
    return this.hovered ?? this.pinned;
  }
  on(name, listener) {
    this.changes.on(name, listener);
  }
  pin(step) {
    this.pinned = step;
    this.changes.call("change");
  }
  hover(step) {
    if (step === this.hovered) return;
    this.hovered = step;
    this.changes.call("change");
  }
}

/** The list of what is in memory, beside the chart. */
class MomentPanel {
  constructor(model, moment) {
    Object.assign(this, { model, moment });
    this.root = byId("moment");
    moment.on("change.panel", oncePerFrame(() => this.draw()));
    this.draw();
  }

  draw() {
    const { model, moment } = this;
    const { plan } = model;
    const step = moment.step;
    const op = plan.steps[step];
    const again = !plan.isFirst[step];
    const tag = element("span", { className: `tag ${again ? "again" : "first"}` }, again ? "recomputed" : "first run");
    const what = element("p", { className: "what" }, nameElement(model.opName(op)), " ", tag);
    const where = [`step ${countText(step)} of ${countText(plan.length)}`, model.phase(op), model.kind(op), model.costText(model.cost(op))];
    this.root.dataset.step = step;
    this.root.replaceChildren(
      what,
      element("p", { className: "muted" }, where.filter(Boolean).map((text) => shortName(text, 40)).join(" · ")),
      element("p", { className: "total" }, bytesText(plan.memory[step])),
      ...this.groups(step),
    );
  }

  groups(step) {
    const { model } = this;
    const { plan } = model;
    const there = d3.nest().key((stay) => model.groupOf(stay.tensor)).map(plan.at(step, model));
    const parts = [];
    for (const group of [...kGroups].reverse()) {
      const bytes = plan.groups[group][step];
      const stays = there.get(group) ?? [];
      if (bytes === 0 && stays.length === 0) continue;
      const title = element("h3", {}, swatch(group), kGroupText[group], element("span", { className: "size" }, bytesText(bytes)));
      parts.push(title, this.list(stays));
    }
    return parts;
  }

  list(stays) {
    const shown = stays.slice(0, 8);
    const rows = shown.map((stay) => {
      const size = element("span", {}, bytesText(this.model.bytes(stay.tensor)));
      return element("li", {}, nameElement(this.model.tensorName(stay.tensor), 34), size);
    });
    if (stays.length > shown.length) {
      const rest = d3.sum(stays.slice(shown.length), (stay) => this.model.bytes(stay.tensor));
      rows.push(element("li", {}, element("span", {}, `and ${countText(stays.length - shown.length)} more, ${bytesText(rest)}`)));
    }
    return element("ol", {}, ...rows);
  }
}
