# SPDX-License-Identifier: Apache-2.0
"""bench/peers/compare_peers.py: what becomes of peers that hang, are killed,
fail once, leave workers behind, or are measured while others are busy. Peers
and feedline are made up: nothing is installed, and the numbers are known."""
import json
import os
import signal
import subprocess
import sys

from support import contains, equal, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PEERS = os.path.join(ROOT, "bench", "peers")
sys.path.insert(0, PEERS)
sys.dont_write_bytecode = True

import compare_peers  # noqa: E402

# Stands for the interpreter of the peers: given peer_NAME.py, it does what DOES
# has for NAME. Each run adds a line to the file `calls`; a process that has the
# fifo `alive` open is alive.
FAKE = '''#!%s -B
import json, os, signal, subprocess, sys
ROOM = %r
NAME = os.path.basename(sys.argv[1])[len("peer_"):-len(".py")]


with open(os.path.join(ROOM, "calls"), "a+", encoding="utf-8") as f:
    f.write(NAME + "\\n")
    f.flush()
    f.seek(0)
    RUNS = f.read().split().count(NAME)


def result():
    print("a library's greeting")
    print(json.dumps({"images": 100, "seconds": 2, "cpu_seconds": 1,
                      "images_per_second": 50, "images_per_cpu_second": 100,
                      "pixel_mean": 7, "settings": {}, "versions": {}}))


def live(then):
    alive = os.open(os.path.join(ROOM, "alive"), os.O_WRONLY)
    worker = subprocess.Popen(["sleep", "1000"], pass_fds=[alive])
    print("last words", file=sys.stderr, flush=True)
    os.write(alive, b"!")
    then()


def hang():
    result()
    sys.stdout.flush()
    live(signal.pause)


def not_the_first_time():
    if RUNS == 1:
        sys.exit("not today")
    result()


DOES = {
    "torchvision": result,
    "opencv": hang,
    "dali": lambda: live(lambda: os.kill(os.getpid(), signal.SIGSEGV)),
    "spdl": not_the_first_time,
    "tfdata": lambda: print("3.5"),
    "ffcv": lambda: sys.exit("ImportError: no ffcv"),
    "simplejpeg": lambda: live(result),
}
DOES[NAME]()
'''
TOOL = '''#!%s -B
import json
print(json.dumps({"version": "9.9", "result": {
    "images": 100, "seconds": 1, "cpu_seconds": 1,
    "images_per_second": 100, "images_per_cpu_second": 300}}, indent=2))
'''


