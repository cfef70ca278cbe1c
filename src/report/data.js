// What the page knows: the JSON that report_json() writes, and what follows from it.

const kPhases = ["forward", "loss", "backward", "update"];
/** What memory is made of, from the bottom of the chart to its top. */
const kMade = [...kPhases, "gathered"];
const kGroups = ["fixed", ...kMade, "workspace"];
const kGroupText = {
  fixed: "fixed", forward: "made forward", loss: "made by the loss", backward: "made backward", update: "made by the update", gathered: "gathered parameters", workspace: "workspace",
};

/** A plan as it runs. */
class Run {
  constructor(model, raw) {
    this.steps = raw.steps;
    this.memory = raw.memory;
    this.peak = raw.peak;
    this.cost = raw.cost;
    this.stays = []; // {tensor, first, last}
    for (let i = 0; i < raw.stays.length; i += 3) {
      this.stays.push({ tensor: raw.stays[i], first: raw.stays[i + 1], last: raw.stays[i + 2] });
    }
    this.countRuns(model);
    this.sumGroups(model);
  }

  get length() {
    return this.steps.length;
  }

  /** Which runs are the first of their op, and to which stage each belongs: a stage ends with a first run. */
  countRuns(model) {
    const n = this.length;
    this.isFirst = new Uint8Array(n);
    this.stage = new Uint32Array(n);
    this.start = new Float64Array(n + 1); // in cost
    this.firstStep = new Int32Array(model.opCount).fill(-1);
    this.runs = new Uint32Array(model.opCount);
    this.stageOp = []; // the op whose first run ends the stage
    for (let step = 0; step < n; ++step) {
      const op = this.steps[step];
      this.stage[step] = this.stageOp.length;
      if (this.runs[op]++ === 0) {
        this.isFirst[step] = 1;
        this.firstStep[op] = step;
        this.stageOp.push(op);
      }
      this.start[step + 1] = this.start[step] + model.cost(op);
    }
    // Runs after the last first run are a stage that no op ends.
    this.stageCount = Math.max(this.stageOp.length, n ? this.stage[n - 1] + 1 : 0);
  }

  /** Bytes of each group at each step. Workspace is what memory has beyond the tensors. */
  sumGroups(model) {
    const n = this.length;
    this.groups = Object.fromEntries(kGroups.map((group) => [group, new Float64Array(n)]));
    for (const stay of this.stays) {
      const bytes = model.bytes(stay.tensor);
      const series = this.groups[model.groupOf(stay.tensor)];
      series[stay.first] += bytes;
      if (stay.last + 1 < n) series[stay.last + 1] -= bytes;
    }
    this.groups.fixed.fill(0);
    for (let step = 0; step < n; ++step) {
      let rest = this.memory[step] - model.fixed;
      for (const group of kMade) {
        if (step > 0) this.groups[group][step] += this.groups[group][step - 1];
        rest -= this.groups[group][step];
      }
      this.groups.fixed[step] = model.fixed;
      this.groups.workspace[step] = Math.max(0, rest);
    }
  }

  /** The stays that are in memory at a step, the largest first. */
  at(step, model) {
    const there = this.stays.filter((stay) => stay.first <= step && step <= stay.last);
    return there.sort((a, b) => model.bytes(b.tensor) - model.bytes(a.tensor) || a.tensor - b.tensor);
  }
}

class Model {
  constructor(raw) {
    this.raw = raw;
    this.name = raw.graph.name;
    this.unit = raw.graph.unit;
    this.timeWord = this.unit === "ns" ? "time" : "cost";
    this.fixed = raw.graph.fixed;
    this.opCount = raw.graph.ops;
    this.answer = raw.answer;
    this.plan = new Run(this, raw.plan);
    this.keepAll = new Run(this, raw.keepAll);
  }

  opName(op) {
    return this.raw.ops.names[op];
  }
  kind(op) {
    return this.raw.ops.kinds[this.raw.ops.kind[op]];
  }
  cost(op) {
    return this.raw.ops.cost[op];
  }
  phase(op) {
    return kPhases[+this.raw.ops.phase[op]];
  }
  tensorName(tensor) {
    const name = this.raw.tensors.names[tensor];
    return typeof name === "number" ? this.opName(name) : name;
  }
  bytes(tensor) {
    return this.raw.tensors.bytes[tensor];
  }
  /** -1 for a resident tensor. */
  maker(tensor) {
    return this.raw.tensors.maker[tensor];
  }
  groupOf(tensor) {
    const maker = this.maker(tensor);
    if (maker < 0) return "fixed";
    return this.kind(maker) === "gather" ? "gathered" : this.phase(maker);
  }
  costText(cost) {
    return costText(cost, this.unit);
  }
}
