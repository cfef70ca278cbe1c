// The network as dots: the way forward from left to right, and the way back below it, each op under the one whose result it reads.
//
//     conv1 - conv2 - conv3 - loss          column: the longest way from an op that reads nothing
//     grad1 - grad2 - grad3 -/              column: of the last forward op that it reads

/** What becomes of an op's results: the color, and the words. */
const kFates = { again: ["again", "recomputed"], kept: ["forward", "kept for later stages"], soon: ["soon", "freed soon"] };

/** Room for what leaves the lanes: arcs of what skips, and names. */
const kNetworkMargin = { left: 12, right: 72, above: 84, below: 84 };

class Network {
  constructor(model, moment) {
    Object.assign(this, { model, moment });
    byId("network").hidden = false;
    this.root = byId("network-chart");
    this.edges = [];
    for (let i = 0; i < model.raw.edges.length; i += 2) this.edges.push([model.raw.edges[i], model.raw.edges[i + 1]]);
    this.layOut();
    this.svg = d3.select(this.root).append("svg").attr("role", "group").attr("aria-label", "The network's ops");
    fillLegend(byId("network-legend"), Object.keys(kFates).filter((fate) => this.nodes.some((node) => node.fate === fate)).map((fate) => kFates[fate]));
    new ResizeObserver(oncePerFrame(() => this.show())).observe(this.root);
    moment.on("change.network", () => this.showMoment());
  }

  fate(op) {
    const { plan } = this.model;
    if (plan.runs[op] > 1) return "again";
    return this.longest[op] > 1 ? "kept" : "soon";
  }

  layOut() {
    const { model } = this;
    const { plan, opCount } = model;
    this.longest = new Uint32Array(opCount); // stages that a result stays for
    this.size = new Float64Array(opCount);
    for (const stay of plan.stays) {
      const op = model.maker(stay.tensor);
      if (op >= 0) this.longest[op] = Math.max(this.longest[op], plan.stage[stay.last] - plan.stage[stay.first]);
    }
    model.raw.tensors.bytes.forEach((bytes, tensor) => {
      const op = model.maker(tensor);
      if (op >= 0) this.size[op] += bytes;
    });
    this.place();
  }

  place() {
    const columns = this.columnsOf();
    const height = new Map(); // of the pile in a column of a lane
    this.nodes = columns.map((column, op) => {
      const lane = this.isBack(op) ? 1 : 0;
      const row = height.get(`${lane} ${column}`) ?? 0;
      height.set(`${lane} ${column}`, row + 1);
      return { op, column, lane, row, fate: this.fate(op) };
    });
    this.columns = d3.max(columns) + 1;
    this.piles = [0, 1].map((lane) => d3.max(this.nodes.filter((node) => node.lane === lane), (node) => node.row + 1) ?? 0);
  }

  isBack(op) {
    return ["backward", "update"].includes(this.model.phase(op));
  }

  columnsOf() {
    const reads = d3.range(this.model.opCount).map(() => []);
    const readers = reads.map(() => []);
    for (const [from, to] of this.edges) {
      reads[to].push(from);
      readers[from].push(to);
    }
    const ahead = (op) => !this.isBack(op);
    const columns = [];
    reads.forEach((read, op) => {
      const forward = read.filter(ahead).map((other) => columns[other]);
      if (ahead(op)) columns.push(forward.length > 0 ? d3.max(forward) + 1 : 0);
      else columns.push(d3.max(forward) ?? d3.min(read, (other) => columns[other]) ?? 0);
    });
    // What reads nothing, such as a constant, stands beside its first reader, not in a pile at the beginning.
    return columns.map((column, op) => {
      const first = d3.min(readers[op].filter(ahead), (other) => columns[other]);
      return ahead(op) && reads[op].length === 0 && first > 0 ? first - 1 : column;
    });
  }

  show() {
    const { left, right, above, below } = kNetworkMargin;
    const across = Math.max(13, Math.min(56, (roomIn(this.root) - left - right) / this.columns));
    const down = Math.max(18, Math.min(26, across));
    const radius = d3.scaleSqrt([0, d3.max(this.size) || 1], [3, Math.min(9, across / 2.3)]);
    const top = above + this.piles[0] * down;
    const gap = this.piles[1] > 0 ? 30 : 0;
    for (const node of this.nodes) {
      node.x = left + across * (node.column + 0.5);
      node.y = node.lane === 0 ? top - down * (node.row + 0.5) : top + gap + down * (node.row + 0.5);
      node.radius = radius(this.size[node.op]);
    }
    const width = Math.max(roomIn(this.root) - 2, across * this.columns + left + right);
    const height = top + gap + this.piles[1] * down + (this.piles[1] > 0 ? below : 12);
    this.svg.attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
    this.svg.selectAll("path.edge").data(this.edges).join("path").attr("class", "edge").attr("d", (edge) => this.curve(edge, across));
    const dots = this.svg.selectAll("circle.node").data(this.nodes).join("circle").attr("class", "node").raise();
    dots.attr("cx", (node) => node.x).attr("cy", (node) => node.y).attr("r", (node) => node.radius).attr("fill", (node) => `var(--${kFates[node.fate][0]})`);
    dots.attr("tabindex", (node) => (node.op === 0 ? 0 : -1)).attr("role", "button").attr("aria-label", (node) => this.text(node));
    const names = this.svg.selectAll("text.op").data(this.labels()).join("text").attr("class", "op halo").attr("aria-hidden", "true").raise();
    names.attr("transform", ({ x, y, slope }) => `translate(${x},${y}) rotate(${45 * slope})`).attr("dy", "0.35em").text((label) => label.text);
    this.showMoment();
    dots.on("mouseenter focus", (node) => this.enter(node)).on("mouseleave blur", () => this.leave());
    dots.on("click", (node) => this.choose(node)).on("keydown", (node) => this.key(node));
  }

