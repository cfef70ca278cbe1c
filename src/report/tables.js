// Tables that sort by any column.

const kPaperRows = 20;

class SortableTable {
  /**
   * columns: {label, value(row), show(row)?, kind: "text" | "word" | "number", spare?}; show gives text or an element, and where
   * there is little room, spare columns are left out.
   */
  constructor(root, { caption, columns, rows, sortBy, shown = 50 }) {
    Object.assign(this, { root, columns, rows: [...rows], shown });
    this.body = element("tbody");
    this.heads = columns.map((column, index) => this.head(column, index));
    const table = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    this.more = element("button", { type: "button", className: "more" });
    this.more.addEventListener("click", () => {
      this.shown = Infinity;
      this.fill();
    });
    const rest = element("p", { className: "rest", hidden: rows.length <= kPaperRows }, `and ${countText(rows.length - kPaperRows)} more`);
    root.replaceChildren(element("div", { className: "table", tabIndex: 0, role: "region", "aria-label": caption }, table), rest, this.more);
    this.sort(sortBy, "descending");
  }

  head(column, index) {
    const button = element("button", { type: "button" }, column.label);
    button.addEventListener("click", () => {
      const now = this.heads[index].getAttribute("aria-sort");
      const usual = column.kind === "number" ? "descending" : "ascending";
      const other = usual === "descending" ? "ascending" : "descending";
      this.sort(index, now === usual ? other : usual);
    });
    return element("th", { scope: "col", className: this.classOf(column) }, button);
  }

  classOf({ kind, spare }) {
    return `${kind} ${spare ? "spare" : ""}`;
  }

  sort(index, direction) {
    const { value, kind } = this.columns[index];
    const sign = direction === "ascending" ? 1 : -1;
    const order = kind === "number" ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", { numeric: true });
    this.rows = this.rows
      .map((row, place) => ({ row, place }))
      .sort((a, b) => sign * order(value(a.row), value(b.row)) || a.place - b.place)
      .map(({ row }) => row);
    this.heads.forEach((head, i) => (i === index ? head.setAttribute("aria-sort", direction) : head.removeAttribute("aria-sort")));
    this.fill();
  }

  fill() {
    const cell = (row) => (column) => element("td", { className: this.classOf(column) }, (column.show ?? ((r) => String(column.value(r))))(row));
    const line = (row, index) => element("tr", { className: index < kPaperRows ? "" : "beyond-paper" }, ...this.columns.map(cell(row)));
    this.body.replaceChildren(...this.rows.slice(0, this.shown).map(line));
    this.more.hidden = this.rows.length <= this.shown;
    this.more.textContent = `Show all ${countText(this.rows.length)}`;
  }
}

/** A name that leads to a moment. */
function momentLink(name, moment, step) {
  const made = element("button", { type: "button", className: "link" }, nameElement(name));
  made.addEventListener("click", () => {
    moment.pin(step);
    byId("timeline-canvas").focus();
  });
  return made;
}

function recomputedTable(model, moment) {
  const { raw, plan } = model;
  const firstAgain = new Map();
  plan.steps.forEach((op, step) => {
    if (!plan.isFirst[step] && !firstAgain.has(op)) firstAgain.set(op, step);
  });
  const rows = [];
  for (let i = 0; i < raw.recomputed.length; i += 3) {
    rows.push({ op: raw.recomputed[i], times: raw.recomputed[i + 1], cost: raw.recomputed[i + 2] });
  }
  if (rows.length === 0) {
    byId("recomputed-table").replaceChildren(element("p", { className: "muted" }, "Nothing: every op runs once."));
    return;
  }
  const runs = d3.sum(rows, (row) => row.times);
  new SortableTable(byId("recomputed-table"), {
    caption: `${counted(rows.length, "op")} in ${counted(runs, "run")}, ${model.costText(raw.recomputedCost)} in all`,
    columns: [
      { label: "op", kind: "text", value: (row) => model.opName(row.op), show: (row) => momentLink(model.opName(row.op), moment, firstAgain.get(row.op)) },
      { label: "phase", kind: "word", spare: true, value: (row) => model.phase(row.op) },
      { label: "times", kind: "number", value: (row) => row.times, show: (row) => countText(row.times) },
      { label: "cost", kind: "number", value: (row) => row.cost, show: (row) => model.costText(row.cost) },
      { label: "share", kind: "number", spare: true, value: (row) => row.cost, show: (row) => percentText(raw.recomputedCost ? row.cost / raw.recomputedCost : 0) },
    ],
    rows,
    sortBy: 3,
  });
}

function peakTable(model, moment) {
  const { raw, plan } = model;
  const { steps, stays, workspace } = raw.peak;
  const rows = [];
  for (let i = 0; i < stays.length; i += 3) {
    rows.push({ name: model.tensorName(stays[i]), bytes: model.bytes(stays[i]), group: model.groupOf(stays[i]), first: stays[i + 1], last: stays[i + 2] });
  }
  if (workspace > 0) rows.push({ name: "(workspace of the op)", bytes: workspace, group: "workspace", first: steps[0], last: steps[0] });
  if (model.fixed > 0) rows.push({ name: "(fixed: parameters and the like)", bytes: model.fixed, group: "fixed", first: 0, last: plan.length - 1 });
  const also = steps.length > 1 ? ` and ${counted(steps.length - 1, "other step")}` : "";
  new SortableTable(byId("peak-table"), {
    caption: `${bytesText(plan.peak)} at step ${countText(steps[0])}${also}`,
    columns: [
      { label: "tensor", kind: "text", value: (row) => row.name, show: (row) => momentLink(row.name, moment, row.first) },
      { label: "made", kind: "word", spare: true, value: (row) => row.group },
      { label: "size", kind: "number", value: (row) => row.bytes, show: (row) => bytesText(row.bytes) },
      { label: "share", kind: "number", spare: true, value: (row) => row.bytes, show: (row) => percentText(plan.peak ? row.bytes / plan.peak : 0) },
      { label: "from", kind: "number", value: (row) => row.first, show: (row) => countText(row.first) },
      { label: "to", kind: "number", value: (row) => row.last, show: (row) => countText(row.last) },
    ],
    rows,
    sortBy: 2,
  });
}
