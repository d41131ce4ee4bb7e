#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/tuned from outside: what is measured, told and refused. How fast
anything was is not looked at.

    BUILD=folder SOURCE=folder test_against_grid.py CASE
"""

import json
import os
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.environ["BUILD"], os.environ["SOURCE"]
TURNS = os.path.join(BUILD, "bench/tuned/turns")
TOOL = os.path.join(BUILD, "tools/loaderbench/loaderbench")
GRID = os.path.join(SOURCE, "bench/tuned/against_grid.py")


def run(*words):
    return subprocess.run([str(w) for w in words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def images(tmp):
    folder = os.path.join(tmp, "images")
    done = run(TOOL, "gen", folder, "--images", 24, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder


def case_all_have_their_turns():
    with tempfile.TemporaryDirectory() as tmp:
        done = run(TURNS, images(tmp), 4, 1, 0.2, 0.02, 3, "1x2", "auto", "2x3")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [(r[0], r[1]) for r in rows] == [
        ("0", "1x2"), ("0", "auto"), ("0", "2x3"),
        ("1", "2x3"), ("1", "auto"), ("1", "1x2"),
        ("2", "1x2"), ("2", "auto"), ("2", "2x3")], rows
    for _, setting, rate, stall, workers, depth, converged in rows:
        assert float(rate) > 0 and 0 <= float(stall) <= 1, rows
        if setting != "auto":
            assert "%sx%s" % (workers, depth) == setting, rows
            assert converged == "-1" or converged == "0", rows


def case_mistakes_are_said():
    with tempfile.TemporaryDirectory() as tmp:
        none = os.path.join(tmp, "none")
        done = run(TURNS, none, 4, 0, 0, 0.01, 1, "1x2")
        assert done.returncode == 1 and none in done.stderr, done.stderr
        folder = images(tmp)
        for setting in ("1x", "x2", "some", "1y2", "0x2000000"):
            done = run(TURNS, folder, 4, 0, 0, 0.01, 1, setting)
            assert done.returncode == 1 and done.stderr, (setting, done.stderr)
            assert done.stdout == "", done.stdout
    done = run(TURNS, "folder", 4)
    assert done.returncode == 2 and "SETTING" in done.stderr, done.stderr
    done = run(sys.executable, "-B", GRID, "--build", "/none")
    assert done.returncode == 1, done
    assert "/none has no bench/tuned/turns" in done.stderr, done.stderr


def case_the_table_tells_what_was_found():
    with tempfile.TemporaryDirectory() as tmp:
        found = os.path.join(tmp, "found.json")
        done = run(sys.executable, "-B", GRID, images(tmp), "--build", BUILD,
                   "--loads", 0.5, 2, "--workers", 1, 2, "--depths", 2,
                   "--batch-size", 4, "--slice", 0.02, "--search", 0.2,
                   "--rounds", 1, "--duels", 3, "--json", found)
        assert done.returncode in (0, 1), done.stderr
        with open(found, encoding="utf-8") as f:
            document = json.load(f)
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and [r["load"] for r in document["loads"]] == [
        0.5, 2], done.stdout
    for line, load in zip(lines[2:], document["loads"]):
        assert len(load["grid"]) == 2 and len(load["tuned"]) == 3, load
        assert load["fast"] == (load["ratio"] >= 0.97), load
        assert load["frugal"] == (
            load["workers"] <= load["cheapest"]["workers"] + 1), load
        reached = load["fast"] and load["frugal"]
        assert line.endswith("| yes |" if reached else "| no |"), line
    all_reached = all(r["fast"] and r["frugal"] for r in document["loads"])
    assert done.returncode == (0 if all_reached else 1), done.stdout


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]]()
