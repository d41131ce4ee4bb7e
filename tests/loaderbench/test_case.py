# SPDX-License-Identifier: Apache-2.0
"""loaderbench case: stories that need no GPU, played in short.

How fast anything is here says nothing, nor which of two is faster: a machine
that stops for a second makes either slow. But no step can be shorter than what
it sleeps.
"""
import json
import os

from support import (contains, equal, expect, fits, interrupted, json_of, main,
                     on_double, tool)

# The tuner needs a second or two where the machine is its own.
SHORT = ("--seconds", 0.3, "--patience", 40)
SMALL = ("--samples", 256, "--batch-size", 16)
CREW = ("--loaders", 2, "--batch-size", 4, "--seconds", 0.3, "--patience", 2)


def document(*arguments, env=None):
    return json_of("case", *arguments, env=env)


def close(value, expected):
    assert abs(value - expected) <= 1e-6 * abs(expected), (value, expected)


def is_story(doc, name):
    """Keys that scripts rely on, and sums that have to agree."""
    equal(doc["schema_version"], 1)
    equal(doc["command"], "case")
    equal(doc["name"], name)
    for side in ("before", "after"):
        assert doc[side]["step_ms"] > 0, doc[side]
        assert 0 <= doc[side]["stall_fraction"] <= 1, doc[side]
        assert isinstance(doc[side]["workers"], int), doc[side]
    assert doc["after"]["depth"] >= 1, doc["after"]
    batch = doc["after"]["converged_batch"]
    assert batch is None or batch >= 0, doc["after"]
    assert doc["bound"]["step_ms"] > 0, doc["bound"]
    assert doc["points"], doc
    for point in doc["points"]:
        assert point["workers"] >= 0, point
        assert point["images_per_second"] > 0, point
    close(doc["measured_gain"],
          doc["before"]["step_ms"] / doc["after"]["step_ms"])
    goal = doc["goal"]
    assert goal["reached"] in (goal["value"] <= goal["limit"],
                               goal["value"] >= goal["limit"]), goal


def is_v100(doc):
    is_story(doc, "v100")
    equal(doc["bound"]["step_ms"], 28.5)
    equal(doc["published"]["step_ms"], 52.8)
    close(doc["goal"]["limit"], 29.4)
    equal(doc["goal"]["value"], doc["after"]["step_ms"])
    equal(doc["goal"]["reached"], doc["after"]["step_ms"] <= 29.4)
    equal(doc["before"]["workers"], 0)
    equal(doc["points"][0]["workers"], 1)
    assert max(p["workers"] for p in doc["points"]) >= 2, doc["points"]


def case_v100(tmp):
    doc = document("v100", "--batch-size", 16, *SHORT)
    is_v100(doc)
    equal(doc["device"], None)
    # Loading, copy and computation in series, less what sleeps may be short of.
    assert doc["before"]["step_ms"] > 110, doc["before"]
    assert doc["after"]["step_ms"] > 28, doc["after"]
    assert doc["before"]["stall_fraction"] > 0.7, doc["before"]
    # The way that the tuner went, without a gap.
    at = 0
    for point in doc["points"]:
        equal(point["batch"], at)
        at += point["batches"]
    equal(at, doc["search"]["batches"])
    equal(doc["tuner"]["mode"], "auto")


def case_v100_on_a_gpu(tmp):
    doc = document("v100", "--device", "cuda:0", "--batch-size", 4, *SHORT,
                   env=on_double("latency_us=20,gbps=3"))
    is_v100(doc)
    # How long its kernels take depends on the cores that the double gets.
    assert doc["device"]["name"], doc["device"]


def case_slow_transform(tmp):
    doc = document("slow-transform", *SMALL, *SHORT)
    is_story(doc, "slow-transform")
    points = doc["points"]
    equal([p["workers"] for p in points[:-1]], [0, 1, 2, 4, 8, 16, 32, 64])
    equal([p["tuned"] for p in points], 8 * [False] + [True])
    equal(points[-1]["workers"], doc["after"]["workers"])
    for p in points:
        close(p["epoch_seconds"], 256 / p["images_per_second"])
        close(p["batches_per_second"], p["images_per_second"] / 16)
    # A worker that sleeps 1 ms cannot do more.
    for p in points[:4]:
        assert p["images_per_second"] < 1010 * max(1, p["workers"]), p
    close(doc["bound"]["step_ms"], 16e3 / doc["best"]["images_per_second"])


