// SPDX-License-Identifier: Apache-2.0
// A run: what it waited for, how long its stages take, what its threads did.

// Causes of a wait, in the order of a batch's way.
const CAUSES = {
  not_issued: "the batch was not begun yet",
  slot: "no free slot: the consumer held them all",
  fetch_queue: "reads not sent yet: I/O depth reached",
  fetch: "reading files",
  worker_wait: "files read, workers busy elsewhere",
  prep: "decoding and augmenting",
  transfer_queue: "waiting to be copied to the device",
  transfer: "copying to the device",
  wake: "ready, until the consumer ran again",
  residual: "not attributed",
};

// What workers do while a batch is prepared.
const ON_CORE = {
  cpu: "on a core",
  runq: "no core was free",
  throttle: "CPU quota used up",
  sleep: "asleep",
};

// ---- Where the time went ----------------------------------------------------

// The wait for decoding calls for another remedy where workers lacked a core
// than where they were busy. Older documents do not split it.
function prepParts(doc) {
  const total = positive(num(doc, "stall.buckets.prep"));
  const parts = Object.entries(ON_CORE).map(([kind, words]) =>
    [kind, `${CAUSES.prep}, ${words}`,
      positive(time(at(doc, "stall.prep"), kind))]);
  const rest = parts.reduce((left, [, , x]) => left - x, total);
  if (rest > 0.001 * total)
    parts.push(["prep", `${CAUSES.prep}, not split`, rest]);
  return parts;
}

function waits(doc) {
  const parts = Object.entries(CAUSES).flatMap(([cause, words]) =>
    cause === "prep" ? prepParts(doc)
      : [[cause, words, positive(num(doc, `stall.buckets.${cause}`))]]);
  return whole("The consumer's waits by cause", parts) ??
    h("p", "It never waited.");
}

function wall(doc) {
  const stats = at(doc, "stats");
  return isObject(stats) && [
    h("h3", "The consumer's time"),
    whole("The consumer's time, split", [
      ["user", "the consumer's own work", positive(time(stats, "user"))],
      ["wait", "waiting for a batch", positive(time(stats, "wait"))],
      ["api", "the call itself", positive(time(stats, "api"))]])];
}

function workersMeanwhile(doc) {
  const kinds = Object.entries(ON_CORE)
    .map(([kind, words]) => [words, time(at(doc, "stall.worker_wait"), kind)])
    .filter(([, x]) => x > 0);
  return kinds.length > 0 && h("p",
    "While files waited for a worker, the workers spent their time so: ",
    kinds.map(([words, x], i) =>
      [i > 0 && ", ", `${words} `, data(x, seconds)]), ".");
}

function device(doc) {
  if (!isObject(at(doc, "transfer"))) return null;
  const idle = positive(num(doc, "transfer.idle_seconds"));
  const busy = positive(or0(doc, "transfer.span_seconds") - idle);
  return [
    h("h3", "The GPU, by its own clock"),
    whole("The stream of the GPU, busy and idle",
      [["user", "busy", busy], ["wait", "idle for want of data", idle]]),
    h("p", "Copied ", value(doc, "transfer.copied_bytes", bytes), " at ",
      value(doc, "transfer.gigabytes_per_second"), " GB/s, of which the bus ",
      "gives ", value(doc, "transfer.ceiling_gigabytes_per_second"), "; ",
      value(doc, "transfer.overlap_fraction", percent),
      " of it overlapping the consumer's work.")];
}

const ledger = (doc) => isObject(at(doc, "stall")) &&
  section("Where the time went", wall(doc), h("h3", "What it waited for"),
    waits(doc), workersMeanwhile(doc), device(doc));

// ---- Stages -----------------------------------------------------------------

const QUANTILES = ["p50", "p90", "p99", "max"];

// A stage that does nothing (no copies without a device) takes no time.
const isUsed = (stage) => or0(stage, "items") > 0 && or0(stage, "max_us") > 0;
const micros = (stage, key) => 1e-6 * num(stage, `${key}_us`);

