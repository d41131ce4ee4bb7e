# SPDX-License-Identifier: Apache-2.0
"""Meter: statistics for a `next` that somebody else has written.

Behind `feedline.watch` and behind a `feedline.torch.DataLoader` whose samples
torch loads. Two calls of the library stand around each call of that `next`;
everything else is what a `feedline.Loader` says about itself, too.

It changes nothing of what it measures: batches and exceptions pass through, and
where it cannot count (in a forked child, after close(), in a second thread at
the same time) it does not, without a word.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from typing import Any, Callable, Mapping, Optional, TypeVar

from . import _c
from ._library import lib
from .errors import StateError, check
from .observable import Observable
from .options import Config

T = TypeVar("T")

# Both wait for nothing, so the interpreter's lock stays here.
_begin = lib.quick.watch_begin
_end = lib.quick.watch_end
_OK, _END, _TIMEOUT = _c.OK, _c.END, _c.TIMEOUT


class Meter(Observable):
    """One account. call() and nothing(): one thread at a time."""

    def __init__(
        self,
        name: str,
        workers: int = 0,
        batch_size: int = 0,
        option: Optional[str] = None,
        options: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """name: of what is watched, for people. workers: that make its batches,
        and `option` what its users call that number, for advice. options: of
        docs/options.md, those for stats_log, metrics, live, trace and rank."""
        self._consumer = threading.RLock()
        self._others = threading.RLock()
        self._meter_name = name
        self._meter_facts = (workers, batch_size, option)
        self._config = Config(dict(options or {}))  # says what is wrong now
        self._handle: Optional[int] = None
        self._closed = False
        _live.add(self)

    # ---- Life -------------------------------------------------------------

    @property
    def handle(self) -> int:
        """The feedline_loader behind it, made when it is first asked for."""
        with self._consumer:
            return self._handle or self._make()

    def _make(self) -> int:
        if self._closed:
            raise StateError("the watch was closed")
        workers, batch_size, option = self._meter_facts
        cell = ctypes.c_void_p()
        facts = _c.watch_def(
            workers=workers,
            batch_size=batch_size,
            name=self._meter_name.encode(),
            option=None if option is None else option.encode(),
            device=_device(),
        )
        self._finalizer = weakref.finalize(self, lib.loader_destroy, cell)
        check(lib.watch_create(self._config.handle, facts, cell))
        self._handle = cell.value
        assert self._handle is not None
        return self._handle

    @property
    def closed(self) -> bool:
        """Whether close() was called; then nothing is counted any more."""
        return self._closed

    def close(self) -> None:
        """Ends the account, with a last line to stats_log; what is watched
        goes on uncounted. Any thread."""
        with self._consumer, self._others:
            self._closed = True
            if self._handle is not None:
                self._handle = None
                self._finalizer()

    def notes_of_batch(self) -> int:
        """What a ring of the trace gets for a batch: its steps and waits."""
        return 1

    # ---- Measuring --------------------------------------------------------

    def call(self, function: Callable[[], T], size: Callable[[T], int]) -> T:
        """What function() returns, as one call of next(). size: samples of a
        batch. StopIteration is the end of an epoch.

        Written out, as what Python does between the library's clocks and
        function() is counted as waiting for it.
        """
        with self._consumer:
            handle = self._handle or self._made()
            counted = handle is not None and _begin(handle) == _OK
        try:
            batch = function()
        except BaseException as error:
            if counted:
                ended = isinstance(error, StopIteration)
                self._returned(_END if ended else _TIMEOUT)
            raise
        if counted:
            self._returned(_OK, size(batch))
        return batch

    def nothing(self, function: Callable[[], T]) -> T:
        """What function() returns, as waiting for the batch that comes next."""
        with self._consumer:
            handle = self._handle or self._made()
            counted = handle is not None and _begin(handle) == _OK
        try:
            return function()
        finally:
            if counted:
                self._returned(_TIMEOUT)

    def _made(self) -> Optional[int]:
        """The handle, made now; None after close()."""
        return None if self._closed else self._make()

    def _returned(self, status: int, samples: int = 0) -> None:
        with self._consumer:
            if self._handle is not None:
                _end(self._handle, status, samples, 0)


def _device() -> Optional[bytes]:
    """The GPU that torch uses in this process, if it does."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    return b"cuda:%d" % cuda.current_device()


# ---- Samples of a batch ----------------------------------------------------


def samples_of(batch: Any) -> int:
    """The first dimension of the first tensor or array in it; 0: none there."""
    shape = getattr(batch, "shape", None)
    if isinstance(shape, tuple):
        return int(shape[0]) if shape else 0
    values: Any = ()
    if isinstance(batch, (list, tuple)):
        values = batch
    elif isinstance(batch, Mapping):
        values = batch.values()
    elif hasattr(batch, "images"):
        return samples_of(batch.images)
    for value in values:
        if isinstance(value, (str, bytes, int, float)):
            continue
        found = samples_of(value)
        if found:
            return found
    return 0


# ---- Fork ------------------------------------------------------------------

_live: "weakref.WeakSet[Meter]" = weakref.WeakSet()


def _after_fork() -> None:
    """A lock that another thread had at the fork is never given back here."""
    for meter in list(_live):
        meter._consumer = threading.RLock()
        meter._others = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["Meter", "samples_of"]
