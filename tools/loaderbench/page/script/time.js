// SPDX-License-Identifier: Apache-2.0
// What happened when: images per second, the stall by cause, the settings. A
// run has up to 1200 points; drawn are at most 100 columns, each the mean of
// its points weighted by their length, so that a column is wide enough to be
// pointed at and the table below can be read.

const COLUMNS = 100;
const SETTINGS = {
  workers: "Workers",
  depth: "Depth (batches ahead)",
  io_depth: "I/O depth (reads at a time)",
};

// Points with their lengths; those whose seconds do not grow are left out.
function pointsOf(doc) {
  const points = [];
  let now = 0;
  for (const point of list(doc, "timeline")) {
    const end = num(point, "seconds");
    if (!(end > now && end < 1e15)) continue;
    points.push({ point, begin: now, end });
    now = end;
  }
  return points;
}

// value(point) over a column; a bucket is a sum of seconds already.
function columnOf(points) {
  const begin = points[0].begin;
  const end = points.at(-1).end;
  const sum = (of) => points.reduce((all, p) => all + of(p), 0) / (end - begin);
  const mean = (key) =>
    sum((p) => (p.end - p.begin) * num(p.point, key));
  const causes = Object.keys(CAUSES).map((cause) =>
    [cause, sum((p) => or0(p.point, `buckets.${cause}`))]);
  const set = Object.keys(SETTINGS).map((key) =>
    [key, or0(points.at(-1).point, key)]);
  return { begin, end, rate: mean("images_per_second") || 0,
    host: mean("host_fraction") || 0, device: mean("device_fraction"),
    causes: Object.fromEntries(causes), set: Object.fromEntries(set) };
}

function columnsOf(doc) {
  const points = pointsOf(doc);
  const each = Math.ceil(points.length / COLUMNS);
  const columns = [];
  for (let i = 0; i < points.length; i += each)
    columns.push(columnOf(points.slice(i, i + each)));
  return columns;
}

const most = (items, of) => items.reduce((top, x) => Math.max(top, of(x)), 0);
const spanOf = (c) => `${c.begin.toFixed(2)} to ${c.end.toFixed(2)} s: `;

// The rectangle of a column between two values.
function columnBox(chart, c, from, to) {
  const x = chart.x(c.begin);
  const y = chart.y(to);
  return { x: across(x), width: across(chart.x(c.end) - x), y,
    height: +(chart.y(from) - y).toFixed(1) };
}

function rates(columns) {
  const top = roundUp(most(columns, (c) => c.rate));
  const chart = new Chart("Images per second over time; the table below has " +
    "values", columns.at(-1).end, top, 80);
  chart.grid(number);
  for (const c of columns)
    chart.add(s("g",
      s("title", `${spanOf(c)}${shown(c.rate, number)} images/s`),
      s("rect.c-rate", columnBox(chart, c, 0, c.rate))));
  return [h("h3", "Images per second"), chart.seconds().svg()];
}

const causesOf = (columns) => Object.keys(CAUSES).filter((cause) =>
  columns.some((c) => c.causes[cause] >= SMALLEST));

// "1.25 to 1.50 s: waited 12.3 %; reading files 10.0 %"
function stallColumn(chart, c) {
  const causes = causesOf([c]);
  const named = causes.map((cause) =>
    `; ${CAUSES[cause]} ${percent(c.causes[cause])}`);
  let from = 0;
  return s("g", s("title", `${spanOf(c)}waited ${percent(c.host)}`, named),
    causes.map((cause) => {
      const to = from + c.causes[cause];
      const box = columnBox(chart, c, from, to);
      from = to;
      return s(`rect.c-${cause}`, box);
    }));
}

function stall(columns) {
  const title = h("h3",
    "Stall: the part of the time that the host waited, by cause");
  const highest = most(columns, (c) => c.host);
  if (highest < SMALLEST) return [title, h("p", "It never waited.")];
  const top = Math.min(1, roundUp(Math.max(highest, 0.01)));
  const chart = new Chart("Stall over time as stacked bars by cause; the " +
    "table below has values", columns.at(-1).end, top, 150);
  chart.grid((x) => `${+(100 * x).toPrecision(3)} %`);
  chart.add(columns.map((c) => stallColumn(chart, c)));
  return [title, chart.seconds().svg(),
    inlineLegend(causesOf(columns).map((cause) => [cause, CAUSES[cause]]))];
}

function timeTable(columns) {
  const causes = causesOf(columns);
  const device = !isNaN(columns.at(-1).device);
  const heads = ["#to", "#images/s", "#waited", ...causes.map((c) => `#${c}`),
    ...(device ? ["#GPU idle"] : []), "#workers", "#depth", "#I/O depth"];
  const rows = columns.map((c) => [data(c.end, seconds), data(c.rate, number),
    data(c.host, percent),
    ...causes.map((cause) => data(c.causes[cause], percent)),
    ...(device ? [data(c.device, percent)] : []),
    ...Object.values(c.set).map((x) => data(x, number))]);
  return details(`Values of the ${columns.length} columns`,
    table("Values over time", heads, rows));
}

function timeline(doc) {
  const columns = columnsOf(doc);
  return columns.length > 0 && section("Over time", rates(columns),
    stall(columns), timeTable(columns));
}

// ---- The tuner --------------------------------------------------------------

// A line across at the value of each column, up or down between them. Decisions
// count from the loader's creation, columns from the end of the warm-up.
function settingOverTime(key, columns, doc) {
  const chart = new Chart(SETTINGS[key], columns.at(-1).end,
    roundUp(most(columns, (c) => c.set[key])), 44);
  const begin = or0(doc, "run.begin_seconds");
  chart.grid(number, [0, 1]);
  list(doc, "tuner.decisions").forEach((decision, i) => {
    const x = chart.x(num(decision, "seconds") - begin);
    if (x >= 0 && x <= 100)
      chart.add(line("mark", x, x, 4, chart.y(0), `decision ${i + 1}`));
  });
  columns.forEach((c, i) => {
    const x = chart.x(c.begin);
    const [y0, y1] = [columns[i - 1] ?? c, c].map((k) => chart.y(k.set[key]));
    if (y0 !== y1) chart.add(line("step", x, x, y0, y1));
    chart.step(c.begin, c.end, c.set[key], spanOf(c) + c.set[key]);
  });
  return [h("h3", SETTINGS[key]), chart.seconds().svg()];
}

function tuner(doc) {
  if (!isObject(at(doc, "tuner"))) return null;
  const columns = columnsOf(doc);
  const moved = Object.keys(SETTINGS).filter((key) =>
    columns.some((c) => c.set[key] !== columns[0].set[key]));
  const settled = num(doc, "tuner.converged_batch");
  return section("Tuner",
    h("p", "Mode ", h("b", text(doc, "tuner.mode")), "; at the end ",
      value(doc, "tuner.workers"), " workers, depth ",
      value(doc, "tuner.depth"), ", I/O depth ", value(doc, "tuner.io_depth"),
      !isNaN(settled) &&
        ["; settled at batch ", value(doc, "tuner.converged_batch")], "."),
    moved.map((key) => settingOverTime(key, columns, doc)),
    decisions(list(doc, "tuner.decisions")));
}
