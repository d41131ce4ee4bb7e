# SPDX-License-Identifier: Apache-2.0
"""A Python function as an operation of the pipeline.

    worker thread   decode -> resize -> [run -> fn(image)] -> batch
                                          |
                                          waits for the interpreter's lock here

The library's workers call `run`. What happens there, in this order:

1. The time from the call to its first line was spent waiting for the lock of
   the interpreter; the library is told (lock_ns of the stage, and the verdict
   LOCK_BOUND where it matters). With a free-threaded Python it is next to 0 and
   the calls run in parallel; nothing else changes.
2. The function gets an array of its own with the pixels, not a view of the
   worker's memory: that memory shows another image a moment later and is gone
   with the loader, and a function may keep what it is given. Both copies take
   15 us for 224 x 224 x 3, the rest of a call 6 us.
3. What it draws from the generators of `random`, numpy and torch comes from
   generators of the thread's own, seeded for the sample (thread_draws.py). A
   function with a parameter `rng` draws from that, and is left alone.
4. An exception stays here, for there is nobody above: it is kept for the sample
   and becomes the cause of what the loader raises.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import re
import threading
import traceback
from ctypes import CFUNCTYPE, c_int, c_uint8, c_void_p
from time import monotonic_ns
from typing import Any, Callable, Dict, Optional, Set, Tuple

from . import _c, thread_draws
from ._library import lib, of_process
from .errors import InvalidArgument, StateError

# ---- Thread states ----------------------------------------------------------
#
# ctypes makes a new thread state for each call on a thread that Python did not
# start, which takes two system calls and a page fault: 14 of the 20 us of an
# empty call on Python 3.11. Here the first call on a thread adds a reference to
# its state, and the end of the thread drops it, so the state (and
# threading.local) lasts as long as the thread.
#
# The end of a thread is seen by the hook that C++ has for destructors of thread
# local objects. Those of pthread_key_create run too late: by then the C library
# has forgotten where Python keeps the state. Without the hook, which is
# glibc's, nothing is kept and calls are slower.

_ensure = of_process("PyGILState_Ensure", c_int)
_release = of_process("PyGILState_Release", None, c_int)
_LOCKED = 0  # PyGILState_LOCKED: the lock was had before, and is kept

_destructor_type = CFUNCTYPE(None, c_void_p)
_kept: Set[int] = set()
# The child of a fork has none of these threads, and may give new ones their
# numbers.
os.register_at_fork(after_in_child=_kept.clear)


def _hook() -> Optional[Any]:
    kinds = (_destructor_type, c_void_p, c_void_p)
    try:
        return of_process("__cxa_thread_atexit_impl", c_int, *kinds)
    except AttributeError:
        return None


def _forget(unused: Any) -> None:
    """At the end of a thread. ctypes has a reference for this call, too, so
    the state goes when this has returned."""
    _kept.discard(threading.get_ident())
    _release(_LOCKED)


_at_thread_exit = _hook()
_destructor = _destructor_type(_forget)
# An address in the object that must stay loaded for it.
_interpreter = ctypes.cast(_ensure, c_void_p)


def keep_state() -> None:
    """At each call from C on a thread that Python did not start."""
    ident = threading.get_ident()
    if ident in _kept or _at_thread_exit is None:
        return
    if _at_thread_exit(_destructor, None, _interpreter) != 0:
        return
    _ensure()
    _kept.add(ident)


Shape = Tuple[int, int, int]  # height, width, channels

# Threads that are in a call now. What they must not do is end a loader: it
# would wait for them.
_inside: Dict[int, int] = {}
os.register_at_fork(after_in_child=_inside.clear)

KEPT_ERRORS = 1000  # as many as the library keeps failures


def in_callback() -> bool:
    """Whether this thread is a worker in the middle of a Python operation."""
    return threading.get_ident() in _inside


class Rng:
    """Random numbers of one call.

    They follow from seed, epoch, sample and place in the pipeline, so a run
    repeats exactly with any number of workers. Valid during the call only.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle: Optional[int] = handle

    def _alive(self) -> int:
        if self._handle is None:
            raise StateError("rng is valid during its call only")
        return self._handle

    def u32(self) -> int:
        """All 32 bits."""
        return int(lib.quick.rng_u32(self._alive()))

    def uniform(self) -> float:
        """In [0, 1)."""
        return float(lib.quick.rng_uniform(self._alive()))

    def below(self, n: int) -> int:
        """In [0, n), without bias; n: 1 to 2**32 - 1."""
        if not 0 < n < 1 << 32:
            raise ValueError("below takes 1 to 2**32 - 1, not %d" % n)
        return int(lib.quick.rng_below(self._alive(), n))


class Errors:
    """Exceptions of Python operations by the sample they belong to."""

    def __init__(self) -> None:
        self._kept: Dict[Tuple[int, int], BaseException] = {}
        self._lock = threading.Lock()

    def add(self, epoch: int, index: int, error: BaseException) -> None:
        _forget_locals(error)
        with self._lock:
            self._kept[epoch, index] = error
            while len(self._kept) > KEPT_ERRORS:  # the first one goes
                del self._kept[next(iter(self._kept))]

    def find(self, epoch: int, index: int) -> Optional[BaseException]:
        with self._lock:
            return self._kept.get((epoch, index))