def case_oversubscribed(tmp):
    doc = document("oversubscribed", *CREW)
    is_story(doc, "oversubscribed")
    equal(doc["loaders"], 2)
    default, tuned = doc["points"][0], doc["points"][-1]
    equal([p["tuned"] for p in doc["points"]],
          (len(doc["points"]) - 1) * [False] + [True])
    equal(doc["before"]["workers"], default["workers"])
    equal(doc["after"]["workers"], tuned["workers"])
    for p in doc["points"]:
        equal(len(p["split"]), 2)
        equal(sum(p["split"]), p["workers"])
        assert 0.5 - 1e-9 <= p["fairness"] <= 1 + 1e-9, p
        assert p["cores"] > 0, p
    equal(default["split"][0], default["split"][1])
    equal(len(doc["search"]["loaders"]), 2)
    assert doc["disturbed"] in (True, False), doc
    for who in ("best", "tuned"):
        assert doc["images_per_cpu_second"][who] > 0, doc
    close(doc["bound"]["step_ms"],
          2 * 4e3 / doc["best"]["images_per_second"])


def case_report(tmp):
    done = expect(tool("case", "slow-transform", "--samples", 64,
                       "--batch-size", 4, "--seconds", 0.1, "--patience", 1),
                  0)
    for part in ("before", "after", "bound", "batches/s by workers", "goal",
                 "The tuner:"):
        contains(done.out, part)
    fits(done.out)
    done = expect(tool("case", "slow-transform", "--samples", 64,
                       "--batch-size", 4, "--seconds", 0.1, "--patience", 1,
                       "--quiet"), 0)
    equal(done.out, "")


def case_mistakes(tmp):
    for part, arguments in (
            ("closest is 'v100'", ("v10",)),
            ("--batch-size", ("v100", "--batch-size", 9999)),
            ("--samples", ("slow-transform", "--samples", 99)),
            ("--samples", ("slow-transform", "--samples", 99999999)),
            ("--loaders", ("oversubscribed", "--loaders", 99)),
            ("takes no GPU", ("slow-transform", "--device", "cuda:0")),
            ("--patience", ("v100", "--patience", 0)),
            ("cuda:x", ("v100", "--device", "cuda:x"))):
        expect(tool("case", *arguments), 2, part)


def case_no_gpu(tmp):
    env = {"FEEDLINE_LIBCUDA": os.path.join(tmp, "libcuda.so.1")}
    done = expect(tool("case", "v100", "--device", "cuda:0", env=env), 4)
    equal(done.out, "")


TUNED = '"mode":"auto"'


def case_v100_interrupted(tmp):
    """Before is complete, and the way of the tuner so far is there."""
    arguments = ("case", "v100", "--seconds", 2, "--batch-size", 8)
    doc = json.loads(interrupted(tmp, TUNED, *arguments, "--json", "-"))
    equal(doc["interrupted"], True)
    assert doc["before"]["step_ms"] > 0, doc["before"]
    equal([doc["after"], doc["goal"], doc["measured_gain"]], [None] * 3)
    out = interrupted(tmp, TUNED, *arguments)
    contains(out, "Interrupted; results so far")
    contains(out, "in series, no workers")


def case_slow_transform_interrupted(tmp):
    arguments = ("case", "slow-transform", *SMALL, "--seconds", 1)
    doc = json.loads(interrupted(tmp, TUNED, *arguments, "--json", "-"))
    equal(doc["interrupted"], True)
    equal(len(doc["points"]), 8)
    equal([doc["after"], doc["goal"]], [None] * 2)


def case_oversubscribed_interrupted(tmp):
    out = interrupted(tmp, TUNED, "case", "oversubscribed", "--loaders", 2,
                      "--batch-size", 4, "--seconds", 100, "--json", "-")
    doc = json.loads(out)
    equal(doc["interrupted"], True)
    equal([doc["after"], doc["goal"]], [None] * 2)


if __name__ == "__main__":
    main(globals())
