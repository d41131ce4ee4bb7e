# SPDX-License-Identifier: Apache-2.0
"""Commands about a GPU: without one, and on the double of the CUDA driver.

The double copies with a thread that sleeps as long as it is told, so its times
are lower bounds; tests look at structure, and at differences that are large.
With strict=1 it ends the program with status 86 if it saw a fault.
"""
import json
import os

from support import (contains, equal, expect, fits, generate, json_of, main,
                     on_double, read, tool)

DOUBLE = os.environ.get("LOADERBENCH_DOUBLE", "")


def document(*arguments, costs, rc=0):
    return json_of(*arguments, env=on_double(costs), rc=rc)


def without_gpu(tmp, env):
    folder = generate(tmp)
    for arguments in (("run", folder, "--device", "cuda:0"), ("h2d",),
                      ("h2d", folder), ("case", "bandwidth"),
                      ("case", "latency")):
        done = expect(tool(*arguments, env=env), 4)
        equal(done.out, "")
        equal(len(done.err.splitlines()), 1, done.err)
        yield done.err


def case_no_library(tmp):
    path = os.path.join(tmp, "libcuda.so.1")
    env = {"FEEDLINE_LIBCUDA": path}
    for message in without_gpu(tmp, env):
        if DOUBLE:
            contains(message, path)


def case_old_driver(tmp):
    for message in without_gpu(tmp, on_double("driver_version=10020")):
        contains(message, "driver is for CUDA 10.2")


def case_no_device(tmp):
    for message in without_gpu(tmp, on_double("no_device=1")):
        contains(message, "GPU")


def case_mistakes(tmp):
    env = on_double("devices=1")
    folder = generate(tmp)
    for part, arguments in (
            ("'latenzy'; the closest is 'latency'", ("case", "latenzy")),
            ("NAME is missing", ("case",)),
            ("--batch-size", ("case", "latency", "--batch-size", 1)),
            ("--batch-size", ("case", "bandwidth", "--batch-size", 99999)),
            ("a size of 256 bytes", ("h2d", "--min", "4x")),
            ("a size of 256 bytes", ("h2d", "--min", "4kk")),
            ("a size of 256 bytes", ("h2d", "--min", "99999999999g")),
            ("--max has to be above", ("h2d", "--min", "1m", "--max", "1m")),
            ("cuda:x", ("h2d", "--device", "cuda:x")),
            ("cuda:x", ("run", folder, "--device", "cuda:x")),
            ("--sink hash", ("run", folder, "--device", "cuda:0", "--sink",
                             "hash")),
            ("--consumer-ms", ("run", folder, "--device", "cuda:0",
                               "--consumer-ms", 10001)),
            ("resise", ("h2d", folder, "--op", "resise"))):
        expect(tool(*arguments, env=env), 2, part)


def case_run(tmp):
    doc = document("run", generate(tmp), "--device", "cuda:0", "--batch-size",
                   6, "--batches", 12, "--warmup", 2, "--consumer-ms", 5,
                   costs="latency_us=20")
    equal(doc["config"]["device"], "cuda:0")
    equal(doc["result"]["batches"], 12)
    # The kernels are queued, and waited for within the time that is measured.
    assert doc["result"]["seconds"] >= 12 * 0.005, doc["result"]
    # Of the last ones the backend may tell too late.
    assert 0 < doc["transfer"]["steps"] <= 12, doc["transfer"]
    assert 0 <= doc["stall"]["device_fraction"] <= 1, doc["stall"]


def case_run_waits_only(tmp):
    done = expect(tool("run", generate(tmp), "--device", "cuda:0", "--batches",
                       3, "--repeat", 2, env=on_double("devices=1")), 0)
    contains(done.out, "images/s")


def case_run_on_missing_device(tmp):
    done = tool("run", generate(tmp), "--device", "cuda:7",
                env=on_double("devices=2"))
    assert done.rc in (2, 4), done.err
    equal(len(done.err.splitlines()), 1, done.err)


# However busy the machine is, times have to grow with the sizes of copies: a
# microsecond moves 10 bytes, so 64 KiB take 6.6 ms, and of the fifty times at
# each size half may be late by any amount.
ONCE = ("--repeats", 1)
SMALL = ("h2d", "--min", "4k", "--max", "64k", *ONCE)
SLOW = "gbps=0.01"


def case_h2d(tmp):
    doc = document(*SMALL, "--batch-bytes", "128k",
                   costs="latency_us=100," + SLOW)
    equal(doc["command"], "h2d")
    fit = doc["fit"]
    assert fit["latency_us"] >= 0 and fit["half_bytes"] >= 0, fit
    assert 0 < fit["gigabytes_per_second"] < 0.2, fit
    seen = {(p["bytes"], p["copies"], p["pinned"], p["busy"]): p
            for p in doc["points"]}
    for size in (4096, 16384, 65536):
        for pinned in (True, False):
            for busy in (True, False):
                for copies in (1, 16, 256):
                    if size // copies < 64:
                        continue
                    point = seen.pop((size, copies, pinned, busy))
                    assert point["host_us"] >= point["min_us"] > 0, point
    # The batch is what is left.
    equal(sorted(k[0] for k in seen), [1 << 17, 1 << 17])
    equal(doc["batches"][0]["bytes"], 1 << 17)
    equal(doc["regime"], "bandwidth")