// A logarithmic scale: whole decades of seconds, from the fastest median to the
// slowest item.
function decades(stages) {
  const tops = stages.map((t) => Math.log10(micros(t, "max")));
  const medians = stages.map((t) =>
    Math.log10(micros(t, or0(t, "p50_us") > 0 ? "p50" : "max")));
  const low = Math.floor(Math.min(...medians) + 1e-9);
  const high = Math.max(Math.ceil(Math.max(...tops) - 1e-9), low + 1);
  const x = (value) => {
    const decade = Math.log10(value > 0 ? value : 1e-9);
    return Math.min(100, Math.max(0, (100 * (decade - low)) / (high - low)));
  };
  return { low, high, x };
}

function stageRow(stage, scale, y) {
  const name = text(stage, "name");
  const quantiles = QUANTILES.map((q) => shown(micros(stage, q), seconds));
  const [p50, p90, p99, max] = QUANTILES.map((q) => scale.x(micros(stage, q)));
  const span = (from, to, least) =>
    ({ x: across(from), width: across(Math.max(to - from, least)) });
  return s("g",
    s("title", `${name}: `,
      QUANTILES.map((q, i) => `${i ? ", " : ""}${q} ${quantiles[i]}`)),
    s("text.name", { x: 0, y: y + 16 }, name),
    s("text", { x: "100%", y: y + 16, "text-anchor": "end" },
      quantiles.join(" · ")),
    line("grid", 0, 100, y + 30, y + 30),
    line("tail", p50, max, y + 30, y + 30),
    s("rect.c-p99", span(p90, p99, 0.1), { y: y + 26, height: 8 }),
    s("rect.c-p90", span(p50, p90, 0.3), { y: y + 23, height: 14 }),
    line("end", max, max, y + 24, y + 36));
}

function stagesChart(stages) {
  const scale = decades(stages);
  const height = 46 * stages.length + 24;
  const step = Math.max(1, Math.ceil((scale.high - scale.low) / 6));
  const ticks = [];
  for (let decade = scale.low; decade <= scale.high; decade += step) {
    const x = scale.x(10 ** decade);
    const anchor = x < 1 ? "start" : x > 99 ? "end" : "middle";
    ticks.push(s("text", { x: across(x), y: height - 5, "text-anchor": anchor },
      shown(10 ** decade, seconds)));
  }
  return [
    h("h3", "Time of one item: p50 · p90 · p99 · longest"),
    plot("Percentiles of each stage on a logarithmic scale; the table below " +
      "has values", height,
      [stages.map((t, i) => stageRow(t, scale, 46 * i)), ticks]),
    h("p.note", "Thick: half of the items to nine of ten. Thin: to 99 of 100. ",
      "The line ends at the longest.")];
}

// For readers who compare them with TensorFlow's Input Pipeline Analyzer.
function tensorflowClasses(doc) {
  const busy = (test) => list(doc, "stages")
    .filter((stage) => test(text(stage, "name")))
    .reduce((sum, stage) => sum + positive(time(stage, "busy")), 0);
  const others = ["read", "transfer", "consume"];
  const demand = or0(doc, "stall.buckets.fetch") +
    or0(doc, "stall.buckets.fetch_queue");
  const classes = [
    ["reading data on demand (the consumer waited for it)", demand],
    ["reading data in advance",
      positive(busy((name) => name === "read") - demand)],
    ["data preprocessing", busy((name) => !others.includes(name))],
    ["enqueuing data to be transferred to the device",
      busy((name) => name === "transfer")]];
  return details("In the terms of TensorFlow's Input Pipeline Analyzer",
    h("p.note",
      classes.map(([words, x], i) => [i > 0 && "; ", words, " ",
        data(x, seconds)]),
      ". These are sums over all threads, so they may exceed the wall time."));
}

function stages(doc) {
  const used = list(doc, "stages").filter(isUsed);
  if (!list(doc, "stages").length) return null;
  const rows = used.map((stage) => [text(stage, "name"),
    data(num(stage, "items"), number), data(num(stage, "bytes"), bytes),
    ...["busy", "starved", "blocked"].map((k) => data(time(stage, k), seconds)),
    ...QUANTILES.map((q) => data(micros(stage, q), seconds))]);
  return section("Stages", used.length > 0 && stagesChart(used),
    table("Stages", ["!stage", "#items", "#bytes", "#busy", "#starved",
      "#blocked", ...QUANTILES.map((q) => `#${q}`)], rows),
    tensorflowClasses(doc));
}

// ---- Workers, headroom -----------------------------------------------------

