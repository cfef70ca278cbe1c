// What the charts share. Names go into the page as text only.

const byId = (id) => document.getElementById(id);

/** An element with properties and children; a string among the children is text. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A name as it is shown: short, whole in the title, and unable to turn the text around it. */
function nameElement(name, limit) {
  const shown = shortName(name, limit);
  const made = element("bdi", {}, shown === "" ? "(no name)" : shown);
  if (shown !== name) made.title = name;
  return made;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const colors = (names) => Object.fromEntries(names.map((name) => [name, color(name)]));

function swatch(name, shape = "") {
  const made = element("span", { className: `swatch ${shape}` });
  if (shape !== "dash") made.style.background = `var(--${name})`;
  return made;
}
function fillLegend(root, entries) {
  root.replaceChildren(...entries.map(([name, text, shape]) => element("span", {}, swatch(name, shape), text)));
}

const Tip = {
  /** Lines, strings or elements, beside the pointer. */
  show(x, y, lines) {
    const tip = byId("tip");
    tip.replaceChildren(...lines.map((line) => element("div", {}, line)));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - height - 4))}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};

/** Charts are drawn anew for paper, as wide as A4 and Letter have room: Chromium rounds the scale of a printed canvas to 64ths. */
const Paper = { printing: false, width: 664 };
const roomIn = (root) => (Paper.printing ? Paper.width : root.clientWidth);

/** At most one call a frame. */
function oncePerFrame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

/**
 * A plot on a canvas, which takes the marks, under an SVG, which takes axes and cursor. It zooms: with the wheel once it
 * has the focus (or with Ctrl), by dragging, with buttons and with + - 0. A subclass has draw().
 */
class Plot {
  constructor(root, { margin, height, axes, most, buttons, label }) {
    Object.assign(this, { root, margin, heightOf: height, axes, label });
    this.canvas = element("canvas", { tabIndex: 0 });
    this.context = this.canvas.getContext("2d");
    this.svg = d3.select(root).append("svg").attr("aria-hidden", "true");
    this.svg.append("defs").append("clipPath").attr("id", `${root.id}-clip`).append("rect");
    root.prepend(this.canvas);
    this.redraw = oncePerFrame(() => this.paint());
    this.zoom = d3.zoom().scaleExtent([1, most]).filter(() => this.takes(d3.event)).on("zoom", () => this.redraw());
    this.target = d3.select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
    this.canvas.addEventListener("pointerdown", () => this.canvas.focus({ preventScroll: true }));
    this.canvas.addEventListener("keydown", (event) => this.zoomKey(event));
    this.addButtons(buttons);
    new ResizeObserver(() => this.fit() && this.paint()).observe(root);
  }

  takes(event) {
    if (event.type === "wheel") return event.ctrlKey || event.metaKey || document.activeElement === this.canvas;
    return !event.button;
  }

  addButtons(buttons) {
    const button = (text, label, action) => {
      const made = element("button", { type: "button", "aria-label": `${label} ${this.label}` }, text);
      made.addEventListener("click", action);
      buttons.append(made);
    };
    button("−", "Zoom out of", () => this.scaleBy(1 / 1.8));
    button("+", "Zoom into", () => this.scaleBy(1.8));
    button("All", "Show all of", () => this.target.call(this.zoom.transform, d3.zoomIdentity));
  }

  scaleBy(factor) {
    this.target.call(this.zoom.scaleBy, factor);
  }

  zoomKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") this.scaleBy(1.8);
    else if (event.key === "-") this.scaleBy(1 / 1.8);
    else if (event.key === "0") this.target.call(this.zoom.transform, d3.zoomIdentity);
    else return;
    event.preventDefault();
  }

  get transform() {
    return d3.zoomTransform(this.canvas);
  }

  /** Takes the room that there is; whether it has changed. */
  fit() {
    const { top, right, bottom, left } = this.margin;
    const width = Math.max(50, roomIn(this.root) - left - right);
    if (width === this.width) return false;
    const before = this.transform;
    const ratio = this.width ? width / this.width : 1;
    this.width = width;
    this.height = Math.round(this.heightOf(width));
    this.root.style.height = `${this.height + top + bottom}px`;
    this.dots = Paper.printing ? 2 : Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(width * this.dots);
    this.canvas.height = Math.round(this.height * this.dots);
    Object.assign(this.canvas.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${this.height}px` });
    this.svg.select("clipPath rect").attr("width", width).attr("height", this.height + 1);
    const all = [[0, 0], [width, this.height]];
    this.zoom.extent(all).translateExtent(all);
    this.target.call(this.zoom.transform, d3.zoomIdentity.translate(before.x * ratio, before.y * ratio).scale(before.k));
    return true;
  }

  show() {
    this.fit();
    this.paint();
  }

  paint() {
    if (!this.width) return;
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.draw();
  }

  /** Where an event is in the plot. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

/** Ticks and labels, in the margin of a plot. */
function drawAxis(plot, name, axis, x, y) {
  const at = plot.svg.selectAll(`g.${name}`).data([0]).join("g").attr("class", `axis ${name}`);
  at.attr("transform", `translate(${x},${y})`).call(axis);
}
