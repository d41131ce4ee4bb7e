# SPDX-License-Identifier: Apache-2.0
"""How loaders end: on other threads, at exit, in the child of a fork.

Ending a loader waits for its workers, and so for a Python operation under way.
Such a wait in C could not be interrupted: Ctrl-C is seen between two lines of
Python. So an `Aside` does the work on a thread of its own, and the caller waits
for that thread in pieces, between which it reads the library's log: one of its
lines names the operation and the sample.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import os
import queue
import signal
import sys
import threading
import time
import weakref
from typing import Any, Callable, List, Optional, Protocol, Set

from . import log_lines
from ._library import lib

PIECE_S = 0.1  # of a wait, between two reads of the log


class Aside:
    """A function that runs on a thread of its own, or here if none can start.

    Not a threading.Thread, whose start takes locks: the garbage collector may
    need one of these at any moment, on any thread.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        self._error: Optional[BaseException] = None

        def run() -> None:
            try:
                work()
            except BaseException as error:  # raised by wait()
                self._error = error
            finally:
                _under_way.discard(self)
                self._lock.release()

        _under_way.add(self)
        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:
            (_at_exit or _here)(run)

    def wait(self) -> None:
        """Until it is over; raises what it raised. Ctrl-C ends the wait."""
        while not self.wait_for(PIECE_S):
            log_lines.tell()
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its frames have this one

    def wait_for(self, seconds: float) -> bool:
        """Whether it was over within this time."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self._lock.release()  # others may wait, too
        return True


def interrupt_behind_finalizers() -> None:
    """Repeats a Ctrl-C that a finalizer got, where exceptions are lost: it
    comes up again where the main thread goes on."""
    main = threading.main_thread().ident or 0

    def run() -> None:
        while _is_finalizing(main):
            time.sleep(0.001)
        signal.pthread_kill(main, signal.SIGINT)  # a sleep ends by it, too

    Aside(run)


def _is_finalizing(thread: int) -> bool:
    code = weakref.finalize.__call__.__code__
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


_under_way: Set[Aside] = set()
os.register_at_fork(after_in_child=_under_way.clear)  # which has no threads


def _here(work: Callable[[], None]) -> None:
    work()


# Python 3.12.0 and 3.12.1 start no thread once the program ends. Theirs is
# started with the first loader; this hands work to it.
NO_THREAD_AT_EXIT = (3, 12) <= sys.version_info < (3, 12, 2)
_at_exit: Optional[Callable[[Callable[[], None]], None]] = None


def _start_for_exit() -> None:
    global _at_exit
    work: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()

    def run() -> None:
        while True:
            work.get()()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        return
    _at_exit = work.put


# ---- Loaders ----------------------------------------------------------------


class Endable(Protocol):
    """A Loader or a Meter, as far as its end is concerned."""

    def _end(self) -> Optional[Aside]:
        """Closes it; what to wait for."""

    def _renew_locks(self) -> None:
        """In the child of a fork."""


# Not a WeakSet, which other threads must not change while it is iterated.
_live: "Set[weakref.ref[Endable]]" = set()
_exiting = False
_main_thread = threading.main_thread()

# How long the end of the program waits for Python operations under way: one
# that sleeps longer must not keep a program that was told to end.
EXIT_WAIT_S = 10.0


def add(loader: Endable) -> None:
    """This loader is closed at exit, if it still exists."""
    if NO_THREAD_AT_EXIT and _at_exit is None:
        _start_for_exit()
    _live.add(weakref.ref(loader, _live.discard))


def all_live() -> List[Endable]:
    """The loaders that exist."""
    found = (reference() for reference in list(_live))
    return [loader for loader in found if loader is not None]


def is_exiting_elsewhere() -> bool:
    """Whether the interpreter is exiting and this is not its main thread."""
    return _exiting and threading.current_thread() is not _main_thread


def destroy(cell: ctypes.c_void_p, kept: Any) -> None:
    """Destroys a loader; kept: what its workers use until they have ended."""
    lib.loader_destroy(cell)


def destroy_aside(cell: ctypes.c_void_p, kept: Any) -> None:
    """For a loader whose workers call Python.

    The garbage collector may run on one of these workers, which cannot wait for
    itself, or on a thread that holds a lock which one of them needs. So another
    thread waits.
    """
    Aside(lambda: destroy(cell, kept))


def finalize(finalizer: "weakref.finalize[Any, Any]") -> None:
    """Runs it now; at exit, too, where a call of it does nothing."""
    detached = finalizer.detach()
    if detached is not None:
        _, function, arguments, _ = detached
        function(*arguments)


def _close_all() -> None:
    """At exit, while the interpreter still runs: no worker may call into it
    later."""
    global _exiting
    _exiting = True
    for loader in all_live():
        loader._end()
    give_up = time.monotonic() + EXIT_WAIT_S
    for work in list(_under_way):
        work.wait_for(max(0.0, give_up - time.monotonic()))


def _after_fork() -> None:
    global _at_exit
    _at_exit = None  # its thread stayed with the parent
    for loader in all_live():
        loader._renew_locks()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)
