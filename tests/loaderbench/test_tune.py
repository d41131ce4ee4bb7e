# SPDX-License-Identifier: Apache-2.0
"""loaderbench tune: what is told, what is written, what is refused."""
import json
import os
import signal
import subprocess

from support import (TOOL, contains, digits, equal, expect, files_below,
                     json_of, main, read, tool)
from test_run import OnTerminal

SMALL = ("--batch-size", 4, "--op", "resize size=32",
         "--op", "center_crop width=32 height=32")
SWEEP = ("--compare-sweep", "--sweep-workers", "1,2", "--sweep-depths", "2,3",
         "--sweep-seconds", 0.02, "--repeat", 2)


def tune(folder, *arguments, rc=0):
    return json_of("tune", folder, *SMALL, *arguments, rc=rc)


def case_document(tmp):
    doc = tune(digits(tmp), "--batches", 60, "--workers-start", 1)
    equal((doc["schema_version"], doc["command"]), (1, "tune"))
    tuner = doc["tuner"]
    equal(tuner["mode"], "auto")
    for key in ("workers", "depth", "io_depth"):
        assert isinstance(tuner[key], int) and tuner[key] >= 1, tuner
    assert tuner["converged_batch"] is None or tuner["converged_batch"] >= 0
    for decision in tuner["decisions"]:
        assert decision["knob"] in ("workers", "depth", "io_depth", "finish")
        assert decision["before"] != decision["after"], decision
    equal(doc["result"]["batches"], 60)
    equal(doc["tune"]["ended"], "limit")
    equal(doc["tune"]["profile"], None)
    assert doc["tune"]["story"], doc["tune"]
    assert all(line.strip() for line in doc["tune"]["story"])
    assert "sweep_best" not in doc and "runs" not in doc
    equal(doc["config"]["tuner"], "auto")


def case_story(tmp):
    done = expect(tool("tune", digits(tmp), *SMALL, "--seconds", 0.6,
                       "--workers-start", 1), 0)
    for part in ("24 images", "It began with 1 worker", "Now: ",
                 "workers and depth", "seconds"):
        contains(done.out, part)
    assert "\033" not in done.out
    equal(done.err, "")
    assert all(len(line) <= 80 for line in done.out.splitlines()[1:]), done.out
    equal(expect(tool("tune", digits(tmp, name="b"), *SMALL, "--batches", 3,
                      "--quiet"), 0).out, "")


def case_fixed_options_stay(tmp):
    doc = tune(digits(tmp), "--batches", 60, "--workers", 2, "--depth", 3,
               "--io-depth", 5)
    equal([doc["tuner"][k] for k in ("workers", "depth", "io_depth")],
          [2, 3, 5])
    equal(doc["tuner"]["decisions"], [])


def case_observe(tmp):
    doc = tune(digits(tmp), "--observe", "--batches", 60, "--workers-start",
               1)
    equal(doc["tuner"]["mode"], "observe")
    equal(doc["tuner"]["workers"], 1)
    for decision in doc["tuner"]["decisions"]:
        equal(decision["outcome"], "proposed")
    done = expect(tool("tune", digits(tmp, name="b"), *SMALL, "--observe",
                       "--batches", 60), 0)
    contains(done.out, "only observed")


def case_compare_sweep(tmp):
    doc = tune(digits(tmp), "--batches", 40, *SWEEP)
    chosen = (doc["tuner"]["workers"], doc["tuner"]["depth"])
    grid = {(p["workers"], p["depth"]): p for p in doc["grid"]}
    equal(set(grid), {(1, 2), (1, 3), (2, 2), (2, 3), chosen})
    best = max(doc["grid"], key=lambda p: p["images_per_second"])
    equal(doc["sweep_best"], best)
    tuned = doc["comparison"]["tuned"]
    equal(tuned, grid[chosen])
    if tuned == best:
        equal(doc["comparison"]["below_fraction"], 0)
    else:
        def mean(p):
            return sum(r["images_per_second"] for r in p["runs"]) / 2
        below = 1 - mean(tuned) / mean(best)
        assert abs(doc["comparison"]["below_fraction"] - below) < 1e-6, doc
    assert doc["comparison"]["error_fraction"] > 0, doc["comparison"]
    equal(doc["knee"]["workers"] in (1, 2, chosen[0]), True)


def case_compare_in_words(tmp):
    done = expect(tool("tune", digits(tmp), *SMALL, "--batches", 30, *SWEEP),
                  0)
    for part in ("Against a sweep of", "tuner's choice", "sweep's best",
                 "sweep's knee", "CPU/image", "The choice is "):
        contains(done.out, part)


def case_fixed_options_are_no_axis(tmp):
    doc = tune(digits(tmp), "--batches", 20, "--workers", 2, "--depth", 3,
               "--compare-sweep", "--sweep-seconds", 0.02, "--repeat", 1)
    equal([(p["workers"], p["depth"]) for p in doc["grid"]], [(2, 3)])
    equal(doc["comparison"]["below_fraction"], 0)
    equal(doc["comparison"]["error_fraction"], None)
    # The best there is is never worse.
    expect(tool("tune", digits(tmp, name="b"), *SMALL, "--batches", 20,
                "--workers", 2, "--depth", 3, "--compare-sweep", "--repeat", 1,
                "--sweep-seconds", 0.02, "--fail-below", "0%"), 0)


