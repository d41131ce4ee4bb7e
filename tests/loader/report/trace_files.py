# SPDX-License-Identifier: Apache-2.0
"""Traces of real runs: their format, their schedule, merging them.

usage: trace_files.py CASE

The environment names LOADERBENCH, DUMP_SCHEDULE and FEEDLINE_SO.
"""
import ctypes
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MERGE = os.path.join(HERE, "..", "..", "..", "scripts",
                     "merge_traces")
sys.path.insert(0, HERE)
import check_trace  # noqa: E402

SKIPPED = 77

def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)

def command(*arguments, rc=0, env=None):
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True,
                          check=False, env=env)
    if done.returncode != rc:
        raise AssertionError(f"{arguments}: {done.returncode}, not {rc}\n"
                             f"{done.stdout}{done.stderr}")
    return done

def images(tmp, n=64):
    folder = os.path.join(tmp, "images")
    command(os.environ["LOADERBENCH"], "gen", folder, "--images", n,
            "--classes", 2, "--quiet")
    return folder

def run(folder, trace, *options):
    command(os.environ["LOADERBENCH"], "run", folder, "--quiet", "--warmup", 0,
            "--batch-size", 4, "--op", "resize width=32 height=32",
            "--dtype", "u8", "--trace", trace, *options)

def checked(path, *options):
    return command(sys.executable, os.path.join(HERE, "check_trace.py"), path,
                   *options).stdout

# ---- The format -------------------------------------------------------------

def case_format(tmp):
    """200 batches; the flows of nearly all lead from a read to a step. Those
    of the first few were read before the first call of next."""
    trace = os.path.join(tmp, "t.json")
    run(images(tmp), trace, "--batches", 205)
    print(checked(trace, "--steps", 200, "--whole-flows", 180,
                  "--names", "read,decode,augment,wait,step,issue,ready,"
                  "release,batch,outstanding,workers,reads in flight,stall"))

def case_device(tmp):
    """On the double of a GPU: copies and pinned memory too."""
    double = os.environ.get("LIBCUDA")
    if not double:
        skip("no double of the CUDA driver")
    trace = os.path.join(tmp, "t.json")
    env = dict(os.environ, FEEDLINE_LIBCUDA=double,
               CUDA_DOUBLE="devices=1,latency_us=20,delay_us=30")
    command(os.environ["LOADERBENCH"], "run", images(tmp), "--quiet",
            "--warmup", 0, "--batch-size", 4, "--device", "cuda:0",
            "--op", "resize width=32 height=32", "--batches", 60,
            "--trace", trace, "--trace-active", 50, env=env)
    print(checked(trace, "--steps", 50, "--flows", 45, "--names",
                  "read,decode,copy,step,pinned"))

def case_categories(tmp):
    folder = images(tmp)
    every = {"read", "decode", "augment", "consumer", "batch", "counter"}
    for wanted in sorted(every):
        trace = os.path.join(tmp, wanted + ".json")
        run(folder, trace, "--batches", 20, "--trace-active", 15,
            "--trace-categories", wanted)
        events = check_trace.check(check_trace.load(trace))[0]
        assert {e["cat"] for e in events if "cat" in e} == {wanted}, wanted
        assert any(e.get("cat") == wanted for e in events)

def case_schedule_of_torch(tmp):
    """Step by step what torch.profiler.schedule says."""
    del tmp
    try:
        import warnings
        from torch.profiler import schedule
        warnings.simplefilter("ignore")
    except Exception as error:  # a broken torch raises more than ImportError
        skip(f"no torch.profiler: {error}")
    for skip_first in (0, 3):
        for wait in (0, 1, 4):
            for warmup in (0, 1, 2):
                for active in (1, 3):
                    for repeat in (0, 1, 2, 5):
                        theirs = schedule(wait=wait, warmup=warmup,
                                          active=active, repeat=repeat,
                                          skip_first=skip_first)
                        ours = command(os.environ["DUMP_SCHEDULE"], skip_first,
                                       wait, warmup, active, repeat, 60).stdout
                        assert ours.split() == [theirs(i).name
                                                for i in range(60)], ours

