// SPDX-License-Identifier: Apache-2.0
// A page as a whole: the head, the verdict and the numbers of each document,
// and its sections. They replace what the page has for readers without scripts.

// ---- The head: what was measured, when, where and how -----------------------

const CONFIG = {
  batch_size: "batch size", workers: "workers", depth: "depth",
  io_depth: "I/O depth", dtype: "dtype", layout: "layout", device: "device",
  reader: "reader", quality: "quality", tuner: "tuner",
};

// "2026-11-22T15:07:31Z" reads "2026-11-22 15:07:31 UTC".
const dateWords = (doc) => text(doc, "date")
  .replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)Z$/, "$1 $2 UTC");

function dotted(kind, items) {
  const there = items.filter(Boolean);
  return there.length > 0 &&
    h(kind, there.map((item, i) => [i > 0 && " · ", item]));
}

function settings(doc) {
  const shape = Object.entries(CONFIG).map(([key, words]) => {
    const x = at(doc, `config.${key}`);
    if (typeof x !== "number" && !asText(x)) return null;
    return [`${words} `, h("b", asText(x) || value(doc, `config.${key}`))];
  });
  if (!isNaN(num(doc, "run.consumer_ms")))
    shape.splice(4, 0, ["consumer ms ", h("b", value(doc, "run.consumer_ms"))]);
  return isObject(at(doc, "config")) && dotted("p.settings", shape);
}

const head = (doc, name, subject) => h("header",
  h("p.kind", text(doc, "command")),
  h("h1", subject),
  dotted("p.about", [dateWords(doc),
    text(doc, "host") && ["on ", h("b", text(doc, "host"))],
    !isNaN(num(doc, "dataset.samples")) &&
      [value(doc, "dataset.samples"), " images in the data set"],
    name !== subject && name,
    `feedline ${text(doc, "version")}`]),
  at(doc, "interrupted") === true && h("p.warning", h("b", "Interrupted."),
    " The page shows what was measured up to then."));

// ---- The verdict ------------------------------------------------------------

// A level has a word, a colour and a shape: nobody needs all three.
const LEVELS = {
  FED: ["fed", "●", "fed: the consumer does not wait"],
  MINOR: ["minor", "◐", "minor: waits below 5 % of the time"],
  MODERATE: ["moderate", "▲", "moderate: waits 5 to 20 % of the time"],
  HIGH: ["high", "■", "high: waits 20 % of the time or more"],
  UNKNOWN: ["unknown", "○", "unknown: not enough was measured"],
};

// What stands in backticks is to be typed.
const advice = (words) => words.split("`").map(
  (part, i) => (i % 2 ? h("code", part) : part));

function otherVerdicts(doc) {
  const items = list(doc, "verdicts").map((v) => h("li",
    h("b", text(v, "code")), " ", text(v, "sentence"), " ",
    h("em", advice(text(v, "action")))));
  return items.length > 0 && [h("h3", "Also the case"), h("ul.others", items)];
}

function evidence(doc) {
  const numbers = at(doc, "verdict.evidence");
  return isObject(numbers) && Object.keys(numbers).length > 0 &&
    details("The numbers behind it", h("p.evidence", any(numbers)));
}

function verdict(doc) {
  if (!isObject(at(doc, "verdict"))) return null;
  const [css, shape, words] =
    member(LEVELS, text(doc, "verdict.level")) ?? LEVELS.UNKNOWN;
  const action = text(doc, "verdict.action");
  return h(`section.verdict.${css}`,
    h("h2", "Verdict"),
    h(`p.badge.${css}`, h("span", { "aria-hidden": true }, shape), " ",
      text(doc, "verdict.code"), h("small", words)),
    h("p.sentence", text(doc, "verdict.sentence")),
    action && h("p.action", h("b", "What to do:"), " ", advice(action)),
    h("p.figures",
      !isNaN(num(doc, "verdict.confidence")) && ["Confidence ",
        h("b", value(doc, "verdict.confidence", percent)), ". "],
      num(doc, "verdict.predicted_gain") > 0 && ["Predicted gain ",
        h("b", value(doc, "verdict.predicted_gain", gain)), ". "]),
    evidence(doc), otherVerdicts(doc));
}

// ---- The numbers ------------------------------------------------------------

const RESULT = [
  ["stall.host_fraction", "of the time the host waited", percent],
  ["result.images_per_cpu_second", "images per CPU second", number],
  ["result.images", "images", number],
  ["result.batches", "batches", number],
  ["result.seconds", "measured", seconds],
  ["result.first_batch_seconds", "until the first batch", seconds],
  ["result.max_rss_bytes", "peak memory", bytes],
  ["result.failed_samples", "failed samples", number],
];

