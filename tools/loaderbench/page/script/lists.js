// SPDX-License-Identifier: Apache-2.0
// Slow samples, long waits and failures; the machine and the settings.

// ---- Samples ----------------------------------------------------------------

const SHOWN = 10; // slow samples that are not folded
const OFF_CORE = 0.2; // of the workers' busy time, from which it is mentioned

// The list has the slowest first, so the first of a file is its worst.
function distinctFiles(samples) {
  const seen = new Set();
  return samples.filter((sample) => {
    const path = text(sample, "path");
    const first = !path || !seen.has(path);
    seen.add(path);
    return first;
  });
}

function commonFolder(paths) {
  if (paths.length < 2) return "";
  let n = 0;
  while (n < paths[0].length && paths.every((p) => p[n] === paths[0][n])) n++;
  const folder = paths[0].slice(0, paths[0].lastIndexOf("/", n - 1) + 1);
  return folder.length > 1 && n > 0 ? folder : "";
}

function slowRow(sample, prefix) {
  const [width, height] = [num(sample, "width"), num(sample, "height")];
  return [h("td.path", text(sample, "path").slice(prefix.length)),
    text(sample, "stage"),
    ...["total", "read", "decode", "augment"].map((key) =>
      data(time(sample, key), seconds)),
    width > 0 && height > 0 ? `${width} × ${height}` : "–",
    plain(sample, "bytes", bytes), plain(sample, "stall_fraction", percent)];
}

// A document has no CPU time of a sample, so which ones is not known.
function offCore(doc) {
  const spent = Object.keys(ON_CORE).map((kind) =>
    positive(time(at(doc, "workers"), kind)));
  const share = time(at(doc, "workers"), "runq") /
    spent.reduce((a, b) => a + b, 0);
  return share >= OFF_CORE && h("p.warning", "The workers had no core for ",
    data(share, percent), " of the time in which they had work. A sample may ",
    "be listed here because its worker was put off the core, and not because ",
    "it is expensive.");
}

function slowSamples(doc) {
  const files = distinctFiles(list(doc, "slow_samples"));
  if (!files.length) return null;
  const folder = commonFolder(files.map((f) => text(f, "path")));
  const first = files.length > SHOWN + 2 ? SHOWN : files.length;
  const part = (some) => table("Slow samples", ["file", "most in", "#in all",
    "#read", "#decode", "#augment", "#pixels", "#bytes", "#of the stall"],
  some.map((sample) => slowRow(sample, folder)));
  return [h("h3", "The slowest samples"), offCore(doc),
    folder && h("p", "Files in ", h("code", folder)),
    part(files.slice(0, first)),
    first < files.length && details(`${files.length - first} more`,
      part(files.slice(first)))];
}

function longWaits(doc) {
  if (!(num(doc, "outliers.count") > 0)) return null;
  const last = list(doc, "outliers.last");
  const known = last.some((o) => text(o, "path"));
  const usual = time(at(doc, "outliers"), "median_wait");
  const rows = last.map((o) => [plain(o, "epoch"),
    plain(o, "sequence"), data(time(o, "wait"), seconds),
    CAUSES[text(o, "cause")] ?? text(o, "cause"),
    data(time(o, "cause"), seconds),
    ...(known ? [h("td.path", text(o, "path"))] : [])]);
  return [h("h3", "Waits far longer than the others"),
    h("p", value(doc, "outliers.count"),
      " in all; ", usual === 0 ? "most batches were there at once."
        : ["half of the waits are shorter than ", data(usual, seconds), "."]),
    table("Long waits", ["#epoch", "#batch", "#waited", "mostly for", "#of it",
      ...(known ? ["because of"] : [])], rows)];
}

function samples(doc) {
  const parts = [slowSamples(doc), longWaits(doc)].filter(Boolean);
  return parts.length > 0 && section("Slow samples and long waits", parts);
}

function failures(doc) {
  const rows = list(doc, "failures").map((f) => [h("td.path", text(f, "path")),
    text(f, "status"), text(f, "reason"), plain(f, "epoch")]);
  return rows.length > 0 && section("Samples that could not be used",
    table("Failures", ["file", "what", "reason", "#epoch"], rows));
}

