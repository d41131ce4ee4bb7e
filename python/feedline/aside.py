# SPDX-License-Identifier: Apache-2.0
"""Work that may have to wait for a Python operation, on a thread of its own.

Such a wait in C would end when the operation does, and nothing could be done
about it: Ctrl-C is seen between two lines of Python. Here the thread waits, and
whoever wants the result waits for the thread, in pieces, between which the
library's lines are read: one of them names the operation and the sample.

Not a threading.Thread, which takes locks to begin with: the garbage collector
may want one of these at any moment, on any thread.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
import weakref
from typing import Callable, List, Optional, Set

from . import log_lines

PIECE_S = 0.1  # between two looks at what the library has to say


class Aside:
    """A function that runs on a thread; here, where none can be had."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        self._error: Optional[BaseException] = None

        def run() -> None:
            try:
                work()
            except BaseException as error:  # whoever waits gets it
                self._error = error
            finally:
                _under_way.discard(self)
                self._lock.release()

        _under_way.add(self)
        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:
            run()

    @property
    def is_over(self) -> bool:
        return not self._lock.locked()

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
    """Ctrl-C anew, for a finalizer that got it: what is raised in there is
    lost, so it comes up where the main thread goes on."""
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


def under_way() -> List[Aside]:
    """Those that may not be over."""
    return list(_under_way)
