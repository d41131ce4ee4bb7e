# SPDX-License-Identifier: Apache-2.0
"""In which functions the workers of torch's loader spend time.

Each worker process looks now and then at what its main thread is at, and once
a second writes to a pipe of the program how long it was where. The program asks
no worker and waits for none: what one had told is there when it has died.

    with functions.looked_into(loader):     in the program
        batches = iter(loader)
    for name, wall_ns, cpu_ns in functions.told(): ...

    Looker(address)                         in each worker
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import sysconfig
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from multiprocessing.util import Finalize
from types import CodeType, FrameType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional
from typing import Tuple

# A function, None: none, IDLE: with nothing to do; ns, ns on a core.
Spent = Tuple[Optional[bytes], int, int]
IDLE = b"-"  # no function's name

# ---- Whose function ---------------------------------------------------------

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = tuple(
    path + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
) + (_HERE,)
# Of what has no file: what Python, NumPy and torch make. The rest is typed in.
_MADE = ("<frozen", "<__array_function__", "<eval_with_key>")
# Where torch's worker asks for samples and collates them.
_MAKES = os.path.join("torch", "utils", "data", "_utils", "fetch.py")
# Where it waits for what to make next.
_WAITS = os.path.join("multiprocessing", "queues.py")
# Part of the function around it.
_INNER = frozenset(("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"))
_LONGEST = 63  # bytes, of feedline_watch_spent
_KEPT = 1000  # names; a program that makes functions as it goes has more


def is_the_programs(file: str) -> bool:
    """Not the standard library's, an installed package's or ours."""
    installed = "/site-packages/" in file or "/dist-packages/" in file
    return not installed and not file.startswith(_LIBRARIES + _MADE)


def _name(code: Optional[CodeType], called: Optional[str]) -> bytes:
    """ "train.py:14 in vignette", what it called from there, or where the
    program has no part in it, that alone."""
    place = ""
    if code is not None:
        place = "%s:%d in %s" % (
            os.path.basename(code.co_filename),
            code.co_firstlineno,
            code.co_name,
        )
    if called is None:
        return _one_line(place)
    between = " from " if place else ""
    if len(called) + len(between) + len(place) > _LONGEST:
        called = ".".join(called.split(".")[-2:])
    return _one_line(called + between + place)


def function_named(function: Any) -> Optional[bytes]:
    """ "train.py:14 in collate", of the program's or another's; of what is no
    function, its class. None: it is torch's own or none at all."""
    inner = getattr(function, "__func__", function)
    code = getattr(inner, "__code__", None)
    if isinstance(code, CodeType) and is_the_programs(code.co_filename):
        return _name(code, None)
    kind = inner if code is not None else type(inner)
    module = str(getattr(kind, "__module__", None))
    if inner is None or module.startswith("torch."):
        return None
    return _one_line("%s.%s" % (module, kind.__name__))


def _one_line(text: str) -> bytes:
    """As a row has room for, whatever a file is called."""
    text = text.replace("\n", "?")
    short = text.encode(errors="replace")[:_LONGEST]
    return short.decode(errors="ignore").encode()


class Places:
    """Names of what a stack is at; remembers them."""

    def __init__(self) -> None:
        self._own: Dict[str, bool] = {}  # by file
        # By code and file: code of two files is equal if it does the same.
        self._names: Dict[Tuple[object, ...], bytes] = {}

    def of(self, frame: Optional[FrameType]) -> Optional[bytes]:
        """The innermost function of the program, and the innermost one of a
        library that it is in; that one alone where a data set and transforms
        are all libraries'. IDLE: torch's worker waits for what to make next.
        None: no batch is being made, or our engine makes it; what called
        torch's worker does not count, which a fork has on its stack."""
        while frame is not None and frame.f_code.co_name in _INNER:
            frame = frame.f_back
        inner = outer = frame
        makes = False
        while frame is not None and frame.f_code.co_name != "_worker_loop":
            code = frame.f_code
            if self._is_own(code) and code.co_name not in _INNER:
                return self._named(code, inner)
            makes = makes or code.co_filename.endswith(_MAKES)
            outer, frame = frame, frame.f_back
        if makes and inner is not None and not _is_ours(inner.f_code):
            return self._named(None, inner)
        return IDLE if frame is not None and _waits(outer) else None

    def _is_own(self, code: CodeType) -> bool:
        own = self._own.get(code.co_filename)
        if own is None:
            if len(self._own) > _KEPT:
                self._own.clear()
            own = is_the_programs(code.co_filename)
            self._own[code.co_filename] = own
        return own

    def _named(
        self, code: Optional[CodeType], inner: Optional[FrameType]
    ) -> bytes:
        called = None if inner is None else inner.f_code
        if called is None or self._is_own(called):
            called = None
        key = (code, _file(code), called, _file(called))
        name = self._names.get(key)
        if name is None:
            if len(self._names) > _KEPT:
                self._names.clear()
            library = None
            if called is not None and inner is not None:
                module = inner.f_globals.get("__name__", "?")
                library = "%s.%s" % (module, called.co_name)
            name = self._names[key] = _name(code, library)
        return name


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_HERE)


