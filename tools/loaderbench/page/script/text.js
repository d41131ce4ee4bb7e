// SPDX-License-Identifier: Apache-2.0
"use strict";

// ---- Reading a document: what is absent or of another type is NaN, "", [] ---

function member(value, key) {
  const there = value !== null && typeof value === "object";
  return there && Object.hasOwn(value, key) ? value[key] : undefined;
}

const at = (doc, path) => path.split(".").reduce(member, doc);
const text = (doc, path) => asText(at(doc, path));
const asText = (x) => (typeof x === "string" ? x : "");
const isObject = (x) =>
  x !== null && typeof x === "object" && !Array.isArray(x);

function list(doc, path) {
  const value = at(doc, path);
  return Array.isArray(value) ? value : [];
}

// Numbers beyond 1e100 are not measurements, and would overflow a chart.
function num(doc, path) {
  const x = at(doc, path);
  return typeof x === "number" && Math.abs(x) < 1e100 ? x : NaN;
}

const or0 = (doc, path) => num(doc, path) || 0;
const positive = (x) => (x > 0 ? x : 0);

// In seconds, whatever the unit: "total" is total_seconds, _ms, _us or _ns.
function time(doc, name) {
  const units = { seconds: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 };
  const unit = Object.keys(units).find(
    (u) => typeof member(doc, `${name}_${u}`) === "number");
  return unit ? num(doc, `${name}_${unit}`) * units[unit] : NaN;
}

// ---- Numbers in words: a form turns a number into what is shown -------------

const NARROW = "\u202f"; // a thin space where no line breaks

function number(x) {
  const size = Math.abs(x);
  if (size < 10 && !Number.isInteger(x)) return String(+x.toPrecision(3));
  const whole = size >= 100 || Number.isInteger(x);
  const [digits, rest] = x.toFixed(whole ? 0 : 1).split(".");
  const far = digits.replace("-", "").length > 4;
  const grouped = far ? digits.replace(/\B(?=(\d{3})+$)/g, NARROW) : digits;
  return rest ? `${grouped}.${rest}` : grouped;
}

const percent = (x) => `${(100 * x).toFixed(1)} %`;

function gain(x) {
  if (x >= 9) return `${(x + 1).toFixed(0)} times`;
  return `${x < 0 ? "" : "+"}${(100 * x).toFixed(0)} %`;
}

function seconds(x) {
  const size = Math.abs(x);
  if (size >= 100 || Number.isInteger(x)) return `${x.toFixed(0)} s`;
  if (size >= 1) return `${x.toFixed(size >= 10 ? 1 : 2)} s`;
  if (size >= 1e-3) return `${+(1e3 * x).toPrecision(3)} ms`;
  return `${+(1e6 * x).toPrecision(3)} µs`;
}

function bytes(x) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; Math.abs(x) >= 1024 && unit < 4; unit++) x /= 1024;
  const whole = unit === 0 || Math.abs(x) >= 100;
  return `${x.toFixed(whole ? 0 : 1)} ${names[unit]}`;
}

const shown = (x, form) => (Math.abs(x) < 1e18 ? form(x) : "–");

// A key such as memory_limit_bytes names the unit of its value.
const UNITS = { bytes, seconds, fraction: percent };
const UNIT = /_(bytes|seconds|fraction)$/;
const formOf = (key) => UNITS[UNIT.exec(key)?.[1]] ?? number;
const words = (key) => key.replace(UNIT, "").replaceAll("_", " ");

// ---- Elements ---------------------------------------------------------------

// Control characters and marks that turn the direction of text: a path must not
// look like another one.
const CONTROLS =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function add(parent, child) {
  if (Array.isArray(child)) child.forEach((c) => add(parent, c));
  else if (child instanceof Node) parent.append(child);
  else if (isObject(child))
    for (const [name, value] of Object.entries(child))
      parent.setAttribute(name, value);
  else if (child !== undefined && child !== null && child !== false)
    parent.append(String(child).replace(CONTROLS, "\ufffd"));
}

// h("p.note", {id: "x"}, "text", [more]): objects are attributes, strings are
// text and never markup.
function make(space, tag, children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElementNS(space, name);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  add(element, children);
  return element;
}

const h = (tag, ...children) =>
  make("http://www.w3.org/1999/xhtml", tag, children);
const s = (tag, ...children) =>
  make("http://www.w3.org/2000/svg", tag, children);

// A number: shown is a rounded form, the value is exact, key says whose it is.
function data(x, form, key) {
  if (!Number.isFinite(x)) return "–";
  return h("data", { value: x }, key && { "data-key": key }, shown(x, form));
}

const value = (doc, key, form = number) => data(num(doc, key), form, key);

// Any value at all in one line.
function any(x, form = number, depth = 0) {
  if (depth > 4) return "…";
  if (typeof x === "string") return x;
  if (typeof x === "number") return data(x, form);
  if (typeof x === "boolean") return x ? "yes" : "no";
  if (x === null || x === undefined) return "–";
  const isList = Array.isArray(x);
  const items = Object.entries(x).slice(0, 64);
  const more = Object.keys(x).length - items.length;
  const parts = items.map(([key, item], i) => [
    i > 0 && ", ",
    !isList && `${words(key)}\u00a0`,
    any(item, isList ? number : formOf(key), depth + 1),
  ]);
  if (isList && !items.length) return "none";
  return [parts, more > 0 && `, and ${more} more`];
}

const section = (title, ...children) =>
  h("section", h("h2", title), children);
const details = (summary, ...children) =>
  h("details", h("summary", summary), children);

// Scrolls by itself where the screen is narrow. A column "#bytes" has numbers,
// "!stage" names its row.
function table(label, columns, rows) {
  // No region: several documents would have landmarks of the same name.
  const region = { role: "group", tabindex: 0, "aria-label": label };
  const heads = columns.map((c) =>
    h(c[0] === "#" ? "th.n" : "th", { scope: "col" }, c.replace(/^[#!]/, "")));
  const cell = (content, i) => {
    if (content instanceof HTMLTableCellElement) return content;
    const kind = columns[i][0];
    if (kind === "!") return h("th", { scope: "row" }, content);
    return h(kind === "#" ? "td.n" : "td", content);
  };
  const body = rows.map((row) => h("tr", row.map(cell)));
  return h("div.scroll", region,
    h("table", h("thead", h("tr", heads)), h("tbody", body)));
}
