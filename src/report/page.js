// Puts the page together.

function fillTitle(model) {
  const { answer, raw } = model;
  document.title = `${shortName(model.name)} · Checkmate report`;
  byId("title").replaceChildren(nameElement(model.name, 120));
  const parts = [
    counted(model.opCount, "op"),
    counted(raw.graph.tensors, "tensor"),
    `${counted(model.plan.length, "step")} in the plan`,
    answer.method && `found by ${shortName(answer.method)}`,
    `${answer.order} order`,
  ];
  byId("subtitle").textContent = parts.filter(Boolean).join(" · ");
}

function fillHeadline(model) {
  const { answer, plan, keepAll, raw } = model;
  const tile = (name, value, note) => element("div", { className: "tile" }, element("dt", {}, name), element("dd", {}, value), element("dd", { className: "small" }, note));
  const saved = keepAll.peak > 0 ? (keepAll.peak - plan.peak) / keepAll.peak : 0;
  const extra = raw.recomputedCost;
  let runs = 0;
  for (let i = 1; i < raw.recomputed.length; i += 3) runs += raw.recomputed[i];
  const ops = raw.recomputed.length / 3;
  const beside = saved > 0 ? `the plan needs ${percentText(saved)} less` : saved < 0 ? `the plan needs ${percentText(-saved)} more` : "the plan needs as much";
  const of = answer.budget === null ? "no budget was given" : `of a budget of ${bytesText(answer.budget)}`;
  const process = () => [
    tile(
      "In the process",
      bytesText(answer.resident ?? answer.arena),
      answer.resident === null ? "of addresses, all tensors in one arena" : `resident; the arena has ${bytesText(answer.arena)}`,
    ),
  ];
  byId("headline").replaceChildren(
    tile("Peak memory", bytesText(plan.peak), of),
    ...(answer.arena === null ? [] : process()),
    tile("Keeping everything", bytesText(keepAll.peak), beside),
    tile("Overhead", timesText(answer.overhead), extra > 0 ? `${model.costText(extra)} more than ${model.costText(keepAll.cost)}` : runs > 0 ? "what is computed twice costs nothing" : "nothing is computed twice"),
    tile(
      "From the best possible",
      answer.optimal ? "optimal" : `≤ ${atMostText(answer.gap)}`,
      answer.optimal ? `proven: no ${answer.order}-order plan is cheaper` : `no plan costs less than ${timesText(answer.boundOverhead)}`,
    ),
    tile("Recomputed", counted(ops, "op"), runs > 0 ? `in ${counted(runs, "run")}` : "every op runs once"),
  );
}

/** Light or dark as the system has it, until somebody presses the button; paper is light. */
function setUpTheme(redraw) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  let chosen = null;
  const apply = () => {
    const theme = Paper.printing ? "light" : chosen ?? (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    redraw();
  };
  system.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    apply();
  });
  const print = (now) => () => {
    Paper.printing = now;
    apply();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
  apply();
}

function drawPage() {
  const model = new Model(JSON.parse(byId("data").textContent));
  const charts = [];
  setUpTheme(() => charts.forEach((chart) => chart.show()));
  fillTitle(model);
  fillHeadline(model);
  const moment = new Moment(model.raw.peak.steps[0]);
  charts.push(new Timeline(model, moment), new StageMap(model, moment));
  new MomentPanel(model, moment);
  if (model.raw.tradeoff !== null) charts.push(new Tradeoff(model));
  recomputedTable(model, moment);
  peakTable(model, moment);
  if (model.raw.edges !== null) charts.push(new Network(model, moment));
  // After the first frame, everything answers.
  requestAnimationFrame(() =>
    setTimeout(() => {
      document.documentElement.dataset.ready = String(Math.round(performance.now()));
    }),
  );
}

try {
  drawPage();
} catch (error) {
  byId("problem").hidden = false;
  byId("problem").textContent = `This page could not be drawn: ${error.message}`;
  throw error;
}
