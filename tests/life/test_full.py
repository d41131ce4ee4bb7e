# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, or a limit of files that is reached: whatever was to be
written says so by name and cause, or is kept less of; what was there is there
as it was, and nothing is left beside it. With room again, all goes on.

Two ways: RLIMIT_FSIZE, whose signal a program may not have asked for; and a
file system of a few blocks, where a mount is allowed.
"""
import os
import resource
import shutil
import signal
import subprocess

import scenes
from support import equal, files_below, main, skip

FULL = ("File too large", "No space left on device")


def limit_of(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def check(scene, done, before, after, where):
    """An error names a file and the cause; old files are whole or replaced by
    whole ones; nothing is beside them."""
    assert done.returncode in (0, 3, 4), (where, done)
    said = [line for line in done.stderr.splitlines()
            if any(cause in line for cause in FULL)]
    assert said or done.returncode != 4, (where, done.stderr)
    for line in said:  # of a file, or of the live page, which is memory
        assert scene.out in line or "memfd" in line, (where, line)
    beside = [n for n in after if ".tmp." in n or n.endswith(".part")]
    equal(beside, [], where)
    for name in before:
        assert name in after, (where, name)
    return said and done.returncode != 0


def sizes(folder):
    """Limits at which something does not fit."""
    largest = max(len(data) for data in files_below(folder).values())
    return sorted({0, largest // 2, largest - 1})


def limited(tmp, name, must_fail, most=3):
    scene = scenes.Scene(tmp, name)
    with scene.stack:
        scene.clear()
        done = scene.run()
        assert done.returncode in (0, 3), done.stderr
        result, old = scene.same(scene.out), scenes.names_below(scene.out)
        failed = 0
        for size in sizes(scene.out)[:most]:
            where = "%s, files of %d bytes" % (name, size)
            # Over what is there, and where nothing is.
            for fresh in (False, True):
                if fresh:
                    scene.clear()
                before = scenes.names_below(scene.out)
                done = scene.run(preexec_fn=limit_of(size))
                failed += bool(check(scene, done, before,
                                     scenes.names_below(scene.out), where))
                if not fresh:
                    equal(scene.same(scene.out), result, where)
            done = scene.run()
            assert done.returncode in (0, 3), (where, done.stderr)
            equal(scene.same(scene.out), result, where)
            equal(scenes.names_below(scene.out), old, where)
        assert failed or not must_fail, "nothing failed"


MOUNTED = r"""
mount -t tmpfs -o size="$1" none "$2" || exit 77
shift
out=$1 copy=$2
shift 2
"$@"
status=$?
cp -a "$out/." "$copy"
exit $status
"""


def mount_works():
    for front in (["unshare", "-m"], ["unshare", "-Urm"]):
        done = subprocess.run(
            front + ["sh", "-c", "mount -t tmpfs none /tmp"], check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return front
    skip("no file system can be mounted here")
    return None


def on_a_small_disk(tmp, name, size):
    """Where nothing is: all of it does not fit."""
    front = mount_works()
    scene = scenes.Scene(tmp, name)
    with scene.stack:
        scene.clear()
        copy = os.path.join(tmp, "copy")
        os.mkdir(copy)
        done = scene.run(front + ["sh", "-c", MOUNTED, "sh", size, scene.out,
                                  copy])
        if done.returncode == 77:
            skip("no file system can be mounted here")
        after = scenes.names_below(copy)
        assert check(scene, done, [], after, name), done
        shutil.rmtree(copy)


def case_limit_pack(tmp):
    limited(tmp, "pack", True)


def case_limit_pack_images(tmp):
    limited(tmp, "pack_images", True)


def case_limit_unpack(tmp):
    limited(tmp, "unpack", True)


def case_limit_gen(tmp):
    limited(tmp, "gen", True)


def case_limit_scan(tmp):
    limited(tmp, "scan", True)


def case_limit_run(tmp):
    limited(tmp, "run", True)


def case_limit_index(tmp):
    limited(tmp, "index", False)


def case_limit_remote(tmp):
    limited(tmp, "remote", True)


def case_limit_profile(tmp):
    limited(tmp, "profile", True, most=1)  # a tuner takes its time


def case_disk_pack(tmp):
    on_a_small_disk(tmp, "pack", "256k")


def case_disk_unpack(tmp):
    on_a_small_disk(tmp, "unpack", "64k")


def case_disk_gen(tmp):
    on_a_small_disk(tmp, "gen", "128k")


def case_disk_run(tmp):
    on_a_small_disk(tmp, "run", "32k")


def case_disk_remote(tmp):
    on_a_small_disk(tmp, "remote", "4k")


if __name__ == "__main__":
    main(globals())
