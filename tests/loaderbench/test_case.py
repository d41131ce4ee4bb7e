# SPDX-License-Identifier: Apache-2.0
"""loaderbench case: the story that needs no GPU, played in short.

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


def document(*arguments, env=None):
    return json_of("case", *arguments, env=env)


def close(value, expected):
    assert abs(value - expected) <= 1e-6 * abs(expected), (value, expected)


def is_v100(doc):
    """Keys that scripts rely on, and sums that have to agree."""
    equal(doc["schema_version"], 1)
    equal(doc["command"], "case")
    equal(doc["name"], "v100")
    for side in ("before", "after"):
        assert doc[side]["step_ms"] > 0, doc[side]
        assert 0 <= doc[side]["stall_fraction"] <= 1, doc[side]
    equal(doc["before"]["workers"], 0)
    assert doc["after"]["workers"] >= 1, doc["after"]
    assert doc["after"]["depth"] >= 1, doc["after"]
    batch = doc["after"]["converged_batch"]
    assert batch is None or batch >= 0, doc["after"]
    equal(doc["bound"]["step_ms"], 28.5)
    equal(doc["published"]["step_ms"], 52.8)
    close(doc["measured_gain"],
          doc["before"]["step_ms"] / doc["after"]["step_ms"])
    close(doc["goal"]["limit"], 29.4)
    equal(doc["goal"]["value"], doc["after"]["step_ms"])
    equal(doc["goal"]["reached"], doc["after"]["step_ms"] <= 29.4)
    equal(doc["points"][0]["workers"], 1)
    assert max(p["workers"] for p in doc["points"]) >= 2, doc["points"]
    for point in doc["points"]:
        assert point["images_per_second"] > 0, point


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


def case_report(tmp):
    brief = ("case", "v100", "--batch-size", 4, "--seconds", 0.1,
             "--patience", 1)
    done = expect(tool(*brief), 0)
    for part in ("before", "published", "after", "bound",
                 "by the workers that the tuner had set", "goal",
                 "The tuner:"):
        contains(done.out, part)
    fits(done.out)
    equal(expect(tool(*brief, "--quiet"), 0).out, "")


def case_mistakes(tmp):
    for part, arguments in (
            ("closest is 'v100'", ("v10",)),
            ("--batch-size", ("v100", "--batch-size", 9999)),
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


if __name__ == "__main__":
    main(globals())