def case_without_kernels(tmp):
    """A driver that compiles no PTX still copies."""
    none = "fail=cuModuleLoadData:1:221+,"
    path = os.path.join(tmp, "h2d.json")
    done = expect(tool(*SMALL, "--batch-bytes", "128k", "--json", path,
                       env=on_double(none + SLOW)), 0)
    doc = json.loads(read(path))
    contains(doc["no_kernels"], "libnvidia-ptxjitcompiler.so.1")
    equal({p["busy"] for p in doc["points"]}, {False})
    contains(done.out, "GPU idle")
    contains(done.out, "libnvidia-ptxjitcompiler.so.1")
    assert "us, while a kernel" not in done.out, done.out
    fits(done.out)
    folder = generate(tmp)
    done = expect(tool("run", folder, "--device", "cuda:0", "--batches", 3,
                       "--consumer-ms", 2, env=on_double(none + "devices=1")),
                  0)
    contains(done.err, "steps sleep on the host")
    done = expect(tool("run", folder, "--device", "cuda:0", "--batches", 3,
                       env=on_double(none + "devices=1")), 0)
    equal(done.err, "")


def case_h2d_usual_batches(tmp):
    doc = document("h2d", "--min", "64k", "--max", "1m", *ONCE,
                   costs="gbps=0.2,hash=0")
    equal([b["name"] for b in doc["batches"]],
          ["64x3x224x224 u8", "64x3x224x224 f32"])
    equal(doc["regime"], "bandwidth")
    contains(doc["advice"], "--finish device")
    contains(doc["advice"], "bandwidth bound")


def case_h2d_latency_bound(tmp):
    doc = document("h2d", "--min", "16k", "--max", "256k", *ONCE,
                   "--batch-bytes", 1024, costs="latency_us=500,gbps=0.05")
    equal(doc["regime"], "latency")
    equal(doc["batches"][0]["bytes"], 1024)
    contains(doc["advice"], "one slab")


def case_h2d_of_a_loader(tmp):
    doc = document(*SMALL, generate(tmp), "--op", "resize size=40",
                   "--op", "center_crop width=32 height=32", "--batch-size", 6,
                   "--dtype", "f16", costs=SLOW)
    equal([b["name"] for b in doc["batches"]],
          ["6x3x32x32 u8", "6x3x32x32 f16"])
    small, large = (b["bytes"] for b in doc["batches"])
    equal(large - small, 6 * 3 * 32 * 32)
    doc = document(*SMALL, generate(tmp, name="other"), "--dtype", "u8",
                   "--layout", "nhwc", "--op", "resize size=40", "--op",
                   "center_crop width=32 height=32", costs=SLOW)
    equal([b["name"] for b in doc["batches"]], ["64x32x32x3 u8"])


def case_h2d_table(tmp):
    done = expect(tool(*SMALL, "--batch-bytes", "32k",
                       env=on_double("latency_us=100," + SLOW)), 0)
    for part in ("pinned", "pageable", "GPU idle", "keeps the GPU busy",
                 "64 KiB", "A copy takes", "regime"):
        contains(done.out, part)
    fits(done.out)


def is_ratio(doc):
    """The gain is what the two measurements say: so many times as fast."""
    ratio = doc["before"]["step_ms"] / doc["after"]["step_ms"]
    assert abs(doc["measured_gain"] - ratio) < 1e-3 * ratio, doc


def case_latency(tmp):
    doc = document("case", "latency", "--batch-size", 32,
                   costs="latency_us=100,gbps=2")
    equal(doc["name"], "latency")
    equal(doc["regime"], "latency")
    assert doc["predicted_gain"] > 0 and doc["bound"]["step_ms"] > 0, doc
    is_ratio(doc)
    equal([p["copies"] for p in doc["points"]], [1, 4, 16, 32])
    for side in ("before", "after"):
        assert 0 <= doc[side]["stall_fraction"] <= 1, doc[side]
        equal(doc[side]["workers"], 0)


def case_bandwidth(tmp):
    doc = document("case", "bandwidth", "--batch-size", 2, "--seconds", 0.3,
                   costs="latency_us=20,gbps=0.05")
    equal(doc["name"], "bandwidth")
    equal(doc["regime"], "bandwidth")
    # Four bytes a value against one, and the labels.
    equal(doc["before"]["bytes"] // doc["after"]["bytes"], 3)
    assert doc["predicted_gain"] > 0, doc
    is_ratio(doc)
    for side in ("before", "after"):
        assert doc[side]["workers"] >= 1, doc[side]
    equal([p["finish"] for p in doc["points"]], 3 * ["host", "device"])


def case_report_of_a_case(tmp):
    done = expect(tool("case", "latency", "--batch-size", 8,
                       env=on_double("latency_us=100,gbps=2")), 0)
    for part in ("before", "after", "bound", "Gain: predicted", "measured"):
        contains(done.out, part)
    fits(done.out)


if __name__ == "__main__":
    main(globals())
