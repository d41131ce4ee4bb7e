# SPDX-License-Identifier: Apache-2.0
"""loaderbench run: what is counted, what is written, how it ends."""
import json
import os
import pty
import signal
import statistics
import subprocess

from support import (IMAGES, TOOL, contains, damage, equal, expect, fits,
                     files_below, generate, main, measured, read, tool)

NUMBER = (int, float)
KEYS = {
    "machine": {"cpus_online": int, "cpus_allowed": int,
                "cpu_quota": NUMBER + (type(None),),
                "memory_limit_bytes": int, "kernel": str, "cpu_model": str},
    "config": {"batch_size": int, "workers": int, "depth": int,
               "io_depth": int, "reader": str, "seed": int, "shuffle": bool,
               "drop_last": bool, "dtype": str, "layout": str, "on_error": str},
    "result": {"images": int, "batches": int, "seconds": float,
               "images_per_second": float, "cpu_seconds": float,
               "images_per_cpu_second": float, "first_batch_seconds": float,
               "max_rss_bytes": int, "failed_samples": int},
    "stall": {"host_fraction": float, "device_fraction": type(None),
              "buckets": dict, "residual_fraction": float},
    "tuner": {"mode": str, "workers": int, "depth": int, "io_depth": int,
              "converged_batch": (int, type(None)), "decisions": list},
    "verdict": {"code": str, "level": str, "confidence": float,
                "sentence": str, "action": str, "predicted_gain": float},
}
STAGE = {"name": str, "items": int, "bytes": int, "busy_seconds": float,
         "starved_seconds": float, "blocked_seconds": float, "p50_us": float,
         "p90_us": float, "p99_us": float, "max_us": float}
BUCKETS = ["not_issued", "slot", "fetch_queue", "fetch", "worker_wait", "prep",
           "transfer_queue", "transfer", "wake", "residual"]


def typed(section, keys, name):
    """JSON has one kind of number: 0 is a float, too."""
    for key, kind in keys.items():
        kind = (int, float) if kind is float else kind
        if key not in section or not isinstance(section[key], kind):
            raise AssertionError("%s.%s: %r" % (name, key, section.get(key)))


def case_document(tmp):
    doc = measured(generate(tmp), "--epochs", 3, "--batch-size", 5)
    equal(doc["schema_version"], 1)
    equal(doc["command"], "run")
    typed(doc, {"version": str, "stages": list, "failures": list}, "document")
    for name, keys in KEYS.items():
        typed(doc[name], keys, name)
    equal(sorted(doc["stall"]["buckets"]), sorted(BUCKETS))
    equal([s["name"] for s in doc["stages"]],
          ["read", "decode", "augment", "transfer", "consume"])
    for stage in doc["stages"]:
        typed(stage, STAGE, stage["name"])
    equal(doc["result"]["stream_hash"], None)
    equal(doc["transfer"], None)
    equal(doc["interrupted"], False)
    assert "runs" not in doc


def case_text_fits(tmp):
    folder = generate(tmp)
    for arguments in ((), ("--model", "vit_b16@rtx3090"), ("--tuner", "off")):
        fits(expect(tool("run", folder, "--seconds", 0.4, "--batch-size", 4,
                         *arguments), 0).out)


def case_sums(tmp):
    doc = measured(generate(tmp), "--epochs", 3, "--batch-size", 5)
    result, stall = doc["result"], doc["stall"]
    off = result["images"] / result["seconds"] - result["images_per_second"]
    assert abs(off) < 1e-3 * result["images_per_second"], result
    off = sum(stall["buckets"].values()) - stall["wait_seconds"]
    assert abs(off) < 1e-6, stall
    assert 0 <= stall["host_fraction"] <= 1, stall
    assert result["first_batch_seconds"] > 0, result
    assert result["max_rss_bytes"] > 1 << 20, result


