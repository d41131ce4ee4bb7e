// SPDX-License-Identifier: Apache-2.0
// What was decided and measured about settings: the tuner's decisions, what
// `tune` did, the grid of `sweep`.

// ---- Decisions --------------------------------------------------------------

const arrow = (from, to) => [from, "\u00a0→\u00a0", to];
const plain = (doc, key, form = number) => data(num(doc, key), form);

const decisionRow = (d, i) => [i + 1, plain(d, "seconds", seconds),
  plain(d, "batch"),
  [words(text(d, "knob")), "\u00a0", arrow(plain(d, "before"),
    plain(d, "after"))],
  h("td.wide", text(d, "why")), plain(d, "predicted", gain),
  [plain(d, "measured", gain),
    !isNaN(num(d, "error")) && [" ± ", plain(d, "error", percent)]],
  arrow(plain(d, "stall_before", percent), plain(d, "stall_after", percent)),
  text(d, "outcome").replaceAll("_", " ")];

// Whatever else stands in such a list is shown as it is.
function decisions(all) {
  if (!all.length)
    return h("p", "No decisions: everything stayed as it was set.");
  if (all.every((d) => typeof member(d, "knob") === "string"))
    return table("Decisions of the tuner", ["!#", "#after", "#batch", "change",
      "why", "#predicted", "#measured", "#waits", "outcome"],
      all.map(decisionRow));
  return h("ol.decisions", all.map((d) => h("li", any(d))));
}

// ---- tune -------------------------------------------------------------------

// Lines that begin with "- " are the items of a list.
function story(doc) {
  const parts = [];
  for (const entry of list(doc, "tune.story").filter((l) => asText(l))) {
    const isItem = entry.startsWith("- ");
    if (isItem && parts.at(-1)?.localName !== "ul") parts.push(h("ul.story"));
    if (isItem) parts.at(-1).append(h("li", entry.slice(2)));
    else parts.push(h("p", entry));
  }
  return parts;
}

const steady = (doc) => isObject(at(doc, "tune.steady")) &&
  h("p", "Since it settled, for ", value(doc, "tune.steady.seconds", seconds),
    ": ", h("b", value(doc, "tune.steady.images_per_second"), " images/s"),
    ", ", value(doc, "tune.steady.images_per_cpu_second"),
    " per second of CPU time.");

function againstSweep(doc) {
  const below = num(doc, "comparison.below_fraction");
  if (isNaN(below)) return null;
  const rows = [["comparison.tuned", "the tuner’s choice"],
    ["sweep_best", "the sweep’s best"], ["knee", "the sweep’s knee"]]
    .filter(([path]) => isObject(at(doc, path)))
    .map(([path, words]) => [words, value(doc, `${path}.workers`),
      value(doc, `${path}.depth`), value(doc, `${path}.images_per_second`),
      value(doc, `${path}.host_fraction`, percent),
      value(doc, `${path}.images_per_cpu_second`)]);
  return [
    h("h3", "Against a sweep"),
    h("p", "The tuner’s choice, measured among the points of the sweep, is ",
      below === 0 ? "the best"
        : [value(doc, "comparison.below_fraction", percent), " below the best"],
      !isNaN(num(doc, "comparison.error_fraction")) && [" (± ",
        value(doc, "comparison.error_fraction", percent),
        " with a confidence of 95 %)"], "."),
    table("The tuner's choice and the sweep", ["!setting", "#workers", "#depth",
      "#images/s", "#waits", "#images per CPU second"], rows)];
}

const tune = (doc) => isObject(at(doc, "tune")) &&
  section("What the tuner did", story(doc), steady(doc), againstSweep(doc));

// ---- The grid of a sweep ----------------------------------------------------
// A table whose cells are coloured by images per second, as each number is to
// be read; then the same as curves, a line for each depth. Worker counts stand
// evenly apart, as they usually are 1, 2, 4, 8.

const CURVES = 6; // as many colours can be told apart

const axis = (grid, key) =>
  [...new Set(grid.map((p) => or0(p, key)))].sort((a, b) => a - b);
const pointAt = (grid, w, d) =>
  grid.find((p) => or0(p, "workers") === w && or0(p, "depth") === d);
const samePoint = (a, b) => isObject(a) && isObject(b) &&
  ["workers", "depth", "io_depth"].every((k) => or0(a, k) === or0(b, k));