def case_fail_below(tmp):
    """The exit status is what the document says."""
    done = tool("tune", digits(tmp), *SMALL, "--batches", 10, "--workers", 1,
                *SWEEP, "--fail-below", "0%", "--json", "-")
    comparison = json.loads(done.out)["comparison"]
    below, error = comparison["below_fraction"], comparison["error_fraction"]
    expect(done, 1 if below > 0 and (error is None or below > error) else 0)
    done = tool("tune", digits(tmp, name="b"), *SMALL, "--batches", 10,
                "--workers", 1, *SWEEP, "--fail-below", "99%", "--json", "-")
    if json.loads(done.out)["comparison"]["below_fraction"] <= 0.99:
        expect(done, 0)


def case_progress_on_a_terminal(tmp):
    running = OnTerminal("tune", digits(tmp), *SMALL, "--seconds", 0.5,
                         "--workers-start", 1)
    seen = running.read_all()
    equal(running.process.returncode, 0)
    contains(seen, b" s: ")
    contains(seen, b"; workers 1, depth ")
    assert seen.endswith(b"\r\033[K"), seen[-80:]


def case_profile(tmp):
    folder, profile = digits(tmp), os.path.join(tmp, "profile.json")
    doc = tune(folder, "--consumer-ms", 4, "--hold", 0, "--profile", profile)
    equal(doc["tune"]["ended"], "settled")  # it may look again since
    equal(doc["tune"]["profile"], profile)
    json.loads(read(profile))
    again = tune(folder, "--consumer-ms", 4, "--batches", 5, "--tuner-profile",
                 profile)
    assert again["tuner"]["profile"], again["tuner"]
    # Of another data set, or damaged: told, not used, and no failure.
    other = tune(digits(tmp, images=8, name="other"), "--batches", 5,
                 "--tuner-profile", profile)
    assert other["tuner"]["profile"] != again["tuner"]["profile"], other
    for damage in (b"", b"{", b"[]", b"\x00\xff" * 100):
        with open(profile, "wb") as f:
            f.write(damage)
        spoilt = tune(folder, "--batches", 5, "--tuner-profile", profile)
        contains(spoilt["tuner"]["profile"], "profile.json")
    absent = os.path.join(tmp, "absent.json")
    doc = tune(folder, "--batches", 5, "--tuner-profile", absent)
    contains(doc["tuner"]["profile"], "absent.json")


def case_profile_too_early(tmp):
    profile = os.path.join(tmp, "profile.json")
    done = expect(tool("tune", digits(tmp), *SMALL, "--batches", 1,
                       "--profile", profile), 0, "nothing was written")
    contains(done.err, "profile.json")
    assert not os.path.exists(profile)
    assert done.out


def case_nonsense(tmp):
    folder = digits(tmp)
    for arguments, message in (
            (("--tuner", "off"), "--observe"),
            (("--fail-below", "3%"), "--compare-sweep"),
            (("--compare-sweep", "--fail-below", "much"), "--fail-below"),
            (("--compare-sweep", "--fail-below", "-1%"), "--fail-below"),
            (("--sweep-workers", "4..2"), "no list"),
            (("--sweep-depths", "0"), "beyond 1 to"),
            (("--hold", "-1"), "--hold"),
            (("--workers-min", 4, "--workers-max", 2), "workers_m"),
            (("--workers-max", -1), "workers_max"),
            (("--workers-max", "many"), "workers_max"),
            (("--depth-max", -1), "depth_max"),
            (("--io-depth-max", -1), "io_depth_max"),
            (("--tuner-target", 1.5), "tuner_target"),
            (("--tuner-target", "nan"), "tuner_target"),
            (("--memory-budget", 1000), "memory_budget")):
        done = expect(tool("tune", folder, *SMALL, "--batches", 3, *arguments),
                      2, message)
        equal(done.out, "")
    equal(len(files_below(folder)), 2)


def case_interrupted(tmp):
    command = [TOOL, "tune", digits(tmp)] + [str(a) for a in SMALL] + [
        "--seconds", "600", "--consumer-ms", "5", "--json", "-"]
    page = "/proc/%d/fd"
    running = subprocess.Popen(command, stdout=subprocess.PIPE,
                               universal_newlines=True)
    # Batches come once the loader's page is there.
    while running.poll() is None:
        try:
            links = [os.readlink(os.path.join(page % running.pid, fd))
                     for fd in os.listdir(page % running.pid)]
        except OSError:
            continue
        if any("feedline-live" in link for link in links):
            break
    running.send_signal(signal.SIGINT)
    doc = json.loads(running.communicate()[0])
    equal(running.returncode, 130)
    equal(doc["interrupted"], True)
    equal(doc["tune"]["ended"], "interrupted")


def case_report(tmp):
    page = os.path.join(tmp, "page.html")
    doc = tune(digits(tmp), "--batches", 40, "--report", page, *SWEEP)
    text = read(page)
    for part in ("What the tuner did", "Against a sweep", "Workers by depth",
                 "the tuner’s choice", "It began with"):
        contains(text, part)
    assert doc["comparison"], doc


if __name__ == "__main__":
    main(globals())
