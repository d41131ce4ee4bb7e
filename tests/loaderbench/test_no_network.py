# SPDX-License-Identifier: Apache-2.0
"""No socket, unless data on another machine are asked for: commands of the
tool, a program and the package run where a socket ends them (no_sockets.c)."""
import os
import re
import signal
import subprocess
import sys

from support import (TOOL, contains, equal, files_below, generate, has_packed,
                     main, skip)

NO_SOCKETS = os.environ.get("NO_SOCKETS", "no_sockets")
SMALL = ("--batch-size", 4, "--batches", 4)

PACKAGE = """
import feedline, sys
data = feedline.Dataset.open("folder:" + sys.argv[1])
with feedline.Loader(data, feedline.Pipeline("eval"), batch_size=4) as loader:
    print("samples", sum(1 for batch in loader for _ in range(batch.count)))
    assert loader.explain()
"""


def run(*command, env=None):
    """Its exit status, negative where a signal ended it, and what it said."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith("FEEDLINE_") or k == "FEEDLINE_LIBRARY"}
    clean.update(env or {}, FEEDLINE_CACHE_DIR="off")
    done = subprocess.run([NO_SOCKETS, *map(str, command)], env=clean,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, check=False)
    if done.returncode == 77:
        skip(done.stdout.strip()[len("skipped: "):])
    return done.returncode, done.stdout


def works(*command, rc=(0,), **more):
    status, said = run(*command, **more)
    assert status in rc, "%s: status %d\n%s" % (command, status, said)
    return said


def case_epochs(tmp):
    folder, shards = generate(tmp), os.path.join(tmp, "shards")
    for reader in ("pread", "uring"):
        works(TOOL, "run", folder, *SMALL, "--reader", reader)
    works(TOOL, "pack", folder, shards, "--quiet",
          *(("--store", "packed") if has_packed() else ()))
    works(TOOL, "run", "tar:" + shards, *SMALL, "--workers", "auto")
    works(TOOL, "pack", "tar:" + shards, os.path.join(tmp, "back"), "--unpack",
          "--quiet")
    works(TOOL, "scan", folder, "--quiet")
    works(TOOL, "tune", folder, *SMALL)
    works(TOOL, "io", folder, "--seconds", 0.002, "--rounds", 1)


def case_the_rest_of_the_tool(tmp):
    works(TOOL, "gen", os.path.join(tmp, "new"), "--images", 4,
          "--classes", 2, "--quiet")
    works(TOOL, "help")
    # What it finds here is its own affair.
    works(TOOL, "doctor", "--device", "host", rc=(0, 1, 4))
    works(TOOL, "top", "--once", rc=(0, 4))


def case_a_program(tmp):
    contains(works(os.environ["MINIMAL"], generate(tmp)), "images/s")


def case_the_package(tmp):
    if not os.environ.get("FEEDLINE_LIBRARY"):
        skip("a plain interpreter cannot load a sanitized library")
    folder = generate(tmp)
    package = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           os.pardir, os.pardir, "python")
    said = works(sys.executable, "-B", "-c", PACKAGE, folder,
                 env={"PYTHONPATH": package})
    equal(re.findall("samples ([0-9]+)", said), [str(len(files_below(folder)))])


def case_who_asks_is_seen(tmp):
    """That such a process is ended: without this, nothing above says much."""
    ended = -int(signal.SIGSYS)
    equal(run(sys.executable, "-c", "import socket; socket.socket()")[0], ended)
    status, said = run(TOOL, "run", "tar:http://127.0.0.1:1/a.tar", *SMALL)
    if "libcurl" in said:
        skip("no libcurl: only Python's socket was seen")
    equal(status, ended, said)


if __name__ == "__main__":
    main(globals())
