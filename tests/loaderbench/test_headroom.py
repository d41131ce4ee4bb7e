# SPDX-License-Identifier: Apache-2.0
"""loaderbench headroom: what is predicted, what is tried, what is written."""
import json
import math
import os

from support import (contains, digits, equal, expect, fits, generate,
                     interrupted, json_of, main, needs_packed, tool)

# Long enough for a verdict, short enough for a test.
SHORT = ("--batches", 20, "--batch-size", 4, "--workers", 1)


def document(*arguments):
    return json_of("headroom", *arguments)


def numbers(section, keys):
    for key in keys:
        value = section[key]
        assert isinstance(value, (int, float)) and math.isfinite(value), key
        assert value > -1, (key, value)


def case_document(tmp):
    needs_packed()
    doc = document(generate(tmp), *SHORT, "--consumer-ms", 5)
    equal(doc["schema_version"], 1)
    equal(doc["command"], "headroom")
    equal(doc["consumer_ms"], 5)
    numbers(doc["predicted"], ("fed", "two_workers", "storage", "transfer",
                               "packing", "chains", "device"))
    numbers(doc["measured"], ("fed", "two_workers", "jpeg_index", "packing"))
    for key, share in doc["shares"].items():
        assert 0 <= share <= 1, (key, share)
    assert doc["shares"]["packing"] > 0
    assert doc["shares"]["device"] > 0 and doc["shares"]["chains"] > 0
    assert doc["host_samples_per_second"] > doc["now"]["images_per_second"]
    for side in ("now", "fed", "two_workers"):
        numbers(doc[side], ("images_per_second", "stall_fraction", "workers"))
        assert 0 <= doc[side]["stall_fraction"] <= 1
        assert doc[side]["images_per_second"] > 0
    equal(doc["now"]["workers"], 1)
    equal(doc["two_workers"]["workers"], 3)
    assert isinstance(doc["verdict"]["code"], str)


def case_sums_agree(tmp):
    """What is said of now and of the others is what the gains are made of."""
    doc = document(generate(tmp), *SHORT, "--consumer-ms", 2)
    now = doc["now"]
    stall = now["stall_fraction"]
    fed = min(99, 1 / (1 - stall) - 1)
    assert abs(doc["predicted"]["fed"] - fed) <= 1e-6 * (1 + fed), fed
    for key in ("two_workers", "storage", "transfer", "packing", "device"):
        assert -1e-9 <= doc["predicted"][key] <= fed + 1e-9, key
    for key in ("fed", "two_workers"):
        gain = doc[key]["images_per_second"] / now["images_per_second"] - 1
        assert abs(doc["measured"][key] - gain) <= 1e-6 * (1 + abs(gain)), key


def case_trial(tmp):
    """Samples in memory, as they are and packed: all of a small set."""
    needs_packed()
    folder = generate(tmp)
    doc = document(folder, *SHORT, "--epoch-samples", 8)
    trial = doc["trial"]
    files = [os.path.join(at, name) for at, _, names in os.walk(folder)
             for name in names]
    equal([trial["samples"], trial["packed_samples"]], [len(files)] * 2)
    equal(trial["bytes"], sum(map(os.path.getsize, files)))
    assert trial["packed_bytes"] > trial["bytes"]
    base = trial["as_is"]["images_per_second"]
    for key in ("jpeg_index", "packing"):
        gain = trial[key]["images_per_second"] / base - 1
        assert abs(doc["measured"][key] - gain) <= 1e-6 * (1 + abs(gain)), key
        equal(trial[key]["workers"], 1)


def case_nothing_to_pack(tmp):
    """Without JPEGs there is no trial, and all else is there."""
    doc = document(digits(tmp), *SHORT, "--pipeline", "none")
    equal(doc["trial"], None)
    equal([doc["measured"]["jpeg_index"], doc["measured"]["packing"]],
          [None] * 2)
    numbers(doc["measured"], ("fed", "two_workers"))


def case_report(tmp):
    needs_packed()
    done = expect(tool("headroom", generate(tmp), *SHORT, "--consumer-ms", 2),
                  0)
    for part in ("an infinitely fast loader", "two more workers",
                 "storage of twice the speed", "predicted", "measured",
                 "an index of the JPEGs", "packed images", "share",
                 "Huffman chains in parallel", "decoding on a GPU",
                 "24 samples in memory",
                 "1 worker;"):
        contains(done.out, part)
    fits(done.out)
    done = expect(tool("headroom", generate(tmp, name="b"), *SHORT), 0)
    contains(done.out, "--consumer-ms")
    done = expect(tool("headroom", generate(tmp, name="c"), *SHORT, "--quiet"),
                  0)
    equal(done.out, "")


def case_mistakes(tmp):
    folder = generate(tmp)
    expect(tool("headroom"), 2, "URI")
    expect(tool("headroom", os.path.join(tmp, "nothing")), 2, "nothing")
    expect(tool("headroom", folder, "--seconds", 0), 2, "--seconds")
    expect(tool("headroom", folder, "--json", os.path.join(tmp, "no", "x"),
                *SHORT), 4, "no/x")


def case_interrupted(tmp):
    folder = generate(tmp)
    arguments = ("headroom", folder, "--seconds", 1000, "--warmup", 0,
                 "--batch-size", 4, "--consumer-ms", 1)
    batch = '"batches":'
    doc = json.loads(interrupted(tmp, batch, *arguments, "--json", "-"))
    equal(doc["interrupted"], True)
    equal([doc["fed"], doc["two_workers"], doc["measured"]["fed"]], [None] * 3)
    contains(interrupted(tmp, batch, *arguments), "Interrupted")


if __name__ == "__main__":
    main(globals())