def has_step(path):
    try:
        with open(path, "rb") as file:
            return b'"name":"step"' in file.read()
    except FileNotFoundError:
        return False

def case_killed(tmp):
    """What a killed process leaves can be opened as it is."""
    trace = os.path.join(tmp, "t.json")
    process = subprocess.Popen(
        [os.environ["LOADERBENCH"], "run", images(tmp), "--quiet", "--seconds",
         "100", "--warmup", "0", "--op", "resize width=32 height=32",
         "--trace", trace, "--trace-active", "2", "--trace-repeat", "0"])
    partial = trace + ".partial"
    try:
        while not has_step(partial):
            if process.poll() is not None:
                raise AssertionError("the run ended by itself")
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not os.path.exists(trace)
    merged = os.path.join(tmp, "m.json")
    command(sys.executable, MERGE, "-o", merged, partial)
    document = check_trace.load(merged)
    assert any(e["name"] == "step" for e in document["traceEvents"])

# ---- Merging ----------------------------------------------------------------

def write(path, document):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "wt") as file:
        json.dump(document, file)

def slice_of(name, ts, pid=1, **more):
    return dict({"ph": "X", "name": name, "cat": "c", "ts": ts, "dur": 5,
                 "pid": pid, "tid": 1}, **more)

def case_merge(tmp):
    """Three clocks, one process number, one id."""
    a, b, c, out = (os.path.join(tmp, n)
                    for n in ("a.json", "b.json.gz", "c.json", "o.json.gz"))
    unix = 1_790_000_000_000_000_000
    flow = {"ph": "s", "name": "f", "cat": "c", "id": 3, "pid": 1, "tid": 1}
    write(a, {"baseTimeNanoseconds": unix,
              "traceEvents": [slice_of("a", 10.125), dict(flow, ts=10.5)]})
    write(b, {"baseTimeNanoseconds": unix + 1_000_000,
              "traceEvents": [slice_of("b", 10.125), dict(flow, ts=10.5)]})
    write(c, [slice_of("c", unix // 1000 + 500, pid="CPU")])
    command(sys.executable, MERGE, "-o", out, a, b, c)
    with gzip.open(out, "rt") as file:
        document = json.load(file)
    events = document["traceEvents"]
    at = {e["name"]: e["ts"] * 1000 + document["baseTimeNanoseconds"]
          for e in events if e["ph"] == "X"}
    assert abs(at["b"] - at["a"] - 1_000_000) < 300
    assert abs(at["c"] - at["a"] - 489_875) < 300
    pids = {e["name"]: e["pid"] for e in events if e["ph"] == "X"}
    assert pids["a"] == 1 and len(set(pids.values())) == 3
    ids = [e["id"] for e in events if e["ph"] == "s"]
    assert len(set(ids)) == 2
    assert any(e["ph"] == "M" and e["pid"] == pids["c"] and
               e["args"] == {"name": "CPU"} for e in events)
    assert not os.path.exists(out + ".partial.gz")

def case_merge_mistakes(tmp):
    good, bad = os.path.join(tmp, "g.json"), os.path.join(tmp, "b.json")
    out = os.path.join(tmp, "o.json")
    write(good, {"baseTimeNanoseconds": 5, "traceEvents": []})
    for text, message in [
            ("", "b.json: no JSON"), ("[1]", "b.json: no trace"),
            ("{\"a\":1}", "b.json: no trace"),
            ('{"traceEvents":[{"ph":"X","ts":5}]}', "--start"),
            ('{"traceEvents":[{"ph":"X","ts":"x"}]}', "no number"),
            ('{"baseTimeNanoseconds":"x","traceEvents":[]}', "whole number")]:
        with open(bad, "w") as file:
            file.write(text)
        done = command(sys.executable, MERGE, "-o", out, good, bad, rc=1)
        assert message in done.stderr and done.stderr.count("\n") == 1, done
        assert os.listdir(tmp).count("o.json") == 0
    done = command(sys.executable, MERGE, "-o", out, good, tmp + "/none", rc=1)
    assert "none: No such file" in done.stderr
    done = command(sys.executable, MERGE, "-o", tmp + "/no/o.json", good, rc=1)
    assert "No such file" in done.stderr
    with gzip.open(bad + ".gz", "wb") as file:
        file.write(b"[]")
    with open(bad + ".gz", "r+b") as file:
        file.truncate(10)
    done = command(sys.executable, MERGE, "-o", out, bad + ".gz", rc=1)
    assert "b.json.gz" in done.stderr and "Traceback" not in done.stderr

class Loader:
    """The C interface, as far as it is needed here."""

    def __init__(self, folder, trace):
        self.so = ctypes.CDLL(os.environ["FEEDLINE_SO"])
        self.so.feedline_last_error.restype = ctypes.c_char_p
        config, pipeline, data, self.handle = (ctypes.c_void_p()
                                               for _ in range(4))
        self.call("config_create", ctypes.byref(config))
        for key, value in (("batch_size", "4"), ("dtype", "u8"),
                           ("trace", trace)):
            self.call("config_set", config, key.encode(), value.encode())
        self.call("pipeline_create", b"none", ctypes.byref(pipeline))
        self.call("pipeline_add", pipeline, b"resize", b"width=32 height=32")
        self.call("dataset_open", folder.encode(), ctypes.byref(data))
        self.call("loader_create", config, data, pipeline,
                  ctypes.byref(self.handle))

    def call(self, name, *arguments):
        status = getattr(self.so, "feedline_" + name)(*arguments)
        if status < 0:
            raise AssertionError(self.so.feedline_last_error().decode())
        return status

    def next(self):
        batch = ctypes.c_void_p()
        while self.call("loader_next", self.handle, ctypes.c_int64(-1),
                        ctypes.byref(batch)):
            pass
        return batch

    def release(self, batch):
        self.so.feedline_batch_release(batch)

    def destroy(self):
        self.so.feedline_loader_destroy(self.handle)

def torch_trace(tmp, loader, steps):
    """A loop under torch's profiler; its trace and, if that has no clock of
    its own, the unix time of its 0."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function
    path = os.path.join(tmp, "torch.json")
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for step in range(steps):
            batch = loader.next()
            with record_function(f"work {step}"):
                torch.ones(100).sum()
            loader.release(batch)
    profiler.export_chrome_trace(path)
    if torch.autograd.kineto_available():
        return path, None
    return path, profiler.profiler.kineto_results.trace_start_us() * 1000

def case_merge_torch(tmp):
    """What torch saw within step k lies within our step k, by order alone."""
    try:
        import torch.profiler  # noqa: F401
    except Exception as error:
        skip(f"no torch.profiler: {error}")
    steps, trace = 12, os.path.join(tmp, "feedline.json")
    out = os.path.join(tmp, "both.json")
    loader = Loader(images(tmp), trace)
    path, start = torch_trace(tmp, loader, steps)
    loader.destroy()
    options = [] if start is None else ["--start", f"{path}={start}"]
    command(sys.executable, MERGE, "-o", out, path, trace, *options)
    events = check_trace.load(out)["traceEvents"]
    ours = sorted((e for e in events if e["name"] == "step"),
                  key=lambda e: e["ts"])
    assert len(ours) == steps
    for step, mine in enumerate(ours):
        work = [e for e in events
                if e["name"] == f"work {step}" and e["ph"] == "X" and
                e.get("cat") not in ("gpu_user_annotation",)]
        assert len(work) == 1
        # Their times are whole microseconds.
        assert mine["ts"] - 2 <= work[0]["ts"], (mine, work)
        assert (work[0]["ts"] + work[0]["dur"] <=
                mine["ts"] + mine["dur"] + 2), (mine, work)
        assert mine["pid"] != work[0]["pid"]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        globals()["case_" + sys.argv[1]](folder)