def script(tmp, name, text):
    path = os.path.join(tmp, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return path


def command(tmp, peers, *more, tool=TOOL):
    os.makedirs(os.path.join(tmp, "photos", "class"))
    with open(os.path.join(tmp, "photos", "class", "a.jpg"), "wb"):
        pass
    return [sys.executable, "-B", os.path.join(PEERS, "compare_peers.py"),
            os.path.join(tmp, "photos"),
            "--python", script(tmp, "python", FAKE % (sys.executable, tmp)),
            "--loaderbench", script(tmp, "tool", tool % sys.executable),
            "--peers", *peers, "--dtypes", "u8", "--core-counts", "1",
            "--tries", "1", "--busy-limit", "1", "--rounds", "3",
            "--epochs", "16", "--batch-size", "1",
            "--json", os.path.join(tmp, "out.json"), *more]


def compare(tmp, *arguments, **more):
    """What it said, and the document it left."""
    done = subprocess.run(command(tmp, *arguments, **more),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    equal(done.returncode, 0, done.stdout + done.stderr)
    with open(os.path.join(tmp, "out.json"), encoding="utf-8") as f:
        return done.stdout, json.load(f)


class Alive:
    """Reads the fifo that fakes hold open."""

    def __init__(self, tmp):
        path = os.path.join(tmp, "alive")
        os.mkfifo(path)
        self.end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self.end, True)
        # A second writer, so that there is no end before the first fake.
        self.own = os.open(path, os.O_WRONLY)

    def wait_for_one(self):
        equal(os.read(self.end, 1), b"!")

    def wait_for_none(self):
        os.close(self.own)
        while os.read(self.end, 1):
            pass


def runs_of(tmp, name):
    with open(os.path.join(tmp, "calls"), encoding="utf-8") as f:
        return f.read().split().count(name)


def rows_of(document):
    return {r["name"]: r for r in document["tables"][0]["rows"]}


def case_peers_become_rows(tmp):
    text, document = compare(tmp, ["torchvision"])
    row = rows_of(document)["torchvision"]
    equal(row["ratio"]["values"], [2, 2, 2])
    equal(row["cpu_ratio"]["median"], 3)
    equal((row["quiet_pairs"], row["pixel_mean"]), (3, 7))
    equal((document["missing"], document["failures"]), ({}, []))
    equal(document["feedline"], "9.9")
    contains(text, "3 of 3")


def case_hanging_peer_is_ended_with_its_workers(tmp):
    alive = Alive(tmp)
    done = subprocess.run(command(tmp, ["opencv"], "--limit", "2"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    alive.wait_for_none()
    equal(done.returncode, 1)
    contains(done.stderr, "no result in 2 s (--limit)")


def case_killed_peer_names_its_signal(tmp):
    alive = Alive(tmp)
    _, document = compare(tmp, ["torchvision", "dali"])
    alive.wait_for_none()
    reason = document["missing"]["dali"]
    contains(reason, "ended by SIGSEGV after ")
    contains(reason, " s; its last words: last words")


def case_workers_left_behind_delay_nothing(tmp):
    """They have the peer's stdout open; its result counts all the same."""
    alive = Alive(tmp)
    _, document = compare(tmp, ["simplejpeg"])
    alive.wait_for_none()
    equal(rows_of(document)["simplejpeg"]["ratio"]["values"], [2, 2, 2])


def case_peer_that_failed_once_is_tried_again(tmp):
    text, document = compare(tmp, ["torchvision", "spdl"])
    equal(len(rows_of(document)["spdl"]["pairs"]), 2)
    equal(document["missing"], {})
    equal(document["failures"], [{"name": "spdl", "dtype": "u8", "cores": 1,
                                  "round": 1, "reason": "not today"}])
    contains(text, "spdl failed, u8, 1 core(s), round 1: not today")


def case_peer_that_fails_twice_is_left_out(tmp):
    _, document = compare(tmp, ["torchvision", "ffcv", "tfdata"])
    equal(document["missing"], {"ffcv": "ImportError: no ffcv",
                                "tfdata": "ended without a result"})
    equal((runs_of(tmp, "ffcv"), runs_of(tmp, "tfdata")), (2, 2))


def case_failures_are_forgiven_by_success(_tmp):
    failures = compare_peers.Failures()
    for _ in range(3):
        failures.note("dali", {"round": 1}, "killed")
        equal(failures.left_out(), {})
        failures.forgive("dali")
    failures.note("dali", {"round": 2}, "killed")
    failures.note("dali", {"round": 3}, "gone")
    equal(failures.left_out(), {"dali": "gone"})
    equal(len(failures.seen), 5)


def case_failing_feedline_is_not_the_peers_fault(tmp):
    done = subprocess.run(
        command(tmp, ["torchvision"], tool="#!%s\nexit('no photos')\n"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    equal(done.returncode, 1)
    contains(done.stderr, "torchvision: feedline beside it: no photos")


def case_row_without_quiet_pairs_is_marked(tmp):
    text, document = compare(tmp, ["torchvision"], "--busy-limit", "-1")
    row = rows_of(document)["torchvision"]
    equal((row["quiet_pairs"], len(row["pairs"])), (0, 3))
    equal(len(row["ratio"]["values"]), 3)
    contains(text, "0 of 3 *")
    contains(text, "* no pair was quiet")


def case_too_few_batches_are_refused(tmp):
    """One image, 16 epochs, and batches of two."""
    done = subprocess.run(command(tmp, ["torchvision"], "--batch-size", "2"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    equal(done.returncode, 2)
    contains(done.stderr, "16 images in all epochs are less than 16 batches")
    equal(os.path.exists(os.path.join(tmp, "calls")), False)


def case_noisy_pairs_are_not_in_the_medians(_tmp):
    def pair(quiet, ours, theirs):
        return {"quiet": quiet, "settings": {}, "versions": {},
                "pixel_mean": 7, **{
                    side: {"images_per_second": speed, "others": 0,
                           "images_per_cpu_second": speed}
                    for side, speed in (("feedline", ours), ("peer", theirs))}}

    pairs = [pair(False, 10, 50), pair(True, 90, 30), pair(True, 80, 40)]
    ours, theirs = compare_peers.table({"dali": pairs}, {0}, "u8")["rows"]
    equal(theirs["ratio"]["values"], [3, 2])
    equal(theirs["images_per_second"]["values"], [30, 40])
    equal(ours["images_per_second"]["values"], [90, 80])
    equal((theirs["quiet_pairs"], len(theirs["pairs"])), (2, 3))


def case_terminated_comparison_takes_its_peer_along(tmp):
    alive = Alive(tmp)
    running = subprocess.Popen(command(tmp, ["opencv"]), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    alive.wait_for_one()
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate()
    alive.wait_for_none()
    contains(err, "ended by SIGTERM")


if __name__ == "__main__":
    main(globals())
