# SPDX-License-Identifier: Apache-2.0
"""watch: measures what any loader keeps you waiting for, without changing it.

    loader = feedline.watch(loader)         # torch's, DALI's, a generator ...
    for batch in loader:
        train(batch)
    print(loader.explain())

docs/watch.md shows what comes out. torch need not be installed.
"""

from __future__ import annotations

import ctypes
import sys
import time
import weakref
from contextlib import suppress
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping
from typing import Optional, Tuple, TypeVar

from . import _c, lifetime, views
from ._library import lib
from .errors import StateError, check
from .observable import Observable
from .options import Config
from .worker_functions import IDLE, Functions

# ---- Meter ------------------------------------------------------------------
#
# Behind feedline.watch, and behind a feedline.torch.DataLoader whose samples
# torch loads. Two calls of the library enclose each call of somebody else's
# `next`; the rest is what a feedline.Loader reports too. Batches and exceptions
# pass through unchanged, and where it cannot count (in a forked child, after
# close(), in a second thread at the same time) it silently does not.

T = TypeVar("T")

# Both wait for nothing, so the interpreter's lock stays here.
_begin = lib.quick.watch_begin
_end = lib.quick.watch_end_at
_now = time.monotonic_ns  # the library's clock
_OK, _END, _TIMEOUT = _c.OK, _c.END, _c.TIMEOUT
_HEAR_NS = 1_000_000_000  # how often workers are listened to


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
        and `option` what its users call that number, for advice. batch_size:
        samples of a full batch; 0: not known. options: of
        docs/options.md, those for stats_log, metrics, live, trace and rank."""
        self._renew_locks()
        self._meter_name = name
        self._meter_facts = (workers, batch_size, option)
        self._config = Config(dict(options or {}))  # says what is wrong now
        self._handle: Optional[int] = None
        self._closed = False
        self._functions: Optional[Functions] = None  # of its workers
        self._heard = 0
        lifetime.add(self)

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
        self._finalizer.atexit = False  # lifetime.py closes it then
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
            if self._functions is not None:
                self._functions.close()
            if self._handle is not None:
                self._handle = None
                lifetime.finalize(self._finalizer)

    _end = close

    # ---- Measuring --------------------------------------------------------

    def call(self, function: Callable[[], T], size: Callable[[T], int]) -> T:
        """What function() returns, as one call of next().

        function: the `next` of what is watched; StopIteration is the end of an
        epoch. size: of the batch that it returned, samples.

        Written out, as what Python does between its clocks and function() is
        counted as waiting for it.
        """
        with self._consumer:
            handle = self._handle or self._made()
            counted = handle is not None and _begin(handle) == _OK
        began = _now()
        try:
            batch = function()
        except BaseException as error:
            ended = _now()
            if counted:
                over = isinstance(error, StopIteration)
                self._returned(_END if over else _TIMEOUT, 0, began, ended)
            raise
        ended = _now()
        if counted:
            self._returned(_OK, size(batch), began, ended)
        if self._functions is not None and ended - self._heard >= _HEAR_NS:
            self._heard = ended
            self._hear()
        return batch

    def nothing(self, function: Callable[[], T]) -> T:
        """What function() returns, as waiting for the batch that comes next.

        function: such as the `iter` of what is watched.
        """
        with self._consumer:
            handle = self._handle or self._made()
            counted = handle is not None and _begin(handle) == _OK
        began = _now()
        try:
            return function()
        finally:
            ended = _now()
            if counted:
                self._returned(_TIMEOUT, 0, began, ended)

    def iterator(self, loader: Any, make: Callable[[], T]) -> T:
        """What make() returns, an iterator of a loader, as nothing() does;
        worker processes that it starts tell what they do.

        loader: torch's. make: such as its `iter`.
        """
        with self._others:
            if self._functions is None and loader.num_workers > 0:
                with suppress(OSError):  # no file descriptor is left
                    self._functions = Functions()
        if self._functions is None or self._closed:
            return self.nothing(make)
        with self._functions.looked_into(loader):
            return self.nothing(make)

    def _hear(self) -> None:
        """Adds what the workers have told to the account."""
        with self._others:
            if self._functions is None or self._handle is None:
                return
            for name, wall, cpu in self._functions.told():
                if name == IDLE:
                    lib.watch_idle(self._handle, wall)
                else:
                    lib.watch_spent(self._handle, name, wall, cpu)

    def text(self, function: Any, *arguments: Any) -> str:
        self._hear()
        return super().text(function, *arguments)

    def reset_stats(self) -> None:
        self._hear()  # what they did until now
        super().reset_stats()

    def _made(self) -> Optional[int]:
        """The handle, made now; None after close()."""
        return None if self._closed else self._make()

    def _returned(
        self, status: int, samples: int, began: int, ended: int
    ) -> None:
        with self._consumer:
            if self._handle is not None:
                _end(self._handle, status, samples, 0, began, ended)


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


# ---- Watch -----------------------------------------------------------------


def _workers_of(inner: Any) -> Tuple[int, int, Optional[str]]:
    """What can be told of an iterable by looking at it: its workers, its batch
    size, and what its users call the number of workers."""
    data: Any = sys.modules.get("torch.utils.data")
    if data is None or not isinstance(inner, data.DataLoader):
        return 0, 0, None
    return inner.num_workers, inner.batch_size or 0, "num_workers"


def _starts_workers(inner: Any) -> bool:
    """As torch's does; a feedline.torch.DataLoader looks into them itself."""
    return _workers_of(inner)[0] > 0 and not hasattr(
        type(inner), "fallback_reason"
    )