def case_limits(tmp):
    folder = generate(tmp)

    def counts(*arguments):
        doc = measured(folder, "--batch-size", 5, *arguments)
        return (doc["result"]["batches"], doc["result"]["images"],
                doc["run"]["warmup_batches"])

    # 24 images are 5 batches, the last of them short.
    equal(counts("--epochs", 2, "--warmup", 0), (10, 48, 0))
    equal(counts("--epochs", 2), (7, 33, 3))
    equal(counts("--epochs", 2, "--warmup", 9), (1, 4, 9))
    equal(counts("--epochs", 2, "--warmup", 10), (10, 48, 0))
    equal(counts("--epochs", 2, "--warmup", 0, "--drop-last"), (8, 40, 0))
    equal(counts("--batches", 4), (4, 19, 3))
    equal(counts("--batches", 400, "--epochs", 1, "--warmup", 0), (5, 24, 0))
    assert counts("--seconds", 0.001)[0] >= 1


def case_nothing_to_deliver(tmp):
    expect(tool("run", generate(tmp), "--batch-size", 100, "--drop-last"), 2,
           "do not fill a batch of 100")


def case_repeat_gives_medians(tmp):
    doc = measured(generate(tmp), "--epochs", 2, "--batch-size", 5,
                   "--repeat", 3)
    equal(len(doc["runs"]), 3)
    for section, key in (("result", "images_per_second"),
                         ("result", "cpu_seconds"),
                         ("result", "first_batch_seconds"),
                         ("stall", "host_fraction")):
        equal(doc[section][key],
              statistics.median(run[section][key] for run in doc["runs"]),
              key)
    equal(doc["stages"][1]["busy_seconds"],
          statistics.median(run["stages"][1]["busy_seconds"]
                            for run in doc["runs"]))
    equal(doc["result"]["images"], 33)
    assert isinstance(doc["result"]["images"], int)


def case_slow_consumer(tmp):
    doc = measured(generate(tmp), "--batch-size", 4, "--batches", 5,
                   "--consumer-ms", 20)
    assert doc["result"]["seconds"] >= 5 * 0.020, doc["result"]
    equal(doc["run"]["consumer_ms"], 20.0)


def case_operations(tmp):
    doc = measured(generate(tmp), "--epochs", 1, "--op", "resize size=48",
                   "--op=center_crop width=32 height=32", "--dtype", "u8",
                   "--layout", "nhwc", "--batch-size", 6)
    equal(doc["run"]["batch_shape"], [6, 32, 32, 3])
    equal(doc["config"]["shuffle"], False)
    contains(json.dumps(doc["config"]["pipeline"]), "center_crop")


def case_report(tmp):
    folder = generate(tmp)
    done = expect(tool("run", folder, "--epochs", 3, "--batch-size", 5), 0)
    for part in (folder, "24 images", "4 classes", "images/s",
                 "The consumer waited", "decode", "machine: "):
        contains(done.out, part)
    assert "\033" not in done.out
    equal(done.err, "")
    equal(expect(tool("run", folder, "--epochs", 1, "--quiet"), 0).out, "")


def case_json_file(tmp):
    path = os.path.join(tmp, "out.json")
    done = expect(tool("run", generate(tmp), "--epochs", 1, "--json", path), 0)
    contains(done.out, "images/s")
    equal(json.loads(read(path))["command"], "run")


def case_damaged_raise(tmp):
    folder = generate(tmp)
    bad = damage(folder, 1)
    done = expect(tool("run", folder, "--epochs", 1), 3, bad[0])
    equal(done.out, "")


def case_damaged_skip(tmp):
    folder = generate(tmp)
    bad = damage(folder, 2)
    doc = measured(folder, "--epochs", 1, "--on-error", "skip")
    equal(doc["result"]["failed_samples"], 2)
    equal(doc["result"]["images"], IMAGES)
    equal(sorted(f["path"] for f in doc["failures"]), bad)
    for failure in doc["failures"]:
        equal(failure["status"], "EDECODE")
        assert failure["reason"], failure
    done = expect(tool("run", folder, "--epochs", 1, "--on-error=skip"), 0)
    contains(done.out, "2 samples of 2 files could not be used")
    contains(done.out, bad[0])


def case_damaged_zero(tmp):
    folder = generate(tmp)
    bad = damage(folder, 3)
    doc = measured(folder, "--epochs", 2, "--on-error", "zero", "--warmup", 1,
                   "--batch-size", 5)
    # In both epochs, in the warm-up or not.
    equal(doc["result"]["failed_samples"], 6)
    equal(sorted({f["path"] for f in doc["failures"]}), bad)