  /** Names of ops, aslant: away from the other lane, and only where they cover no other name and no dot. */
  labels() {
    const ink = document.createElement("canvas").getContext("2d");
    ink.font = "11px system-ui, sans-serif";
    const placed = [];
    for (const node of this.nodes) {
      const slope = node.lane === 0 ? -1 : 1;
      // Along the name and across it, for this lane.
      const turned = ({ x, y }) => [(x + slope * y) * Math.SQRT1_2, (slope * y - x) * Math.SQRT1_2];
      const text = lastParts(this.model.opName(node.op), 16);
      const [middle, line] = turned(node);
      const from = middle + node.radius + 4;
      const to = from + ink.measureText(text).width;
      const overDot = this.nodes.some((other) => {
        const [at, off] = turned(other);
        return other !== node && other.lane === node.lane && Math.abs(off - line) < other.radius + 5 && at > from && at < to + other.radius;
      });
      const overName = placed.some((other) => other.slope === slope && Math.abs(other.line - line) < 11 && other.from < to && from < other.to);
      if (overDot || overName) continue;
      const away = (node.radius + 4) * Math.SQRT1_2;
      placed.push({ text, slope, line, from, to, x: node.x + away, y: node.y + slope * away });
    }
    return placed;
  }

  showMoment() {
    const now = this.model.plan.steps[this.moment.step];
    this.svg.selectAll("circle.node").classed("now", ({ op }) => op === now);
  }

  curve([from, to], across) {
    const a = this.nodes[from];
    const b = this.nodes[to];
    const far = Math.abs(a.x - b.x);
    if (a.lane !== b.lane) return `M${a.x},${a.y}C${a.x},${(a.y + b.y) / 2} ${b.x},${(a.y + b.y) / 2} ${b.x},${b.y}`;
    if (far <= across * 1.1) return `M${a.x},${a.y}L${b.x},${b.y}`;
    const lift = Math.min(52, 10 + far / 7) * (a.lane === 0 ? -1 : 1);
    return `M${a.x},${a.y}C${a.x + (b.x - a.x) * 0.2},${a.y + lift} ${b.x - (b.x - a.x) * 0.2},${b.y + lift} ${b.x},${b.y}`;
  }

  text({ op, fate }) {
    const { model } = this;
    const again = fate === "again" ? ` ${counted(model.plan.runs[op] - 1, "time")}` : "";
    return `${shortName(model.opName(op))}, ${model.phase(op)}, ${bytesText(this.size[op])}, ${kFates[fate][1]}${again}`;
  }

  enter(node) {
    const { op, fate } = node;
    this.svg.selectAll("path.edge").classed("near", ([from, to]) => from === op || to === op);
    const circle = this.svg.selectAll("circle.node").nodes()[op].getBoundingClientRect();
    const again = fate === "again" ? `, ${counted(this.model.plan.runs[op] - 1, "time")}` : "";
    const about = `${this.model.phase(op)} · ${bytesText(this.size[op])} · ${this.model.costText(this.model.cost(op))}`;
    Tip.show(circle.right, circle.bottom, [nameElement(this.model.opName(op)), about, kFates[fate][1] + again]);
  }

  leave() {
    this.svg.selectAll("path.edge").classed("near", false);
    Tip.hide();
  }

  choose({ op }) {
    this.moment.pin(this.model.plan.firstStep[op]);
  }

  key(node) {
    const { key } = d3.event;
    if (key === "Enter" || key === " ") this.choose(node);
    const goal = node.op + ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key] ?? 0);
    if (goal !== node.op && goal >= 0 && goal < this.nodes.length) {
      const dots = this.svg.selectAll("circle.node").attr("tabindex", (other) => (other.op === goal ? 0 : -1));
      dots.nodes()[goal].focus();
    } else if (key !== "Enter" && key !== " ") {
      return;
    }
    d3.event.preventDefault();
  }
}