const rateOf = (point) => or0(point, "images_per_second");

// The colour is laid over the page's own, so that text stays readable on it.
function heatCell(point, top, mark) {
  if (!point) return h("td.n", "–");
  const part = positive(rateOf(point)) / (top || 1);
  const waits = num(point, "host_fraction");
  const cell = h(`td.n.heat${mark ? ".marked" : ""}`,
    data(rateOf(point), number),
    !isNaN(waits) && h("small", "waits ", data(waits, percent)),
    mark && h("small", h("b", mark)));
  cell.style.setProperty("--heat", `${(50 * part * part).toFixed(0)}%`);
  return cell;
}

function heatMap(grid, best, knee) {
  const top = rateOf(best);
  const counts = axis(grid, "workers");
  const mark = (point) =>
    samePoint(point, knee) ? "knee" : point === best ? "fastest" : "";
  const rows = axis(grid, "depth").map((depth) => [depth,
    ...counts.map((w) => pointAt(grid, w, depth))
      .map((point) => heatCell(point, top, mark(point)))]);
  const map = table("Images per second by workers and depth",
    ["!depth \\ workers", ...counts.map((w) => `#${w}`)], rows);
  map.firstChild.setAttribute("class", "heatmap");
  return map;
}

function curve(chart, grid, counts, depth, colour) {
  let before = null;
  counts.forEach((count, i) => {
    const rate = num(pointAt(grid, count, depth), "images_per_second");
    if (isNaN(rate)) return;
    const [x, y] = [chart.x(i), chart.y(rate)];
    if (before)
      chart.add(line(`curve.s${colour}`, before[0], x, before[1], y));
    chart.add(s(`circle.s${colour}`, { cx: across(x), cy: y, r: 4 },
      s("title", `${count} workers, depth ${depth}: ` +
        `${shown(rate, number)} images/s`)));
    before = [x, y];
  });
}

function curves(grid, knee) {
  const counts = axis(grid, "workers");
  const depths = axis(grid, "depth");
  if (counts.length < 2 || counts.length > 64) return null;
  const chart = new Chart("Images per second by workers, a line for each " +
    "depth; the table above has values", counts.length - 1,
    roundUp(most(grid, rateOf)), 190);
  chart.grid(number);
  const drawn = depths.slice(0, CURVES);
  drawn.forEach((depth, i) => curve(chart, grid, counts, depth, i));
  if (knee)
    chart.add(s("circle.ring", { r: 9, cy: chart.y(rateOf(knee)),
      cx: across(chart.x(counts.indexOf(or0(knee, "workers")))) },
      s("title", "knee")));
  chart.ticks(counts.map((w, i) => [i, w]));
  const rest = depths.length - drawn.length;
  return [h("h3", "Images per second by number of workers"), chart.svg(),
    inlineLegend([...drawn.map((d, i) => [`s${i}`, `depth ${d}`]),
      ...(knee ? [[null, "the ring is the knee"]] : [])]),
    rest > 0 && h("p.note", `${rest} more depths are in the table.`)];
}

function kneeWords(doc) {
  if (!isObject(at(doc, "knee"))) return null;
  const rule = text(doc, "rule.words");
  return ["More than ", value(doc, "knee.workers"),
    or0(doc, "knee.workers") === 1 ? " worker" : " workers", " and depth ",
    value(doc, "knee.depth"), " bring little: there is the knee.",
    rule && ` The rule: ${rule}.`];
}

function sweep(doc) {
  const grid = list(doc, "grid");
  const best = grid.reduce((a, b) => (rateOf(b) > rateOf(a) ? b : a), grid[0]);
  const knee = at(doc, "knee");
  const plane = (part) => {
    const point = part.find((p) => samePoint(p, knee));
    return [heatMap(part, best, knee), curves(part, point)];
  };
  const varied = at(doc, "settings.io_depth_varied") === true;
  const planes = varied
    ? axis(grid, "io_depth").map((io) => [h("h3", `I/O depth ${io}`),
      plane(grid.filter((p) => or0(p, "io_depth") === io))])
    : plane(grid);
  return grid.length > 0 && section("Workers by depth",
    h("p", "Images per second. ", kneeWords(doc)), planes);
}
