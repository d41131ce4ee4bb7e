#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program tuner_sim from outside: what it says, writes and ends with.

    TUNER_SIM=program test_tuner_sim.py CASE
"""

import json
import os
import re
import subprocess
import sys

PROGRAM = os.environ["TUNER_SIM"]
SMALL = ["--family", "cpu-feasible", "--family", "quota-down", "--seeds", "2",
         "--batches", "1200", "--quiet"]


def run(*args, status=0):
    done = subprocess.run([PROGRAM] + list(args), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != status:
        sys.exit("%r ended with %d, not %d:\n%s%s" % (
            args, done.returncode, status, done.stdout, done.stderr))
    return done


def case_mistakes_are_said():
    for args, words in (
            (["--scenarois", "3"], "the closest is 'scenarios'"),
            (["--scenarois=3"], "the closest is 'scenarios'"),
            (["--family", "cpu-feasable"], "the closest is 'cpu-feasible'"),
            (["--controller", "feedlin"], "the closest is 'feedline'"),
            (["--seeds"], "needs a value"),
            (["--seeds", "x"], "not a whole number"),
            (["--seeds", "-1"], "not a whole number"),
            (["--jobs", "0"], "not a whole number of 1 or more"),
            (["--batches", "99"], "not a whole number of 100 or more"),
            (["--seeds", "0"], "nothing is to be played"),
            (["--trace", "cpu-feasible"], "not FAMILY/SEED"),
            (["--trace", "nothing/3"], "not FAMILY/SEED"),
            (["more"], "one argument too many")):
        said = run(*args, status=2).stderr
        assert words in said, (args, said)


def case_gates_need_the_tuner():
    said = run(*SMALL, "--controller", "static-2", "--gates", status=2)
    assert "is not played" in said.stderr, said.stderr


def case_no_file_is_no_success():
    said = run(*SMALL, "--controller", "static-2", "--json", "/none/x",
               status=4)
    assert "/none/x: No such file" in said.stderr, said.stderr


def case_help_and_list():
    text = run("--help").stdout
    assert all(len(line) <= 80 for line in text.splitlines()), text
    listed = run("--list").stdout
    for name in ("cpu-saturated", "feedline", "dotnet", "oracle"):
        assert name in listed, listed


def case_threads_change_nothing():
    one = run(*SMALL, "--controller", "all", "--jobs", "1", "--json", "-")
    three = run(*SMALL, "--controller", "all", "--jobs", "3", "--json", "-")
    assert one.stdout == three.stdout
    other = run(*SMALL, "--controller", "all", "--seed", "9", "--json", "-")
    assert one.stdout != other.stdout


def case_json_for_scripts():
    done = run("--scenarios", "2", "--seed", "5", "--batches", "1200",
               "--json", "-")
    doc = json.loads(done.stdout)
    by_name = {c["name"]: c for c in doc["controllers"]}
    own = by_name["feedline"]
    for key in ("mean_regret", "p95_regret", "max_regret", "p95_excess",
                "max_excess", "median_convergence_batches",
                "changes_per_24000", "mean_workers", "memory_violations"):
        assert isinstance(own[key], (int, float)), key
    assert own["runs"] == 2
    assert [f["name"] for f in own["families"]] == ["random"]
    assert {r["scenario"] for r in doc["runs"]} == {"random/5", "random/6"}
    assert by_name["static-default"]["max_excess"] == 0
    mean = sum(s["regret"] for r in doc["runs"] for s in r["scores"]
               if s["controller"] == "feedline") / 2
    assert abs(mean - own["mean_regret"]) < 1e-12


def case_markdown_is_for_documents():
    text = run(*SMALL, "--controller", "all", "--markdown").stdout
    assert text == run(*SMALL, "--controller", "all", "--markdown").stdout
    rows = [r for r in text.splitlines() if r.startswith("| feedline ")]
    assert len(rows) == 1, text
    assert "seeds 1 to 2" in text, text
    assert "**dotnet**: " in text, text


def case_trace_tells_decisions():
    text = run("--trace", "cpu-feasible/1", "--controller", "feedline-1",
               "--batches", "1500").stdout
    assert "start: workers 1, depth 4" in text, text
    assert re.search(r"workers 1 -> \d+ \(plan_up\): ", text), text
    assert "workers (#) and the oracle's (o)" in text, text
    assert "trials" in text, text


def case_no_worse_than_left_alone():
    """Runs that once lost 7.3 and 3.6 % to the static default. Another seed of
    the tuner's own jitter moves such a run by 3 %."""
    for family, seed in (("neighbour", "20"), ("cpu-saturated", "6")):
        done = run("--family", family, "--seed", seed, "--controller",
                   "feedline", "--quiet", "--json", "-")
        (played,) = json.loads(done.stdout)["runs"]
        assert played["scenario"] == family + "/" + seed
        assert played["scores"][0]["excess"] < 0.03, played


def played(name):
    """The tuner in one scenario: its score, and what was played."""
    family, seed = name.split("/")
    what = ("--family", family) if family != "random" else ("--scenarios", "1")
    done = run(*what, "--seed", seed, "--controller", "feedline", "--quiet",
               "--json", "-")
    (run_of,) = json.loads(done.stdout)["runs"]
    assert run_of["scenario"] == name
    return run_of["scores"][0]


def case_reads_that_could_not_be_judged_are_tried_again():
    """A trial of 17 +- 49 % was final, and cost 88 %."""
    assert played("random/3074308689")["regret"] < 0.1


def case_nothing_is_taken_for_nothing():
    """No climb without a gain, no memory for storage that gives no more."""
    assert played("lock-untold/1")["workers"] < 16
    assert played("visitors/1")["workers"] < 8
    assert played("io-slow/1")["depth"] < 12


def case_rare_hiccups_are_covered():
    for name in ("hiccup/1", "io-hiccup/1"):
        assert played(name)["stall"] < 0.02, name


def case_bursts_of_slow_reads_are_covered():
    """One read in 400 takes twelve steps: seven batches ahead cost 15 %."""
    assert played("random/423426420")["regret"] < 0.02


def case_neighbours_keep_their_cores():
    """Work on cores takes none of theirs; work that sleeps needs none."""
    assert played("crowd-computing/1")["workers"] < 9
    assert played("crowd-sleeping/1")["stall"] < 0.02


def case_fresh_seeds_can_be_replayed():
    done = run("--scenarios", "2", "--seed", "fresh", "--batches", "600",
               "--controller", "feedline", "--sound")
    first = re.search(r"random scenarios, seeds (\d+) to", done.stdout)
    again = run("--scenarios", "2", "--seed", first.group(1), "--batches",
                "600", "--controller", "feedline", "--sound")
    assert done.stdout == again.stdout


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]]()