// ---- Machine and settings ---------------------------------------------------
// Keys that have other words than themselves, and the form of their numbers;
// null: stands elsewhere, or is of no use here.

const FACTS = {
  machine: {
    kernel: ["Linux kernel"],
    cpu_model: ["processor"],
    cpus_online: ["cores of the machine"],
    cpus_allowed: ["cores the process may run on"],
    cpus_usable: ["cores usable at once"],
    cpu_quota: ["CPU quota in cores"],
    memory_bytes: ["memory of the machine", bytes],
  },
  signals: {
    quota_cores: null,
    throttled_seconds: null,
    throttled_fraction: ["stopped by the CPU quota", percent],
    psi_cpu_some: ["some task waited for a core", percent],
    psi_io_some: ["some task waited for storage", percent],
    psi_memory_some: ["some task waited for memory", percent],
    host_busy: ["load of the machine's cores", percent],
    process_cores: ["cores used by this process"],
    foreign_cores: ["of these, by the program's other threads"],
    foreign_name: ["the busiest of those threads"],
    consumer_cores: ["cores used by the consumer's thread"],
    memory_bytes: ["memory used by the process or its container", bytes],
    memory_limit_bytes: null,
    run_queue_known: null,
    gpu: ["GPU"],
  },
  facts: {
    machine: null, // a block of its own
    throttled_share: ["stopped by the CPU quota", percent],
    other_cores: ["cores used by other processes"],
    clock_ns: ["nanoseconds to read the clock"],
    governor: ["CPU frequency governor"],
    scaling_driver: ["CPU frequency driver"],
    clocksource: ["clock source"],
    simd: ["vector instructions"],
    omp_num_threads: ["OMP_NUM_THREADS"],
    mkl_num_threads: ["MKL_NUM_THREADS"],
    openblas_num_threads: ["OPENBLAS_NUM_THREADS"],
    local_world_size: ["LOCAL_WORLD_SIZE"],
    numa_nodes: ["NUMA nodes"],
    memory_pressure: ["some task waited for memory", percent],
    memlock_bytes: ["memory that may be locked", bytes],
    shm_bytes: ["shared memory in /dev/shm", bytes],
    overcommit: ["vm.overcommit_memory"],
    io_uring: ["io_uring works"],
    io_uring_reason: ["why io_uring does not work"],
    open_files: ["files that may be open"],
    threads_limit: ["thread limit"],
    read_ahead_bytes: ["read-ahead of the disks", bytes],
    gpu: ["GPU"],
  },
};

// A limit of all the memory there is, and cores that may all be used, repeat
// the line above them.
const REPEATS = { memory_limit_bytes: "memory_bytes",
  cpus_allowed: "cpus_online", cpus_usable: "cpus_allowed" };

// What does not fit beside its name goes below it.
const isLong = (x) => isObject(x) || asText(x).length > 40 ||
  (Array.isArray(x) && (x.length > 4 || isObject(x[0])));

function fact(block, key, x, object) {
  const known = member(member(FACTS, block), key);
  const same = block === "machine" && member(object, member(REPEATS, key));
  if (x === null || x === "" || known === null || x === same) return null;
  const [label, form] = known ?? [words(key)];
  return h(isLong(x) ? "div.long" : "div", h("dt", label),
    h("dd", any(x, form ?? formOf(key))));
}

function facts(doc) {
  const block = (title, path, open, name = path) => {
    const object = at(doc, path);
    if (!isObject(object) || !Object.keys(object).length) return null;
    return h("details", open && { open: "" }, h("summary", title),
      h("dl.facts", Object.entries(object).map(([key, x]) =>
        fact(name, key, x, object))));
  };
  const blocks = [
    block("Machine", "machine", true),
    block("Machine", "facts.machine", true, "machine"),
    block("What the doctor checked", "facts", true),
    block("During the run", "signals", true),
    block("Options in force at the end", "config"),
    block("Options of the command", "options"),
    block("Shape of the run", "run"),
  ].filter(Boolean);
  return blocks.length > 0 && section("Machine and settings", blocks);
}