def _waits(frame: Optional[FrameType]) -> bool:
    """In the call by torch's worker that brings what to make next."""
    if frame is None or frame.f_code.co_name != "get":
        return False
    return frame.f_code.co_filename.endswith(_WAITS)


def _file(code: Optional[CodeType]) -> Optional[str]:
    return None if code is None else code.co_filename


# ---- In a worker ------------------------------------------------------------
#
# Computing and waiting are looked for in two ways, as a thread that wants the
# interpreter's lock sees the main thread where that lets go of the lock, which
# is where it waits, and not where it computes. Computing is seen by a signal
# that the kernel sends to the main thread after so much of its CPU time: never
# while it is blocked, so that no call of the system is interrupted.

_CPU_NS = 11_000_000  # of the main thread, between two signals
# Never as regular as what is looked at: 20 to 40 ms, in an order that does not
# repeat.
_SHORTEST, _SPREAD, _GOLDEN = 0.020, 0.020, 0.618034
_TELL_NS = 1_000_000_000
_FIRST_NS = 200_000_000  # of a worker that may not live long


class Address(NamedTuple):
    """Of a pipe's end to write to, in another process; and which pipe it is, as
    the number may have become another file's."""

    path: str
    device: int
    inode: int

    def open(self) -> int:
        """OSError: it is gone."""
        fd = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        found = os.fstat(fd)
        if (found.st_dev, found.st_ino) == (self.device, self.inode):
            return fd
        os.close(fd)
        raise FileNotFoundError("%s is another file now" % self.path)


class _Event(ctypes.Structure):
    """sigevent, of 64-bit Linux."""

    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signo", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("rest", ctypes.c_int * 11),
    ]


_SIGEV_THREAD_ID = 4
_CLOCK_THREAD_CPUTIME_ID = 3


class CpuTimer:
    """Calls a function with the frame of the thread that made it, each _CPU_NS
    of that thread's CPU time, on it. The main thread only."""

    def __init__(self, call: Callable[[Optional[FrameType]], None]) -> None:
        """OSError, AttributeError, ValueError: it cannot be done here, or the
        program has the signal."""
        if signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL:
            raise OSError("SIGPROF is used")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._timer = ctypes.c_void_p()
        create = self._libc.timer_create
        signal.signal(signal.SIGPROF, lambda _, frame: call(frame))
        signal.siginterrupt(signal.SIGPROF, False)
        event = _Event(
            signo=signal.SIGPROF,
            notify=_SIGEV_THREAD_ID,
            thread=threading.get_native_id(),
        )
        if create(
            _CLOCK_THREAD_CPUTIME_ID,
            ctypes.byref(event),
            ctypes.byref(self._timer),
        ):
            raise OSError(ctypes.get_errno(), "timer_create")
        every = (ctypes.c_long * 4)(0, _CPU_NS, 0, _CPU_NS)
        self._libc.timer_settime(self._timer, 0, every, None)

    def end(self) -> None:
        """As the interpreter ends, the signal would end the process."""
        self._libc.timer_delete(self._timer)


class Times(NamedTuple):
    """Of a thread, ns: on the clock; on a core; ready, but without a core; and
    what the other threads of the process were on cores."""

    now: int
    cpu: int
    queued: int
    others: int


class ThreadClock:
    """Of the thread that makes it; any thread asks."""

    def __init__(self) -> None:
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._stat = -1  # a kernel without it: queueing counts as waiting
        with suppress(OSError):
            path = "/proc/self/task/%d/schedstat" % threading.get_native_id()
            self._stat = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> Times:
        queued = 0
        if self._stat >= 0:
            queued = int(os.pread(self._stat, 64, 0).split()[1])
        cpu = time.clock_gettime_ns(self._clock)
        others = time.process_time_ns() - cpu
        return Times(time.monotonic_ns(), cpu, queued, others)