_IMAGES = ("PIL.", "torchvision.")  # what our engine does in C
_MUCH = 0.25  # of the workers' time

_INSTEAD = (
    "\n\nPIL and torchvision took %.0f %% of the workers' time. "
    "feedline.torch.DataLoader does their work in C, with the same pixels: "
    "import it in place of torch's; its fallback_reason says if it cannot."
)


class Watch(Meter):
    """Wraps an iterable and measures its iteration.

    Everything but its own methods (stats, explain, phase ...: see Observable)
    is the inner one's: attributes, len(), bool(). A `with` closes the account
    at its end. Statistics: any thread. One thread iterates at a time;
    overlapping calls of other threads pass through and are not counted.
    """

    def __init__(
        self,
        inner: Iterable[Any],
        name: Optional[str] = None,
        batch_size: Optional[int] = None,
        options: Optional[Dict[str, Any]] = None,
    ) -> None:
        """inner: what is iterated. name, batch_size, options: as for watch."""
        self._inner = inner
        self._made_of = (inner, name, batch_size, dict(options or {}))
        workers, size, option = _workers_of(inner)
        super().__init__(
            type(inner).__name__ if name is None else name,
            workers,
            batch_size or size,
            option,
            options,
        )
        self._batch_size = batch_size or 0

    def __iter__(self) -> Iterator[Any]:
        inner = self._inner
        if not _starts_workers(inner):
            return _Iterator(self, self.nothing(lambda: iter(inner)))
        return _Iterator(self, self.iterator(inner, lambda: iter(inner)))

    def _size(self, batch: Any) -> int:
        return samples_of(batch) or self._batch_size

    def explain(self) -> str:
        """As any loader's; and of one of torch's that is waited for, and makes
        images, what would make them faster."""
        return super().explain() + self._instead()

    def _instead(self) -> str:
        if not _starts_workers(self._inner):
            return ""
        found = self.stats()
        part = sum(
            one["worker_fraction"]
            for one in found["operations"]
            if one["label"].startswith(_IMAGES)
        )
        waited = views.verdict(found).level not in ("FED", "UNKNOWN")
        return _INSTEAD % (100 * part) if waited and part >= _MUCH else ""

    def __len__(self) -> int:
        return len(self._inner)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return bool(self._inner)

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":  # not made yet
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickled as what it watches: another account, at its beginning."""
        return type(self), self._made_of

    def __repr__(self) -> str:
        return "<feedline.watch of %r>" % (self._inner,)


class _WatchedIterator(Watch):
    """Of an iterator, which is its own iter()."""

    def __next__(self) -> Any:
        inner: Any = self._inner
        return self.call(inner.__next__, self._size)


class _Iterator:
    """One iter() of a watch. What is not __next__ is the inner one's: close(),
    send() and throw() of a generator, too."""

    def __init__(self, watch: Watch, inner: Iterator[Any]) -> None:
        self._inner = inner
        self._next = inner.__next__
        self._call = watch.call
        self._size = watch._size

    def __iter__(self) -> "_Iterator":
        return self

    def __next__(self) -> Any:
        return self._call(self._next, self._size)

    def __length_hint__(self) -> int:
        hint = getattr(self._inner, "__length_hint__", None)
        return NotImplemented if hint is None else hint()

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)


def watch(
    iterable: Iterable[Any],
    *,
    name: Optional[str] = None,
    batch_size: Optional[int] = None,
    **options: Any,
) -> Watch:
    """Statistics, a verdict, `loaderbench top` and traces for any loader.

    iterable: torch's DataLoader, DALI's, WebDataset's, a generator, any
    iterable or iterator. Objects, exceptions and repeated iteration are
    unchanged. name: for display; None: the type's. batch_size: samples of a
    batch without tensors. options: of docs/options.md: stats_log, metrics,
    stats_interval, live, rank, world and traces.

    Costs a few microseconds per batch. Raises TypeError for a non-iterable,
    UnknownName, InvalidArgument or RangeError for options.
    """
    if not hasattr(type(iterable), "__iter__") and not hasattr(
        type(iterable), "__getitem__"
    ):
        raise TypeError(
            "feedline.watch takes what can be iterated, not %s"
            % type(iterable).__name__
        )
    kind = _WatchedIterator if hasattr(type(iterable), "__next__") else Watch
    return kind(iterable, name, batch_size, options)


__all__ = ["Watch", "watch"]
