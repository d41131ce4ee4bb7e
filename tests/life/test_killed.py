# SPDX-License-Identifier: Apache-2.0
"""Killed at any change of the disk: the next run goes as if nothing had been,
and nothing is left of the one before.

    LIFE_ALL=1 test_killed.py CASE     at every change, not at some of them
"""
import os
import random
import signal
import subprocess
import sys
import tarfile

import scenes
from support import equal, main, skip

KILLED = os.environ.get("LIFE_KILLED", "killed")
SOME = 5  # of the moments, beside the first and the last


def changes(scene):
    """How many there are."""
    done = scene.run((KILLED, "0"))
    if done.returncode == 77:
        skip(done.stdout.strip().replace("skipped: ", ""))
    assert done.returncode in (0, 3), (done.returncode, done.stderr)
    return int(done.stderr.rsplit("changes: ", 1)[1])


def moments(count, some):
    """A few, by a seed that is printed; each before a change or in it."""
    if os.environ.get("LIFE_ALL"):
        return [kind % n for n in range(1, count + 1)
                for kind in ("%d", "half:%d")]
    seed = int(os.environ.get("LIFE_SEED", random.randrange(1 << 32)))
    print("LIFE_SEED=%d" % seed)
    draw = random.Random(seed)
    drawn = draw.sample(range(1, count + 1), min(some, count))
    return ["1"] + [draw.choice(("%d", "half:%d")) % n for n in drawn] + [
        "half:%d" % count]


def shards_are_whole(folder):
    for name in scenes.names_below(folder):
        if name.endswith(".tar"):
            with tarfile.open(os.path.join(folder, name)) as shard:
                shard.getmembers()


def goes_on(tmp, name, some=SOME):
    scene = scenes.Scene(tmp, name)
    with scene.stack:
        scene.clear()
        count = changes(scene)
        assert count > 2, count
        result = scene.same(scene.out)
        files = scenes.names_below(scene.out)
        for moment in moments(count, some):
            scene.clear()
            killed = scene.run((KILLED, moment))
            # Fewer changes may come of threads that met otherwise.
            assert killed.returncode in (137, 0, 3), killed
            shards_are_whole(scene.out)
            done = scene.run()
            assert done.returncode in (0, 3), (moment, done.stderr)
            equal(scene.same(scene.out), result, "killed at " + moment)
            equal(scenes.names_below(scene.out), files, "left by " + moment)


def case_killed_pack(tmp):
    goes_on(tmp, "pack")


def case_killed_pack_images(tmp):
    goes_on(tmp, "pack_images")


def case_killed_unpack(tmp):
    goes_on(tmp, "unpack")


def case_killed_gen(tmp):
    goes_on(tmp, "gen")


def case_killed_scan(tmp):
    goes_on(tmp, "scan")


def case_killed_run(tmp):
    goes_on(tmp, "run")


def case_killed_index(tmp):
    goes_on(tmp, "index")


def case_killed_remote(tmp):
    goes_on(tmp, "remote")


def case_killed_profile(tmp):
    goes_on(tmp, "profile", some=1)  # a tuner takes its time


def case_it_kills(tmp):
    """The tool that kills does, and sees stdio's writes."""
    path = os.path.join(tmp, "file")
    program = [sys.executable, "-B", "-c",
               "import sys; open(sys.argv[1], 'w').write('12345678')", path]
    seen = {}
    for moment in ("0", "1", "2", "half:2"):
        if os.path.exists(path):
            os.unlink(path)
        done = subprocess.run([KILLED, moment] + program, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        if done.returncode == 77:
            skip(done.stdout.strip().replace("skipped: ", ""))
        size = os.path.getsize(path) if os.path.exists(path) else -1
        seen[moment] = (done.returncode, size)
    half = 4 if os.uname().machine == "x86_64" else 8
    equal(seen, {"0": (0, 8), "1": (128 + signal.SIGKILL, -1),
                 "2": (128 + signal.SIGKILL, 0),
                 "half:2": (128 + signal.SIGKILL, half)})


if __name__ == "__main__":
    main(globals())
