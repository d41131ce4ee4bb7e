# SPDX-License-Identifier: Apache-2.0
"""loaderbench io: every setting is measured, and one of them is named."""
import os
import zipfile

from support import (TOOL, contains, equal, expect, fits, generate, json_of,
                     main, tool)

QUICK = ("--seconds", 0.002, "--rounds", 1)


def check(found, samples):
    equal(found["samples"], samples)
    cold = [p for p in found["points"] if p["state"] == "cold"]
    readers = {p["reader"] for p in found["points"]}
    assert readers in ({"uring", "pread"}, {"pread"}), readers
    equal(found["uring_missing"] is None, "uring" in readers)
    equal(len(cold), 16 * len(readers))
    equal(len(found["points"]) - len(cold), len(readers))
    for p in found["points"]:
        equal(p["failed"], 0)
        assert p["bytes_per_second"] > 0 and p["p99_us"] >= p["p50_us"], p
        assert p["cached"] == -1 or 0 <= p["cached"] <= 1, p
    chosen = found["chosen"]
    assert chosen["reader"] in readers
    assert chosen["io_depth"] in (1, 4, 16, 64)
    contains(chosen["reason"], "MB/s cold at random")


def case_folder(tmp):
    folder = generate(tmp)
    check(json_of("io", folder, *QUICK), 24)
    done = expect(tool("io", folder, *QUICK), 0)
    contains(done.out, "\nBest: reader=")
    fits(done.out)


def case_shards(tmp):
    packed = os.path.join(tmp, "a.zip")
    with zipfile.ZipFile(packed, "w") as out:
        for i in range(40):
            out.writestr("cat/%d.jpg" % i, os.urandom(3000 + 100 * i))
    check(json_of("io", packed, *QUICK), 40)


def case_errors(tmp):
    folder = generate(tmp)
    expect(tool("io", os.path.join(tmp, "none")), 2, "none")
    expect(tool("io", folder, "--rounds", 1000), 2, "--rounds")
    name = next(os.path.join(at, f) for at, _, files in os.walk(folder)
                for f in files)
    os.remove(name)
    os.mkdir(name)
    found = json_of("io", folder, *QUICK)
    equal(found["samples"], 23)


if __name__ == "__main__":
    assert TOOL
    main(globals())
