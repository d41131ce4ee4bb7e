# SPDX-License-Identifier: Apache-2.0
"""Programs of a few lines in an interpreter of their own, with a time limit.

A life of a process (its signals, its end, its children) can only be tested in
one that may be thrown away. Each program begins with PRELUDE, so it has
`feedline`, a folder of images and the three loaders that the tests are about.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Optional, Sequence

import pytest

TIME_LIMIT_S = 120.0  # an import of torch on a busy machine takes a minute

# From 3.12 on Python warns of each fork() beside other threads.
FLAGS = ("-X", "faulthandler", "-W", "ignore:This process:DeprecationWarning")

PRELUDE = '''
import gc, os, signal, sys, threading, time
import feedline

# What a shell starts in the background has inherited that Ctrl-C is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

FOLDER = sys.argv[1]
N = 24


def dataset():
    return feedline.Dataset.open("folder:" + FOLDER)


def pipeline():
    return feedline.Pipeline().add("resize", width=16, height=16)


def make(chain=None, **options):
    """Six batches of four an epoch, on two workers, unless options differ."""
    options = {"batch_size": 4, "workers": 2, "epochs": 0, **options}
    return feedline.Loader(dataset(), chain or pipeline(), **options)


def blocked_loader(**options):
    """A loader whose second batch waits until `gate` is set; `gate.shut`: it
    does. Nobody is told how long: that is the test's and the machine's. The
    worker reads, too: else it takes what is there, of either batch."""
    gate = threading.Event()
    gate.shut = threading.Event()
    seen = []

    def hold(image):
        seen.append(1)
        if len(seen) > 4:
            gate.shut.set()
            gate.wait(60)

    options = {"workers": 1, "stuck_after": 0, "reader": "memory", **options}
    return make(pipeline().python(hold), **options), gate


def say_before(owner, name):
    """Prints "blocking" when this function is called first: the signal that
    comes upon it finds the program in there."""
    function = getattr(owner, name)

    def told(*arguments):
        setattr(owner, name, function)
        print("blocking", flush=True)
        return function(*arguments)

    setattr(owner, name, told)


def refused(error, words, *calls):
    """Each of these calls raises that error, with these words."""
    for call in calls:
        try:
            call()
        except error as raised:
            assert words in str(raised), raised
        else:
            raise AssertionError("%r was not refused" % call)


def thread_ids():
    return set(os.listdir("/proc/self/task"))


def await_end(of):
    """The kernel forgets a thread a moment after it was joined. One that never
    ends is a program that does not."""
    while of & thread_ids():
        time.sleep(0.01)


def torch_loader(**arguments):
    """The same six batches through feedline.torch.DataLoader."""
    import feedline.torch
    from torchvision import datasets, transforms

    chain = transforms.Compose(
        [transforms.Resize((16, 16)), transforms.ToTensor()]
    )
    images = datasets.ImageFolder(FOLDER, chain)
    arguments = {"batch_size": 4, "num_workers": 2, **arguments}
    return feedline.torch.DataLoader(images, **arguments)
'''


class Ended(NamedTuple):
    """How a program ended."""

    status: int  # < 0: by that signal
    out: str
    err: str


@lru_cache(maxsize=None)
def cache_folder() -> str:
    """Where children keep compiled modules, so that only one compiles them
    and none writes into the checkout; gone with this process."""
    folder = tempfile.mkdtemp(prefix="feedline-pycache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment() -> "dict[str, str]":
    """As the test's own, and no number of threads but ours."""
    own = {
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPYCACHEPREFIX": cache_folder(),
    }
    found = {**os.environ, **own}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def begin(
    code: str,
    arguments: Sequence[str] = (),
    prelude: str = PRELUDE,
    **more: str,
) -> "subprocess.Popen[str]":
    """Starts a program in a process group of its own; more: its environment."""
    text = prelude + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, *FLAGS, "-c", text, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), **more},
        start_new_session=True,
    )


def kill_group(child: "subprocess.Popen[str]") -> None:
    """Ends a program and all that it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def finish(child: "subprocess.Popen[str]", limit: float) -> Ended:
    """Waits for the end; where none comes, fails with what was said."""
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        kill_group(child)
        out, err = child.communicate()
        raise AssertionError(
            "still running after %g s\n-- out\n%s\n-- err\n%s"
            % (limit, out, err)
        )
    return Ended(child.returncode, out, err)


def run(
    code: str,
    folder: Path,
    arguments: Sequence[str] = (),
    limit: float = TIME_LIMIT_S,
) -> Ended:
    """A program from its beginning to its end; argv[1] is the folder."""
    return finish(begin(code, [str(folder), *arguments]), limit)


def run_bare(code: str, *arguments: str, **more: str) -> Ended:
    """A program without the prelude; more: its environment."""
    return finish(begin(code, arguments, "", **more), TIME_LIMIT_S)


def check_clean(ended: Ended, said: Optional[str] = None) -> None:
    """Status 0, nothing on the standard error, and `said` as last line."""
    assert (ended.status, ended.err) == (0, ""), ended
    if said is not None:
        assert ended.out.split("\n")[-2:] == [said, ""], ended


def run_clean(
    code: str,
    folder: Path,
    arguments: Sequence[str] = (),
    limit: float = TIME_LIMIT_S,
) -> None:
    """A program that has to come to its last line and end well."""
    if "numpy" in code or "blocked_loader" in code or ".python(" in code:
        pytest.importorskip("numpy")
    code = textwrap.dedent(code) + '\nprint("done")\n'
    check_clean(run(code, folder, arguments, limit), "done")


def read_line(child: "subprocess.Popen[str]") -> str:
    """The program's next line, and nothing of what comes behind it."""
    assert child.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(child.stdout.fileno(), 1)
        if not byte:
            break
        line += byte
    return line.decode().rstrip("\n")


def interrupt_when(
    child: "subprocess.Popen[str]", words: str, number: int = signal.SIGINT
) -> float:
    """Signals a program that printed `words` and waits; returns the time."""
    line = read_line(child)
    if line != words:
        kill_group(child)
        raise AssertionError(
            "%r, not %r\n%s" % (line, words, child.communicate())
        )
    wait_until_asleep(child.pid)
    os.kill(child.pid, number)
    return time.monotonic()


def signalled(
    code: str,
    folder: Path,
    words: str = "blocking",
    answer: Optional[str] = None,
    said: str = "done",
    number: int = signal.SIGINT,
) -> None:
    """A program that gets a signal where it printed `words` and waits; prints
    `answer`, if that is given, and at its end `said`."""
    child = begin(code, [str(folder)])
    interrupt_when(child, words, number)
    assert answer is None or read_line(child) == answer
    check_clean(finish(child, TIME_LIMIT_S), said)


def wait_until_asleep(pid: int) -> None:
    """Until the main thread of a program sleeps: it has reached the call that
    it waits in. A busy machine keeps it runnable for a while before. One that
    has ended does not wait."""
    seen = 0
    end = time.monotonic() + TIME_LIMIT_S
    while seen < 3 and time.monotonic() < end:
        time.sleep(0.02)
        with open("/proc/%d/stat" % pid) as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        if state == "Z":
            return
        seen = seen + 1 if state == "S" else 0
