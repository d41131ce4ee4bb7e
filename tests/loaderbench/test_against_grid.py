# SPDX-License-Identifier: Apache-2.0
"""bench/against_grid.py and bench/turns.c: what is measured, told and refused.
How fast anything was is not looked at. FEEDLINE_BUILD names the build."""
import json
import os
import subprocess
import sys

from support import contains, equal, generate, main

BUILD = os.environ["FEEDLINE_BUILD"]
TURNS = os.path.join(BUILD, "bench/turns")
GRID = os.path.join(os.path.dirname(__file__), "../../bench/against_grid.py")


def run(*words):
    return subprocess.run([str(w) for w in words], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def case_all_have_their_turns(tmp):
    done = run(TURNS, generate(tmp), 4, 1, 0.2, 0.02, 3, "1x2", "auto", "2x3")
    equal(done.returncode, 0, done.stderr)
    rows = [line.split() for line in done.stdout.splitlines()]
    equal([(r[0], r[1]) for r in rows], [
        ("0", "1x2"), ("0", "auto"), ("0", "2x3"),
        ("1", "2x3"), ("1", "auto"), ("1", "1x2"),
        ("2", "1x2"), ("2", "auto"), ("2", "2x3")])
    for _, setting, rate, stall, workers, depth, converged in rows:
        assert float(rate) > 0 and 0 <= float(stall) <= 1, rows
        if setting != "auto":
            equal("%sx%s" % (workers, depth), setting)
            assert converged in ("-1", "0"), rows


def case_mistakes_are_said(tmp):
    none = os.path.join(tmp, "none")
    done = run(TURNS, none, 4, 0, 0, 0.01, 1, "1x2")
    equal(done.returncode, 1)
    contains(done.stderr, none)
    folder = generate(tmp)
    for setting in ("1x", "x2", "some", "1y2", "0x2000000"):
        done = run(TURNS, folder, 4, 0, 0, 0.01, 1, setting)
        assert done.returncode == 1 and done.stderr, (setting, done.stderr)
        equal(done.stdout, "")
    done = run(TURNS, "folder", 4)
    equal(done.returncode, 2)
    contains(done.stderr, "SETTING")
    done = run(sys.executable, "-B", GRID, "--build", "/none")
    equal(done.returncode, 1)
    contains(done.stderr, "/none has no bench/turns")


def case_the_table_tells_what_was_found(tmp):
    found = os.path.join(tmp, "found.json")
    done = run(sys.executable, "-B", GRID, generate(tmp), "--build", BUILD,
               "--loads", 0.5, 2, "--workers", 1, 2, "--depths", 2,
               "--batch-size", 4, "--slice", 0.02, "--search", 0.2,
               "--rounds", 1, "--duels", 3, "--json", found)
    assert done.returncode in (0, 1), done.stderr
    with open(found, encoding="utf-8") as f:
        loads = json.load(f)["loads"]
    lines = done.stdout.splitlines()
    equal(len(lines), 4)
    equal([load["load"] for load in loads], [0.5, 2])
    for line, load in zip(lines[2:], loads):
        equal((len(load["grid"]), len(load["tuned"])), (2, 3))
        equal(load["fast"], load["ratio"] >= 0.97)
        equal(load["frugal"],
              load["workers"] <= load["cheapest"]["workers"] + 1)
        reached = load["fast"] and load["frugal"]
        assert line.endswith("| yes |" if reached else "| no |"), line
    all_reached = all(load["fast"] and load["frugal"] for load in loads)
    equal(done.returncode, 0 if all_reached else 1, done.stdout)


if __name__ == "__main__":
    main(globals())
