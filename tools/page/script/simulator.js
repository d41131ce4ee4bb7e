// SPDX-License-Identifier: Apache-2.0
// The charts of tuner_sim: for each family workers over the batches of its
// first scenario, a line for each controller and a dashed one for the oracle,
// on a logarithmic scale, as both 256 cores and a single worker must be seen;
// and the share of all runs that stay below a regret.

const PANEL = { width: 340, height: 190, x: 40, y: 26, w: 286, h: 136 };
const panelX = (part) => PANEL.x + PANEL.w * part;
const place = (x) => +x.toFixed(1);

const stroke = (i, own) => ({
  class: `l c${i % 12}${own ? " own" : ""}`,
  "stroke-dasharray": ["", "6 2", "2 2"][Math.floor(i / 12) % 3] });

const label = (x, y, anchor, words) =>
  s("text", { x: place(x), y: place(y), "text-anchor": anchor }, words);

// Steps [[at, height], ...] as a path up to `end`.
const steps = (points, end) =>
  points.map(([x, y], i) =>
    (i ? `H${place(x)}V${place(y)}` : `M${place(x)} ${place(y)}`)).join("") +
  `H${place(end)}`;

function panel(run, controllers) {
  const curves = list(run, "curves");
  const top = Math.max(2, most(curves.flat(), (point) => or0(point, "1")),
    most(list(run, "oracle"), (phase) => or0(phase, "workers")));
  const up = (workers) => PANEL.y + PANEL.h *
    (1 - Math.min(1, Math.log2(Math.max(workers, 1)) / Math.log2(top)));
  const across = (batch) => panelX(batch / num(run, "batches"));
  const path = (points) =>
    steps(points.map(([x, y]) => [across(x), up(y)]), panelX(1));
  const grid = [];
  for (let w = 1; w <= top; w *= top > 40 ? 4 : 2)
    grid.push(s("path.grid", { d: `M${panelX(0)} ${place(up(w))}h${PANEL.w}` }),
      label(panelX(0) - 5, up(w) + 4, "end", w));
  const drawn = curves.map((curve, i) => s("path", { d: path(curve) },
    stroke(i, controllers[i].own), s("title", text(controllers[i], "name"))));
  const oracle = list(run, "oracle")
    .map((phase) => [num(phase, "from"), num(phase, "workers")]);
  const bottom = PANEL.y + PANEL.h + 14;
  return s("svg.panel",
    { viewBox: `0 0 ${PANEL.width} ${PANEL.height}`, role: "img",
      "aria-label": `Workers over batches in ${text(run, "scenario")}` },
    s("text.name", { x: panelX(0), y: 16 }, text(run, "scenario")), grid,
    label(panelX(0), bottom, "start", "0"),
    label(panelX(1), bottom, "end", `batch ${num(run, "batches")}`),
    drawn.reverse(), s("path.oracle", { d: path(oracle) }));
}

// From 0.01 % to 1000 %, by decades.
function regrets(controllers) {
  const [width, height] = [1000, 260];
  const x = (regret) => {
    const decade = Math.log10(Math.max(100 * regret, 0.01));
    return 40 + ((Math.min(decade, 3) + 2) / 5) * (width - 70);
  };
  const y = (share) => 14 + height * (1 - share);
  const grid = [-2, -1, 0, 1, 2, 3].map((d) => [
    s("path.grid", { d: `M${place(x(10 ** (d - 2)))} 14v${height}` }),
    label(x(10 ** (d - 2)), height + 30, "middle", `${10 ** d} %`)]);
  const shares = [0, 25, 50, 75, 100].map((q) => [
    s("path.grid", { d: `M40 ${place(y(q / 100))}H${width - 30}` }),
    label(35, y(q / 100) + 4, "end", q)]);
  const lines = controllers.map((c, i) => {
    const sorted = [...list(c, "regrets")].sort((a, b) => a - b);
    const points = sorted.map((r, k) => [x(r), y((k + 1) / sorted.length)]);
    return s("path", stroke(i, c.own), s("title", text(c, "name")),
      { d: steps([[x(0), y(0)], ...points], width - 30) });
  });
  return s("svg.panel", { viewBox: `0 0 ${width} ${height + 40}`, role: "img",
    "aria-label": "Share of the runs with at most that regret" },
  grid, shares, lines.reverse());
}

function pictures(doc) {
  const controllers = list(doc, "controllers");
  const key = (name, mark) => h("li",
    s("svg", { width: 28, height: 10, "aria-hidden": true }, mark),
    h("span", name));
  const d = "M1 5h26";
  return section("Workers over batches, and regret",
    h("ul.legend.inline",
      controllers.map((c, i) =>
        key(text(c, "name"), s("path", { d }, stroke(i, c.own)))),
      key("oracle", s("path.oracle", { d }))),
    h("div.panels", list(doc, "pictures").map((run) =>
      panel(run, controllers))),
    h("h3", "Share of the runs with at most that regret"),
    regrets(controllers));
}