const WORKERS = {
  cpu: "decoding and augmenting, on a core",
  runq: "the same, while no core was free",
  throttle: "the same, while the CPU quota was used up",
  sleep: "the same, asleep",
  read: "reading",
  blocked: "no room for output",
  starved: "nothing to work on",
  parked: "not needed",
  residual: "not attributed",
};

function workers(doc) {
  if (!isObject(at(doc, "workers"))) return null;
  const parts = Object.entries(WORKERS).map(([kind, words]) =>
    [kind, words, positive(time(at(doc, "workers"), kind))]);
  const switches = num(doc, "workers.voluntary_switches");
  return section("Workers",
    h("p", "How ", value(doc, "workers.threads"), " threads spent their time."),
    whole("The workers' time, split", parts),
    !isNaN(switches) && h("p", "They gave up their core ",
      value(doc, "workers.voluntary_switches"),
      " times; the kernel took it from them ",
      value(doc, "workers.involuntary_switches"), " times."));
}

const GAINS = {
  fed: "an infinitely fast loader",
  two_workers: "two more workers",
  storage: "storage of twice the speed",
  transfer: "a bus of twice the speed",
  jpeg_index: "an index of the JPEGs",
  packing: "packed images",
};

// All bars have one scale: twice as fast, or the largest gain.
function headroom(doc) {
  if (!isObject(at(doc, "headroom"))) return null;
  const known = Object.keys(GAINS).filter((key) =>
    !isNaN(num(doc, `headroom.${key}`)) &&
    (key !== "transfer" || isObject(at(doc, "transfer"))));
  const most = Math.max(1, ...known.map((key) => num(doc, `headroom.${key}`)));
  const bar = (key) => {
    const part = positive(num(doc, `headroom.${key}`)) / most;
    const box = { height: 10, rx: 5 };
    return h("li", h("span", GAINS[key]),
      h("b", value(doc, `headroom.${key}`, gain)),
      s("svg", { width: "100%", height: 10, "aria-hidden": true },
        s("rect.track", { width: "100%" }, box),
        s("rect.c-rate", { width: across(100 * part) }, box)));
  };
  const alone = at(doc, "headroom.stages");
  const some = alone && typeof alone === "object" && Object.keys(alone).length;
  return section("Headroom",
    h("p", "Now ", value(doc, "headroom.batches_per_second"),
      " batches per second; what would be gained at most, with"),
    h("ul.gains", known.map(bar)),
    some > 0 && h("p", "Batches per second that each stage could do alone: ",
      any(alone), "."));
}

// ---- The consumer's own time ------------------------------------------------

function phaseRow(phase) {
  const count = positive(num(phase, "count")) || NaN;
  const total = time(phase, "total");
  return [text(phase, "name"), data(count, number),
    data(time(phase, "self"), seconds),
    data(num(phase, "user_fraction"), percent), data(total, seconds),
    data(total / count, seconds),
    data(count ? time(phase, "max") : NaN, seconds)];
}

function gaps(doc) {
  const own = at(doc, "gaps");
  const period = num(doc, "gaps.period");
  return num(doc, "gaps.count") > 0 && h("p", h("b", "Gaps:"), " in ",
    value(doc, "gaps.count"), num(doc, "gaps.count") === 1 ? " step" : " steps",
    " the consumer itself took more than 5 times as long as usual (",
    data(time(own, "median"), seconds), "), ",
    data(time(own, "total"), seconds), " in all, the longest ",
    data(time(own, "longest"), seconds),
    period > 0 && [", every ", value(doc, "gaps.period"), " steps"],
    ". Look for checkpoints, logging and evaluation there; no loader can ",
    "help.");
}

// A weaker autocorrelation is there by chance.
const rhythm = (doc) => num(doc, "gaps.stall_period") > 0 &&
  num(doc, "gaps.stall_strength") >= 0.5 &&
  h("p", h("b", "Rhythm:"), " long waits come every ",
    value(doc, "gaps.stall_period"), " batches.");

function phases(doc) {
  const rows = list(doc, "phases").map(phaseRow);
  const notes = [gaps(doc), rhythm(doc)].filter(Boolean);
  return rows.length + notes.length > 0 && section("The consumer's own time",
    rows.length > 0 && table("Phases", ["!phase", "#times", "#itself",
      "#of user time", "#with inner", "#mean", "#longest"], rows), notes);
}