class Looker:
    """Looks at the thread that makes it, the main one."""

    def __init__(self, address: Address) -> None:
        """OSError, RuntimeError: it cannot be done here."""
        self._fd = address.open()
        self._thread = threading.get_ident()
        self._places = Places()
        self._clock = ThreadClock()
        self._told = self._seen = self._clock.read()
        self._computes: Dict[Optional[bytes], int] = {}  # seen so often
        self._waits: Dict[Optional[bytes], int] = {}  # ns
        self._unsent: List[bytes] = []
        self._telling = threading.Lock()
        self._timer: Optional[CpuTimer] = None
        with suppress(OSError, AttributeError, ValueError):
            self._timer = CpuTimer(self._look)
        Finalize(None, self._end, exitpriority=10)  # as the process ends
        threading.Thread(
            target=self._run, name="feedline-look", daemon=True
        ).start()

    def _look(self, frame: Optional[FrameType]) -> None:
        """It computes there."""
        name = self._places.of(frame)
        if name == IDLE:  # or about to be
            name = None
        self._computes[name] = self._computes.get(name, 0) + 1

    def _run(self) -> None:
        at = 0.0
        due = self._seen.now + _FIRST_NS
        try:
            while True:
                at = (at + _GOLDEN) % 1
                time.sleep(_SHORTEST + _SPREAD * at)
                self._look_for_waiting()
                if self._seen.now >= due:
                    self.tell()
                    due = self._seen.now + _TELL_NS
        except OSError:
            pass  # the program, or the thread, is gone

    def _look_for_waiting(self) -> None:
        frame = sys._current_frames().get(self._thread)
        if self._timer is None:  # the best that is left
            self._look(frame)
        name = self._places.of(frame)
        before, self._seen = self._seen, self._clock.read()
        waited = _waited(before, self._seen)
        if name == IDLE:  # its other thread may be sending a batch
            sends = max(min(self._seen.others - before.others, waited), 0)
            self._wait(None, sends)
            waited -= sends
        self._wait(name, waited)

    def _wait(self, name: Optional[bytes], waited: int) -> None:
        self._waits[name] = self._waits.get(name, 0) + waited

    def tell(self) -> None:
        """Writes what was spent since; what the pipe has no room for, later.
        The lines are short, so that each is written whole or not."""
        with self._telling:
            if not self._unsent:
                self._unsent = list(self._lines())
            with suppress(BlockingIOError):
                while self._unsent:
                    os.write(self._fd, self._unsent[0])
                    del self._unsent[0]

    def _lines(self) -> Iterator[bytes]:
        before, self._told = self._told, self._seen
        computes, self._computes = self._computes, {}
        computes = dict(computes)  # the signal may be adding to the other one
        waits, self._waits = self._waits, {}
        cpu = self._seen.cpu - before.cpu
        queued = self._seen.queued - before.queued
        seen = sum(computes.values())
        if seen == 0:  # too little to be seen
            computes, seen = {None: 1}, 1
        for name in {**computes, **waits}:
            part = computes.get(name, 0) / seen
            on_core = int(cpu * part)
            wall = on_core + int(queued * part) + waits.get(name, 0)
            yield b"%d %d %s\n" % (wall, on_core, name or b"")

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.end()
        with suppress(OSError):
            self._look_for_waiting()
            self.tell()


def _waited(before: Times, now: Times) -> int:
    passed = now.now - before.now
    busy = now.cpu - before.cpu + now.queued - before.queued
    return max(passed - busy, 0)


class _Look:
    """A worker_init_fn that begins to look, and does what the other one does.
    It is pickled where workers are spawned."""

    def __init__(self, address: Address, inner: Optional[Callable[[int], Any]]):
        self._address = address
        self._inner = inner

    def __call__(self, worker_id: int) -> Any:
        try:
            Looker(self._address)
        except (OSError, RuntimeError):
            pass  # no /proc, no thread: nobody looks
        return None if self._inner is None else self._inner(worker_id)


# ---- In the program ---------------------------------------------------------


class Functions:
    """What the workers of a loader tell. One thread at a time."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._process = os.getpid()
        found = os.fstat(writer)
        path = "/proc/%d/fd/%d" % (self._process, writer)
        self._address = Address(path, found.st_dev, found.st_ino)
        self._rest = b""
        self.close = weakref.finalize(self, _close, self._reader, writer)

    @contextmanager
    def looked_into(self, loader: Any) -> Iterator[None]:
        """Workers that torch's loader starts inside are looked into."""
        inner = loader.worker_init_fn
        if isinstance(inner, _Look):  # by another thread, at this time
            yield
            return
        loader.worker_init_fn = _Look(self._address, inner)
        try:
            yield
        finally:
            loader.worker_init_fn = inner

    def told(self) -> Iterator[Spent]:
        """What the workers have told since the last call; nothing in a child
        of the process, as that would take it away from the program."""
        while self.close.alive and os.getpid() == self._process:
            try:
                data = os.read(self._reader, 1 << 16)
            except BlockingIOError:
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                wall, cpu, name = line.split(b" ", 2)
                yield name or None, int(wall), int(cpu)


def _close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)
