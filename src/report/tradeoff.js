// Overhead against budget: a line a method, the band between bound and best plan, and the plan of this page.

const kSeriesColors = ["forward", "backward", "update", "loss", "again", "muted", "budget", "first"];

/** Between two budgets the bound is that of the larger one, which holds for less too, and the best plan that of the smaller one, which fits. */
function inSteps(rows) {
  return rows.flatMap((row, i) => {
    const next = rows[i + 1];
    const between = next && [{ ...row, bound: next.bound }, { ...next, best: row.best }];
    return between ? [row, ...between] : [row];
  });
}

class Tradeoff {
  constructor(model) {
    this.model = model;
    this.points = model.raw.tradeoff.points;
    this.band = model.raw.tradeoff.band;
    this.root = byId("tradeoff-chart");
    this.root.classList.add("drawn");
    byId("tradeoff").hidden = false;
    this.collect();
    this.hidden = new Set();
    this.svg = d3.select(this.root).append("svg").attr("role", "img").attr("aria-label", this.summary());
    this.addHatching();
    this.fillLegend();
    this.fillTable();
    new ResizeObserver(oncePerFrame(() => this.show())).observe(this.root);
  }

  collect() {
    const { answer, plan } = this.model;
    this.chosen = { budget: answer.budget ?? plan.peak, overhead: answer.overhead };
    const nest = d3.nest().key((point) => point.method).entries(this.points);
    // The cheapest method on top, in the first color.
    const mean = (points) => d3.mean(points.filter((p) => p.overhead !== null), (p) => p.overhead) ?? Infinity;
    const count = (points) => points.filter((p) => p.overhead !== null).length;
    this.series = nest
      .map(({ key, values }) => ({ method: key, all: values, points: values.filter((p) => p.overhead !== null) }))
      .sort((a, b) => (b.method === "auto") - (a.method === "auto") || count(b.all) - count(a.all) || mean(a.all) - mean(b.all));
    this.without = this.series.filter((series) => series.points.length === 0).map((series) => series.method);
    this.series = this.series.filter((series) => series.points.length > 0);
    this.series.forEach((series, i) => {
      series.color = series.method === "auto" ? "accent" : kSeriesColors[i % kSeriesColors.length];
      series.symbol = d3.symbols[i % d3.symbols.length];
    });
    this.infeasible = d3.max(this.points.filter((p) => p.status === "infeasible"), (p) => p.budget);
  }

  summary() {
    return `Overhead against budget for ${counted(this.series.length, "method")}; the table below has the same in numbers`;
  }

  addHatching() {
    const pattern = this.svg.append("defs").append("pattern").attr("id", "hatching").attr("width", 7).attr("height", 7)
      .attr("patternUnits", "userSpaceOnUse").attr("patternTransform", "rotate(45)");
    pattern.append("line").attr("y2", 7).attr("stroke", "var(--line)").attr("stroke-width", 2.5);
  }

  scales() {
    this.width = Math.max(200, roomIn(this.root));
    this.height = Math.max(300, Math.min(400, this.width * 0.4));
    const shown = this.series.filter((series) => !this.hidden.has(series.method)).flatMap((series) => series.points);
    const all = [...shown, this.chosen];
    const [low, high] = d3.extent([...all.map((p) => p.budget), ...(this.infeasible === undefined ? [] : [this.infeasible])]);
    const room = (high - low) * 0.04 || Math.max(1, high * 0.05);
    const top = d3.max(all, (p) => p.overhead);
    this.x = d3.scaleLinear([low - room, high + room], [60, this.width - 16]);
    // Some methods cost ten times what others do.
    this.log = top > 2.5;
    const ceiling = this.log ? top * 1.15 : top + Math.max(0.01, (top - 1) * 0.12);
    const bottom = this.log ? 1 / Math.pow(ceiling, 0.05) : 1 - (ceiling - 1) * 0.06;
    this.y = (this.log ? d3.scaleLog() : d3.scaleLinear()).domain([bottom, ceiling]).range([this.height - 46, 40]);
  }

  show() {
    this.scales();
    this.svg.attr("viewBox", `0 0 ${this.width} ${this.height}`);
    this.svg.selectAll(":scope > g, :scope > text").remove();
    this.drawAxes();
    this.drawBand();
    this.drawSeries();
    this.drawChosen();
  }

