# SPDX-License-Identifier: Apache-2.0
"""What a process goes through, and its training does not notice: the stream is
the same, to the byte."""
import os
import re
import resource
import signal
import subprocess
import time

import scenes
from support import TOOL, equal, expect, generate, main, skip, tool

PROGRAM = os.environ.get("LIFE_PROGRAM", "life_program")
UNLOAD = os.environ.get("LIFE_UNLOAD")
LIBRARY = os.environ.get("LIFE_LIBRARY")


def program(mode, folder, front=(), **more):
    return subprocess.run([*front, PROGRAM, mode, folder], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, **more)


def said(done):
    """The words of each line by its first."""
    equal((done.returncode, done.stderr), (0, ""), "the program")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: line[1:] for line in lines}


def same(tmp, mode, front=(), **more):
    """Whether the stream is; what else was said."""
    folder = generate(tmp, images=24, classes=3)
    words = said(program(mode, folder, front, **more))
    equal(words["stream"], said(program("plain", folder))["stream"], mode)
    return words


def works(*front):
    done = subprocess.run([*front, "true"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          universal_newlines=True)
    if done.returncode:
        skip(" ".join(front) + ": " + done.stderr.strip())


def case_signals(tmp):
    assert int(same(tmp, "signals")["handled"][0]) > 100


def case_masks(tmp):
    assert int(same(tmp, "masks")["threads"][0]) >= 3


def case_forks(tmp):
    words = same(tmp, "forks")
    assert int(words["descriptors"][0]) > 0, words
    equal(words["descriptors"][2], "9", "children")


def case_daemon(tmp):
    same(tmp, "daemon")


def case_clock(tmp):
    same(tmp, "clock")


def case_limit_of_files(tmp):
    """No file may be written, and the program has said nothing of the signal
    that a write raises then, which ends programs."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    same(tmp, "plain", preexec_fn=limit, env=dict(
        os.environ, FEEDLINE_CACHE_DIR=os.path.join(tmp, "cache"),
        FEEDLINE_STATS_LOG=os.path.join(tmp, "log"),
        FEEDLINE_METRICS=os.path.join(tmp, "metrics")))


def case_stopped(tmp):
    """For two seconds, in the middle: they are of the step or of a wait, and
    the rest of the books is as ever."""
    folder = generate(tmp, images=24, classes=3)
    plain = said(program("plain", folder))
    running = subprocess.Popen([PROGRAM, "stopped", folder],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               universal_newlines=True)
    equal(running.stdout.readline(), "trains\n")
    running.send_signal(signal.SIGSTOP)
    time.sleep(2)
    running.send_signal(signal.SIGCONT)
    out, err = running.communicate()
    equal((running.returncode, err), (0, ""))
    words = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    equal(words["stream"], plain["stream"])
    wall, waited = float(words["wall"][0]), float(words["wall"][2])
    assert wall >= 2 and 0 <= waited <= wall, words


def case_stacks(tmp):
    if os.environ.get("LIFE_SANITIZED"):
        skip("a sanitizer's frames are larger")
    same(tmp, "stacks")


def case_little_stacks_for_all(tmp):
    """`ulimit -s 128`: threads would have no more, if nobody said so."""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (128 << 10, 128 << 10))
    same(tmp, "plain", preexec_fn=limit)
    folder = generate(tmp, images=8, classes=2, name="few")
    done = subprocess.run([TOOL, "run", folder, "--epochs", "1"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, preexec_fn=limit)
    equal(done.returncode, 0, done.stderr)


def case_stack_of_calls(tmp):
    """The table in docs/life.md."""
    folder = generate(tmp, images=24, classes=3)
    env = dict(os.environ, FEEDLINE_CACHE_DIR=os.path.join(tmp, "cache"))
    words = said(program("measure", folder, env=env))
    used = {name: int(value[0]) for name, value in words.items()}
    print(used)
    if os.environ.get("LIFE_SANITIZED"):
        skip("a sanitizer's frames are larger")
    assert used["next"] <= 16 << 10, used
    assert max(used.values()) <= 128 << 10, used


def case_namespaces(tmp):
    """Process 1 of its own world, and nobody there."""
    front = ("unshare", "-Urpf", "--mount-proc")
    works(*front)
    same(tmp, "plain", front)
    folder = generate(tmp, images=8, classes=2, name="few")
    out = os.path.join(tmp, "out")
    done = subprocess.run([*front, TOOL, "pack", folder, out], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    equal(done.returncode, 0, done.stderr)


def case_top_sees_into_a_namespace(tmp):
    """A training in a container, by its number out here."""
    front = ("unshare", "-Urpf", "--mount-proc")
    works(*front)
    folder = generate(tmp, images=24, classes=3)
    running = subprocess.Popen(
        [*front, TOOL, "run", folder, "--epochs", "100000", "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        child = "/proc/%d/task/%d/children" % (running.pid, running.pid)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with open(child, encoding="utf-8") as f:
                inner = f.read().split()
            done = tool("top", inner[0], "--once") if inner else None
            if done and done.rc == 0:
                break
            time.sleep(0.2)
        expect(done, 0)
        assert inner[0] in done.out, done.out
    finally:
        if inner:
            os.kill(int(inner[0]), signal.SIGKILL)
        running.wait()


def case_unload(tmp):
    if not UNLOAD:
        skip("no shared library, or a sanitized one")
    folder = generate(tmp, images=8, classes=2)
    done = subprocess.run([UNLOAD, LIBRARY, folder], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    print(done.stdout)
    equal(len(re.findall("batches", done.stdout)), 3)


if __name__ == "__main__":
    main(globals())