def case_too_many_damaged(tmp):
    folder = generate(tmp)
    damage(folder, 3)
    arguments = ("run", folder, "--epochs", 1, "--on-error", "zero")
    expect(tool(*arguments, "--max-failed-fraction", 0.125), 0)
    done = expect(tool(*arguments, "--max-failed-fraction", 0.12), 3, "3 of 24")
    contains(done.out, "images/s")
    damage(folder, len(files_below(folder)))
    expect(tool(*arguments), 3, "24 of 24")


class OnTerminal:
    """loaderbench with its standard error on a terminal."""

    def __init__(self, *arguments, stdout=subprocess.PIPE, env=None):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [TOOL] + [str(a) for a in arguments], stderr=theirs,
            stdout=theirs if stdout is None else stdout,
            env=dict(os.environ, TERM="xterm", **(env or {})))
        os.close(theirs)

    def read_until(self, part):
        seen = b""
        while part not in seen:
            seen += os.read(self.ours, 4096)
        return seen

    def read_all(self):
        seen = b""
        try:
            while True:
                more = os.read(self.ours, 4096)
                if not more:
                    break
                seen += more
        except OSError:  # the other end is closed
            pass
        self.process.wait()
        return seen


def interrupted(tmp, sent, *arguments):
    running = OnTerminal("run", generate(tmp), "--seconds", 600, "--batch-size",
                         4, "--warmup", 0, "--json", "-", *arguments)
    running.read_until(b"images/s")
    running.process.send_signal(sent)
    doc = json.loads(running.process.stdout.read())
    running.read_all()
    equal(running.process.returncode, 130)
    equal(doc["interrupted"], True)
    assert doc["result"]["images"] >= 4, doc["result"]
    return doc


def case_interrupted(tmp):
    interrupted(tmp, signal.SIGINT)


def case_terminated(tmp):
    interrupted(tmp, signal.SIGTERM)


def case_interrupted_consumer(tmp):
    doc = interrupted(tmp, signal.SIGINT, "--consumer-ms", 50)
    assert doc["result"]["seconds"] < 600, doc["result"]


def case_interrupted_repetition(tmp):
    doc = interrupted(tmp, signal.SIGINT, "--repeat", 5)
    equal(len(doc["runs"]), 1)


def case_colour_only_for_terminals(tmp):
    folder = generate(tmp)
    arguments = ("run", folder, "--epochs", 1)
    contains(OnTerminal(*arguments, stdout=None).read_all(), b"\033[1m")
    plain = OnTerminal(*arguments, stdout=None, env={"NO_COLOR": "1"})
    assert b"\033[1m" not in plain.read_all()


def case_tuner(tmp):
    folder = generate(tmp)

    def tuner(*arguments):
        return measured(folder, "--epochs", 2, "--batch-size", 5,
                        *arguments)["tuner"]

    off = tuner("--tuner", "off", "--workers", 2, "--depth", 3)
    equal((off["mode"], off["workers"], off["depth"]), ("off", 2, 3))
    equal(off["decisions"], [])
    equal(off["converged_batch"], None)
    auto = tuner("--workers-start", 1, "--workers-max", 2)
    equal(auto["mode"], "auto")
    assert 1 <= auto["workers"] <= 2, auto
    observed = tuner("--tuner", "observe", "--workers-start", 1)
    equal((observed["mode"], observed["workers"]), ("observe", 1))
    text = expect(tool("run", folder, "--epochs", 2), 0).out
    contains(text, "\nTuner: ")
    text = expect(tool("run", folder, "--epochs", 2, "--tuner=off"), 0).out
    assert "Tuner" not in text, text


def case_table(tmp):
    folder = generate(tmp)
    words = ("--epochs", 2, "--batch-size", 5)
    text = expect(tool("run", folder, *words, "--table", "name"), 0).out
    rows = [line.split()[0] for line in text.split("\nName ")[1].splitlines()
            if line.strip()]
    equal(rows[2:7], ["augment", "consume", "decode", "read", "transfer"])
    text = expect(tool("run", folder, *words, "--table", "path"), 0).out
    contains(text, "Blocked %")
    expect(tool("run", folder, *words, "--table", "speed"), 2, "table")


if __name__ == "__main__":
    main(globals())
