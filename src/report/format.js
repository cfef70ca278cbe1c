// Numbers and names as people read them.

const kByteUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const kLongestName = 60;

/** The power of 1024 whose unit a number of bytes is told in. */
function bytePower(bytes) {
  let power = 0;
  while (power + 1 < kByteUnits.length && bytes >= 1024 ** (power + 1)) ++power;
  return power;
}

/** `6.4 GiB`, `512 B`; as everywhere here, no line breaks between a number and its unit. */
function bytesText(bytes) {
  const power = bytePower(bytes);
  return power === 0 ? `${bytes}\u00a0B` : `${(bytes / 1024 ** power).toFixed(1)}\u00a0${kByteUnits[power]}`;
}

/** Ticks that are round in the unit of the largest, and how they are written; a byte has no parts. */
function byteTicks(low, high, count) {
  const unit = 1024 ** bytePower(high);
  const values = d3.ticks(low / unit, high / unit, count).filter((v) => unit > 1 || Number.isInteger(v));
  const text = d3.format(`~g`);
  return { values: values.map((v) => v * unit), text: (v) => `${text(+(v / unit).toPrecision(12))}`, unit: kByteUnits[bytePower(high)] };
}

/** Nanoseconds as time, any other unit with a prefix of thousands: `1.25 ms`, `3.4 Gmac`. */
function costText(cost, unit) {
  if (unit === "ns") {
    for (const [name, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
      if (Math.abs(cost) >= size) return `${d3.format(".3~r")(cost / size)}\u00a0${name}`;
    }
    return `${cost}\u00a0ns`;
  }
  const prefixed = d3.format(".3~s")(cost);
  const letter = /[^\d.−-]$/.test(prefixed) ? prefixed.slice(-1) : "";
  const number = letter ? prefixed.slice(0, -1) : prefixed;
  return `${number}\u00a0${letter}${shortName(unit, 12)}`.trim();
}

const countText = d3.format(",");
const counted = (count, thing) => `${countText(count)} ${thing}${count === 1 ? "" : "s"}`;
const percentText = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;

/** A share that is proven to be at most so large: rounded up, never down. */
const atMostText = (share) => `${(Math.ceil(share * 1e5) / 1e3).toFixed(3).replace(/\.?0+$/, "")}%`;

/** 1.0183 as `1.018x`; with more digits where fewer would say that nothing is paid. */
function timesText(ratio) {
  const digits = ratio > 1 && ratio < 1.0005 ? 6 : ratio < 1.05 ? 4 : ratio < 10 ? 3 : 1;
  return `${ratio.toFixed(digits)}×`;
}

/** Fit for one line: control characters made visible, cut where it is long. */
function shortName(name, limit = kLongestName) {
  // A character is at most two units, so this is enough of a name of any length.
  const head = Array.from(name.slice(0, 2 * limit + 2));
  const cut = head.length > limit ? [...head.slice(0, limit - 1), "…"] : head;
  return cut.join("").replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (c) => (c < " " ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : "�"));
}

/** The end of a path such as `transformer.h.0.mlp: mul_3`, whose beginning many share: its first parts go before letters of the last do. */
function lastParts(path, limit) {
  let rest = path;
  for (let at = 0; rest.length > limit && at >= 0; ) {
    at = rest.search(/[./:]./);
    rest = rest.slice(at + 1).trimStart();
  }
  return shortName(rest, limit);
}
