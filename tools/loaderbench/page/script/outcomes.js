// SPDX-License-Identifier: Apache-2.0
// What compare, merge, headroom, case and doctor found: a sentence and a table.

// Those of these keys that any of the rows has.
const MEASURED = {
  rank: ["rank"],
  workers: ["workers"],
  depth: ["depth"],
  step_ms: ["ms a step"],
  predicted_ms: ["predicted ms"],
  produce_ms: ["ms to produce"],
  copy_ms: ["ms to copy"],
  finish_ms: ["ms to finish"],
  wait_ms: ["ms waiting"],
  images_per_second: ["images/s"],
  stall_fraction: ["waits", percent],
  host_fraction: ["host waits", percent],
  device_fraction: ["GPU idle", percent],
  bytes: ["bytes", bytes],
  batches: ["batches"],
  converged_seconds: ["settled after", seconds],
};

// rows: [[what, object], ...]; what is no object is left out.
function measuredTable(label, first, rows) {
  const there = rows.filter(([, object]) => isObject(object));
  const used = Object.entries(MEASURED).filter(([key]) =>
    there.some(([, object]) => !isNaN(num(object, key))));
  const verdicts = there.some(([, object]) => text(object, "verdict"));
  const named = (name, what) => (what ? `${name}: ${what}` : name);
  return table(label,
    [`!${first}`, ...used.map(([, [words]]) => `#${words}`),
      ...(verdicts ? ["verdict"] : [])],
    there.map(([name, object]) => [named(name, text(object, "what")),
      ...used.map(([key, [, form]]) => data(num(object, key), form ?? number)),
      ...(verdicts ? [text(object, "verdict")] : [])]));
}

function compare(doc) {
  const failed = text(doc, "verdict") === "fail";
  const metric = text(doc, "metric");
  const form = formOf(metric);
  const rows = [["before", "before", form], ["after", "after", form],
    ["change", "change_fraction", percent],
    ["noise", "noise_fraction", percent],
    ["allowed loss", "fail_below", percent]]
    .filter(([, key]) => !isNaN(num(doc, key)))
    .map(([words, key, form]) => [words, value(doc, key, form)]);
  const differ = list(doc, "differences");
  return section("Before and after",
    h(`p.badge.${failed ? "high" : "fed"}`,
      failed ? "■ Fail: worse by more than is allowed"
        : "● Pass: not worse by more than is allowed"),
    h("h3", words(metric)),
    table("Comparison", ["!figure", "#value"], rows),
    isNaN(num(doc, "noise_fraction")) && h("p.note", "The noise is not known: ",
      "measure both with ", h("code", "--repeat"), "."),
    differ.length > 0 && h("p", "Options that differ: ", any(differ), "."));
}

function straggler(doc) {
  if (!isObject(at(doc, "straggler"))) return "No rank holds up the others.";
  const rank = ["Rank ", value(doc, "straggler.rank")];
  if (at(doc, "straggler.loader_at_fault") === true)
    return [rank, " holds up the others: it waits for its loader (",
      text(doc, "straggler.cause"), ")."];
  return [rank, " is slower than the others but waits for data no longer than ",
    "they do: its loader is not the cause."];
}

const merge = (doc) => section("Ranks", h("p.sentence", straggler(doc)),
  measuredTable("Ranks", "file",
    list(doc, "ranks").map((rank) => [text(rank, "file"), rank])));

function headroomFound(doc) {
  const known = Object.keys(GAINS).filter((key) =>
    key !== "transfer" || text(doc, "config.device") !== "host");
  return section("Headroom",
    table("Gains", ["!what", "#share", "#predicted", "#measured"],
      known.map((key) => [GAINS[key], plain(doc, `shares.${key}`, percent),
        plain(doc, `predicted.${key}`, gain),
        plain(doc, `measured.${key}`, gain)])),
    h("h3", "What was measured"),
    measuredTable("Measurements", "loader", [["as it is", at(doc, "now")],
      [GAINS.fed, at(doc, "fed")], [GAINS.two_workers, at(doc, "two_workers")],
      ["some in memory", at(doc, "trial.as_is")],
      [GAINS.jpeg_index, at(doc, "trial.jpeg_index")],
      [GAINS.packing, at(doc, "trial.packing")],
    ].filter(([, side]) => isObject(side))));
}

function caseFound(doc) {
  const points = list(doc, "points");
  return section("Before and after", h("p.sentence", text(doc, "sentence")),
    measuredTable("Before and after", "run",
      [["before", at(doc, "before")], ["after", at(doc, "after")]]),
    points.length > 0 && [h("h3", "Points that were measured"),
      measuredTable("Points", "point", points.map((p, i) => [i + 1, p]))]);
}

const OUTCOMES =
  { compare, merge, headroom: headroomFound, case: caseFound };
const outcome = (doc) => {
  const draw = member(OUTCOMES, text(doc, "command"));
  return draw && draw(doc);
};

// ---- doctor: the worst first; what is in order is folded --------------------

const FINDINGS = [
  ["error", "high", "■"],
  ["warning", "moderate", "▲"],
  ["note", "unknown", "○"],
  ["ok", "fed", "●"],
];
const [NOTE, OK] = [2, 3];

// A level of a later version stands among the notes.
function severity(finding) {
  const i = FINDINGS.findIndex(([level]) => level === text(finding, "level"));
  return i < 0 ? NOTE : i;
}

function findings(doc) {
  const all = list(doc, "findings");
  const sorted = [...all].sort((a, b) => severity(a) - severity(b));
  const row = (finding) => {
    const [, css, shape] = FINDINGS[severity(finding)];
    return [h(`td.badge.${css}`, h("span", { "aria-hidden": true }, shape), " ",
      text(finding, "level")), words(text(finding, "id")),
    text(finding, "text"), text(finding, "remedy")];
  };
  const heads = ["level", "what", "found", "remedy"];
  const wrong = sorted.filter((f) => severity(f) !== OK).map(row);
  const fine = sorted.filter((f) => severity(f) === OK)
    .map((f) => row(f).slice(0, 3));
  return all.length > 0 && section("Findings",
    wrong.length ? table("Findings", heads, wrong)
      : h("p", "Nothing is wrong."),
    fine.length > 0 && details(`${fine.length} in order`,
      table("What is in order", heads.slice(0, 3), fine)));
}
