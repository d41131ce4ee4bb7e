// SPDX-License-Identifier: Apache-2.0
// Charts: per cent across and pixels down, so that bars grow with the page and
// text and hatching keep their size. Every chart has its values in words beside
// it. What waits in a queue, or is not known, is hatched.

const HATCHED = new Set(["fetch_queue", "worker_wait", "transfer_queue", "slot",
  "residual", "runq", "starved", "parked"]);
const SMALLEST = 0.0005; // of a whole: less would be listed as 0.0 %

const across = (x) => `${+x.toFixed(3)}%`;

// A rectangle in the colour of a cause.
function block(colour, box) {
  const hatch = { ...box, fill: "url(#hatch)" };
  return [s(`rect.c-${colour}`, box),
    HATCHED.has(colour) && s("rect", hatch)];
}

const swatch = (colour) =>
  s("svg.swatch", { width: 14, height: 14, "aria-hidden": true },
    block(colour, { width: 14, height: 14, rx: 3 }));

const inlineLegend = (items) =>
  h("ul.legend.inline", items.map(([colour, label]) =>
    h("li", colour && swatch(colour), h("span", label))));

// One bar of parts that make a whole, and their list: [colour, words, seconds].
function whole(label, parts) {
  const total = parts.reduce((sum, [, , x]) => sum + x, 0);
  if (!(total > 0)) return null;
  let x = 0;
  const bar = parts.map(([colour, name, length]) => {
    const width = (100 * length) / total;
    const box = { x: across(x), width: across(width), height: 36 };
    x += width;
    return width > 0.005 && s("g",
      s("title", `${name}: ${shown(length, seconds)}, ${width.toFixed(1)} %`),
      block(colour, box));
  });
  const legend = parts.map(([colour, name, length]) =>
    length >= SMALLEST * total && h("li", swatch(colour), h("span", name),
      h("b", data(length / total, percent)), h("i", data(length, seconds))));
  const box = { width: "100%", height: 36, role: "img", "aria-label": label };
  return [s("svg.bar", box, bar),
    h("ul.legend", legend)];
}

// The least of 1, 2, 2.5, 5, 10, ... that is no less; 1 for 0.
function roundUp(x) {
  if (!(x > 0)) return 1;
  const scale = 10 ** Math.floor(Math.log10(x));
  const step = [1, 2, 2.5, 5, 10].find((n) => x <= n * scale * 1.0001);
  return (step ?? 10) * scale;
}

// A chart from 0 to `span` across and 0 to `top` up, `height` pixels.
class Chart {
  constructor(label, span, top, height) {
    Object.assign(this, { label, span, top, height, marks: [] });
  }
  x(value) {
    return this.span > 0 ? (100 * value) / this.span : 0;
  }
  y(value) {
    const part = this.top > 0 ? Math.min(value / this.top, 1) : 0;
    return +(14 + this.height * (1 - Math.max(part, 0))).toFixed(1);
  }
  add(...marks) {
    this.marks.push(marks);
  }
  // Lines across at these parts of the top.
  grid(form, parts = [0, 0.5, 1]) {
    for (const value of parts.map((part) => part * this.top))
      this.add(line("grid", 0, 100, this.y(value), this.y(value)),
        s("text", { x: -6, y: this.y(value) + 4, "text-anchor": "end" },
          value === 0 ? "0" : shown(value, form)));
  }
  // From a value to another, at a height.
  step(x0, x1, value, title) {
    this.add(line("step", this.x(x0), this.x(x1), this.y(value), this.y(value),
      title));
  }
  // Words below the chart: [[at, words], ...].
  ticks(items) {
    for (const [value, label] of items) {
      const x = this.x(value);
      const anchor = x < 4 ? "start" : x > 96 ? "end" : "middle";
      const y = this.height + 29;
      this.add(s("text", { x: across(x), y, "text-anchor": anchor }, label));
    }
    return this;
  }
  seconds() {
    const step = roundUp(this.span / 4);
    const at = [0, 1, 2, 3, 4].map((i) => i * step);
    return this.ticks(at.filter((x) => x <= this.span * 1.0001)
      .map((x) => [x, `${+x.toPrecision(6)} s`]));
  }
  svg() {
    return plot(this.label, this.height + 34, this.marks, ".axis");
  }
}

const plot = (label, height, marks, kind = "") =>
  s(`svg.plot${kind}`,
    { width: "100%", height, role: "img", "aria-label": label }, marks);

function line(kind, x1, x2, y1, y2, title) {
  const ends = { x1: across(x1), x2: across(x2), y1, y2 };
  return s(`line.${kind}`, ends, title && s("title", title));
}