  drawAxes() {
    const { model } = this;
    const bottom = this.y.range()[0];
    const right = this.x.range()[1];
    const ticks = byteTicks(...this.x.domain(), this.width / 110);
    this.svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`)
      .call(d3.axisBottom(this.x).tickValues(ticks.values).tickFormat(ticks.text).tickSize(4));
    const room = model.keepAll.peak - model.fixed;
    if (room > 0) {
      const share = this.x.copy().domain(this.x.domain().map((bytes) => (bytes - model.fixed) / room));
      this.svg.append("g").attr("class", "axis").attr("transform", "translate(0,40)")
        .call(d3.axisTop(share).ticks(this.width / 110).tickFormat(d3.format(".0%")).tickSize(4));
    }
    let values = this.y.ticks(6);
    if (this.log) values = [1, 1.1, 1.2, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000].filter((v) => v <= this.y.domain()[1]);
    values = values.filter((v) => v >= 1);
    this.svg.append("g").attr("class", "axis").attr("transform", "translate(60,0)")
      .call(d3.axisLeft(this.y).tickValues(values).tickFormat((v) => `${d3.format("~g")(+v.toPrecision(6))}×`).tickSize(-(right - 60)).tickPadding(8));
    const title = (x, y, anchor, text) => this.svg.append("text").attr("class", "title").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
    title(right, bottom + 38, "end", `budget in ${ticks.unit}`);
    title(right, 14, "end", "share of what keeping everything takes");
    title(8, 14, "start", "overhead");
  }

  drawBand() {
    const rows = this.band.filter((row) => row.budget >= this.x.domain()[0] && row.budget <= this.x.domain()[1]);
    const known = inSteps(rows.filter((row) => row.best !== null));
    const [floor, ceiling] = this.y.range();
    const area = (low, high) => d3.area().x((row) => this.x(row.budget)).y0(low).y1(high);
    const at = (value) => this.y(Math.max(this.y.domain()[0], Math.min(this.y.domain()[1], value)));
    const group = this.svg.append("g").attr("class", "band");
    group.append("path").attr("d", area(floor, (row) => at(row.bound))(known)).attr("fill", "url(#hatching)");
    group.append("path").attr("class", "gap").attr("d", area((row) => at(row.bound), (row) => at(row.best))(known)).attr("fill", "var(--accent)").attr("fill-opacity", 0.18);
    group.append("path").attr("d", d3.line().x((row) => this.x(row.budget)).y((row) => at(row.bound))(known)).attr("fill", "none").attr("stroke", "var(--muted)").attr("stroke-width", 1);
    if (this.infeasible === undefined || this.infeasible < this.x.domain()[0]) return;
    const edge = this.x(this.infeasible);
    group.append("rect").attr("x", this.x.range()[0]).attr("y", ceiling).attr("width", edge - this.x.range()[0]).attr("height", floor - ceiling).attr("fill", "url(#hatching)");
    group.append("text").attr("class", "halo").attr("transform", `translate(${edge - 8},${(floor + ceiling) / 2}) rotate(-90)`).attr("text-anchor", "middle").text("no plan fits");
  }

  drawSeries() {
    const shown = this.series.filter((series) => !this.hidden.has(series.method)).reverse();
    for (const series of shown) {
      const group = this.svg.append("g").attr("class", "series").attr("stroke", `var(--${series.color})`);
      const strong = series.method === "auto";
      group.append("path").attr("fill", "none").attr("stroke-width", strong ? 2.5 : 1.5).attr("stroke-opacity", strong ? 1 : 0.75)
        .attr("d", d3.line().x((p) => this.x(p.budget)).y((p) => this.y(p.overhead))(series.points));
      group.selectAll("path.point").data(series.points).join("path").attr("class", "point").attr("fill", "var(--card)").attr("stroke-width", 1.8)
        .attr("d", d3.symbol().type(series.symbol).size(strong ? 52 : 34)).attr("transform", (p) => `translate(${this.x(p.budget)},${this.y(p.overhead)})`)
        .on("mouseenter", (p) => Tip.show(d3.event.clientX, d3.event.clientY, [series.method, `${timesText(p.overhead)} at ${bytesText(p.budget)}`, p.status]))
        .on("mouseleave", () => Tip.hide());
    }
  }

  drawChosen() {
    const { budget, overhead } = this.chosen;
    const group = this.svg.append("g").attr("class", "chosen").attr("transform", `translate(${this.x(budget)},${this.y(overhead)})`);
    group.append("circle").attr("r", 9).attr("fill", "none").attr("stroke", "var(--ink)").attr("stroke-width", 2);
    group.append("circle").attr("r", 3.5).attr("fill", "var(--ink)");
    const left = this.x(budget) > this.width * 0.7;
    group.append("text").attr("class", "strong halo").attr("x", left ? -14 : 14).attr("y", -10).attr("text-anchor", left ? "end" : "start").text(`this plan, ${timesText(overhead)}`);
  }

  fillLegend() {
    const entries = this.series.map((series) => {
      const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      d3.select(icon).attr("width", 14).attr("height", 14).attr("aria-hidden", "true").append("path").attr("transform", "translate(7,7)")
        .attr("d", d3.symbol().type(series.symbol).size(36)()).attr("fill", "var(--card)").attr("stroke", `var(--${series.color})`).attr("stroke-width", 2);
      const button = element("button", { type: "button", "aria-pressed": "true" }, icon, series.method);
      button.addEventListener("click", () => {
        const hide = !this.hidden.has(series.method);
        this.hidden[hide ? "add" : "delete"](series.method);
        button.setAttribute("aria-pressed", String(!hide));
        this.show();
      });
      return button;
    });
    const band = element("span", {}, swatch("accent"), "between the bound and the best plan");
    band.firstChild.style.opacity = "0.3";
    entries.push(band);
    if (this.without.length > 0) entries.push(element("span", {}, `no plan at any of these budgets: ${this.without.map((m) => shortName(m)).join(", ")}`));
    byId("tradeoff-legend").replaceChildren(...entries);
  }

  fillTable() {
    const last = (value) => (value === null ? Infinity : value);
    new SortableTable(byId("tradeoff-table"), {
      caption: "Overhead of each method at each budget",
      columns: [
        { label: "method", kind: "text", value: (p) => p.method, show: (p) => nameElement(p.method) },
        { label: "budget", kind: "number", value: (p) => p.budget, show: (p) => bytesText(p.budget) },
        { label: "overhead", kind: "number", value: (p) => last(p.overhead), show: (p) => (p.overhead === null ? "–" : timesText(p.overhead)) },
        { label: "status", kind: "word", value: (p) => p.status },
      ],
      rows: this.points,
      sortBy: 1,
    });
  }
}