// With a GPU its idle time has the large tile and the host's wait is in the
// line; failures are named if there are any.
function numbers(doc) {
  if (!isObject(at(doc, "result"))) return null;
  const gpu = !isNaN(num(doc, "stall.device_fraction"));
  const tile = (key, words, form) => !isNaN(num(doc, key)) &&
    h("li", h("b", value(doc, key, form)), h("span", words));
  const inLine = (key) => !isNaN(num(doc, key)) &&
    (key !== "stall.host_fraction" || gpu) &&
    (key !== "result.failed_samples" || num(doc, key) > 0);
  return [
    h("ul.tiles", { "aria-label": "What was measured" },
      tile("result.images_per_second", "images per second", number),
      gpu ? tile("stall.device_fraction",
        "of the time the GPU was idle for want of data", percent)
        : tile("stall.host_fraction",
          "of the time the host waited for a batch", percent)),
    dotted("p.numbers", RESULT.map(([key, words, form]) =>
      inLine(key) && [h("b", value(doc, key, form)), ` ${words}`]))];
}

// What part of the GPU of --model is fed, on a bar that ends at all of it.
function model(doc) {
  const part = num(doc, "model.fed_fraction");
  if (isNaN(part)) return null;
  const more = num(doc, "model.more_cores");
  const box = { height: 10, rx: 5 };
  return section(`What it feeds: ${text(doc, "model.words")}`,
    h("p", "This machine loads ",
      at(doc, "model.at_least") === true && "at least ",
      value(doc, "model.loads_per_second"), " images/s, which is ",
      h("b", value(doc, "model.fed_fraction")), " of the ",
      value(doc, "model.images_per_second"), " that this training takes. ",
      part < 1 && more > 0 && ["All of it would take about ",
        value(doc, "model.more_cores"),
        more === 1 ? " more core." : " more cores."],
      part < 1 && more === 0 &&
        "Its cores would do for all of it, if nothing else ran on them.",
      part < 1 && isNaN(more) &&
        "More cores would not help: see what it waits for."),
    s("svg", { width: "100%", height: 10, "aria-hidden": true },
      s("rect.track", { width: "100%" }, box),
      s("rect.c-rate", { width: across(100 * Math.min(part, 1)) }, box)),
    h("p.note", "The rate is from ", text(doc, "model.source.name"), ", ",
      text(doc, "model.source.date"), " (", text(doc, "model.source.version"),
      "): ", h("code", text(doc, "model.source.url"))));
}

// How it was measured, behind the answer.
const made = (doc) => [settings(doc), text(doc, "command_line") &&
  h("p.command", h("code", text(doc, "command_line")))];

// ---- The page ---------------------------------------------------------------

const SECTIONS = [verdict, numbers, model, made, findings, outcome, tune, sweep,
  ledger, timeline, stages, workers, tuner, headroom, phases, samples, failures,
  facts];

// One part that fails does not take the others with it.
function drawn(part, doc) {
  try {
    return part(doc);
  } catch (error) {
    console.error(error);
    return h("section", h("p.warning.undrawn", `The part "${part.name}" could `,
      "not be drawn; its numbers are in the page as JSON."));
  }
}

// With several documents: one line each, and where it is on the page.
const compared = (docs, names) =>
  table("Documents", ["!document", "command", "date", "#images/s",
    "#host waits", "#GPU idle", "verdict"],
  docs.map((doc, i) => [h("a", { href: `#run-${i + 1}` }, names[i]),
    text(doc, "command"), h("td.date", dateWords(doc) || "–"),
    plain(doc, "result.images_per_second"),
    plain(doc, "stall.host_fraction", percent),
    plain(doc, "stall.device_fraction", percent),
    text(doc, "verdict.code")]));

// Where there is nothing to compare, in words.
const named = (names) => dotted("p.about", ["On this page", ...names.map(
  (name, i) => h("a", { href: `#run-${i + 1}` }, name))]);

function overview(docs, names) {
  const speeds = docs.filter((doc) =>
    !isNaN(num(doc, "result.images_per_second")));
  return h("nav", { "aria-label": "Documents" },
    speeds.length > 1 ? compared(docs, names) : named(names));
}

function draw(docs) {
  const articles = [...document.querySelectorAll("article")];
  const names = articles.map((article) => article.dataset.name);
  articles.forEach((article, i) => {
    const subject = article.querySelector("h1").textContent;
    const parts = [head(docs[i], names[i], subject),
      ...SECTIONS.map((part) => drawn(part, docs[i]))];
    article.replaceChildren();
    add(article, parts);
  });
  if (docs.length > 1) articles[0].before(overview(docs, names));
}

draw(JSON.parse(document.getElementById("feedline-data").textContent));

// On paper nothing is folded.
addEventListener("beforeprint", () =>
  document.querySelectorAll("details").forEach((d) => (d.open = true)));
