# SPDX-License-Identifier: Apache-2.0
"""Keeps what Python knows of a worker thread from one call to the next.

A thread that Python did not start is new to it at each call: ctypes makes a
thread state, which takes two system calls and a page fault, and throws it away
behind the call. That took 14 of the 20 us of a call that does nothing, on
Python 3.11. Here the first call on a thread adds a reference to its state, and
the end of the thread takes it back, so the state is there as long as the
thread; threading.local works for functions in a pipeline, too.

The end of a thread is told by the hook that C++ has for destructors of thread
local objects. Those of pthread_key_create come too late: the C library has
forgotten by then where Python keeps the state. Without the hook (it is of
glibc) nothing is kept, and calls are slower.
"""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import CFUNCTYPE, c_int, c_void_p
from typing import Any, Optional, Set

_api = ctypes.PyDLL(None)
_ensure = _api["PyGILState_Ensure"]
_ensure.argtypes, _ensure.restype = [], c_int
_release = _api["PyGILState_Release"]
_release.argtypes, _release.restype = [c_int], None
_LOCKED = 0  # PyGILState_LOCKED: the lock was had before, and is kept

_destructor_type = CFUNCTYPE(None, c_void_p)
_kept: Set[int] = set()
# The child of a fork has none of these threads, and may give new ones their
# numbers.
os.register_at_fork(after_in_child=_kept.clear)


def _hook() -> Optional[Any]:
    try:
        found = _api["__cxa_thread_atexit_impl"]
    except AttributeError:
        return None
    found.argtypes = [_destructor_type, c_void_p, c_void_p]
    found.restype = c_int
    return found


def _forget(unused: Any) -> None:
    """At the end of a thread. ctypes has a reference for this call, too, so
    the state goes when this has returned."""
    _kept.discard(threading.get_ident())
    _release(_LOCKED)


_at_thread_exit = _hook()
_destructor = _destructor_type(_forget)
# An address in the object that must stay loaded for it.
_interpreter = ctypes.cast(_ensure, c_void_p)


def keep() -> None:
    """In a call from C on a thread that Python did not start: every time."""
    ident = threading.get_ident()
    if ident in _kept or _at_thread_exit is None:
        return
    if _at_thread_exit(_destructor, None, _interpreter) != 0:
        return
    _ensure()
    _kept.add(ident)