def _forget_locals(error: Optional[BaseException]) -> None:
    """Frames hold their images; only the lines of a traceback are wanted."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class PythonOp:
    """A function, its name, and the errors that it raised.

    It has to outlive every loader whose pipeline has it: pipelines and loaders
    hold it.
    """

    def __init__(
        self, fn: Callable[..., Any], name: str, thread_safe: bool
    ) -> None:
        if not callable(fn):
            raise InvalidArgument(
                "a Python operation is a callable, not %s" % type(fn).__name__
            )
        self.fn = fn
        self.name = name
        self.errors = Errors()
        self.takes_rng = takes_rng(fn)
        self.pixels = _Pixels()
        if not self.takes_rng:
            thread_draws.install()
        self.one_at_a_time = None if thread_safe else threading.Lock()
        self.run = _c.run_function(_runner(self))
        self.definition = _c.op_def(
            name=name.encode(),
            run=self.run,
            flags=0,
            scratch_bytes=0,
            label=label_of(name, fn).encode(),
        )

    def __repr__(self) -> str:
        return "<Python operation %s: %r>" % (self.name, self.fn)


def function_name(fn: Callable[..., Any]) -> str:
    """What its author calls it: "sleepy", "Blur", "lambda, train.py:12"."""
    for _ in range(8):  # decorators and partials around it
        inner = getattr(fn, "__wrapped__", None) or getattr(fn, "func", None)
        if not callable(inner):
            break
        fn = inner
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    name = name.rpartition("<locals>.")[2]
    code = getattr(fn, "__code__", None)
    if name == "<lambda>" and code is not None:
        file = os.path.basename(code.co_filename)
        return "lambda, %s:%d" % (file, code.co_firstlineno)
    return name


def label_of(name: str, fn: Callable[..., Any]) -> str:
    """The operation and its function, for verdicts: "python (`sleepy`)"."""
    function = function_name(fn)
    return name if name == function else "%s (`%s`)" % (name, function)


def takes_rng(fn: Callable[..., Any]) -> bool:
    """Whether it asks for its random numbers."""
    try:
        parameter = inspect.signature(fn).parameters.get("rng")
    except (TypeError, ValueError):
        return False  # a builtin without a signature
    return parameter is not None and parameter.kind in (
        parameter.POSITIONAL_OR_KEYWORD,
        parameter.KEYWORD_ONLY,
    )


def _runner(op: PythonOp) -> Callable[[int], int]:
    """The function that C calls."""
    from_address = _c.op_call.from_address
    waited = lib.quick.op_waited
    has_waited = "op_waited" not in lib.missing
    ident = threading.get_ident
    keep = keep_state
    lock = op.one_at_a_time

    def run(address: int) -> int:
        arrived = monotonic_ns()
        call = from_address(address)
        thread = ident()
        _inside[thread] = 1
        try:
            keep()
            if lock is not None:
                lock.acquire()
                arrived = monotonic_ns()
            try:
                # A library of before this field has 0 there.
                if has_waited and call.begin_ns:
                    waited(address, max(0, arrived - call.begin_ns))
                _apply(op, call)
            finally:
                if lock is not None:
                    lock.release()
        except BaseException as error:
            op.errors.add(call.epoch, call.sample_index, error)
            return _c.EUSER
        finally:
            del _inside[thread]
        return _c.OK

    return run


def _apply(op: PythonOp, call: _c.op_call) -> None:
    """The image through the function, and back."""
    image = call.image
    shape = (image.height, image.width, image.channels)
    mine = op.pixels.take(image.data, shape)
    if op.takes_rng:
        rng = Rng(call.rng)
        try:
            result = op.fn(mine, rng=rng)
        finally:
            rng._handle = None
    else:
        result = thread_draws.run(op.fn, mine, lambda: _seed(call.rng))
    if result is None:
        result = mine
    wrong = op.pixels.put(image.data, shape, result)
    if wrong:
        raise TypeError(
            "%s returned %s; it changes its image in place, or returns uint8 "
            "of the same shape %s" % (op.name, wrong, shape)
        )


def _seed(rng: int) -> int:
    """64 bits of the call's own random numbers."""
    draw = lib.quick.rng_u32
    return int(draw(rng)) << 32 | int(draw(rng))


def _numpy() -> Any:
    """None where there is none."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None


class _Pixels:
    """Images as arrays of numpy, or without numpy as memoryviews.

    numpy lets go of the interpreter's lock while it copies, and waits for it
    behind that, which for a few microseconds of work is a bad bargain where
    several threads want it. So it is not numpy that copies.
    """

    def __init__(self) -> None:
        self._numpy = _numpy()

    def take(self, address: int, shape: Shape) -> Any:
        """A copy of the image."""
        copy = bytearray(_bytes_at(address, shape))
        if self._numpy is None:
            return memoryview(copy).cast("B", shape)
        return self._numpy.frombuffer(copy, self._numpy.uint8).reshape(shape)

    def put(self, address: int, shape: Shape, result: Any) -> Optional[str]:
        """Writes an image back, or says what the result is instead of one."""
        if self._numpy is not None:
            result = self._numpy.asarray(result)
            kind, right = str(result.dtype), result.dtype == self._numpy.uint8
        else:
            try:
                result = memoryview(result)
            except TypeError:
                return "a %s" % type(result).__name__
            kind, right = "format " + result.format, result.format == "B"
        if not right or result.shape != shape:
            return "%s of shape %s" % (kind, result.shape)
        if not memoryview(result).c_contiguous:
            result = memoryview(result.tobytes())
        pixels = memoryview(_bytes_at(address, shape)).cast("B")
        pixels[:] = memoryview(result).cast("B")
        return None


def _bytes_at(address: int, shape: Shape) -> Any:
    height, width, channels = shape
    return (c_uint8 * (height * width * channels)).from_address(address)


def check_name(name: str) -> str:
    """As the library checks it, for a text that says where it came from."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InvalidArgument(
            "%r is no name for an operation: lower-case letters, digits and "
            "underscores, a letter first" % name
        )
    return name
