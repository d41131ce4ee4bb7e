# SPDX-License-Identifier: Apache-2.0
"""watch: what any loader keeps you waiting for, without changing it.

    loader = feedline.watch(loader)         # torch's, DALI's, a generator ...
    for batch in loader:
        train(batch)
    print(loader.explain())

docs/watch.md shows what comes out. torch need not be installed.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, Iterator, NamedTuple, Optional, Tuple

from .meter import Meter, samples_of


class _Facts(NamedTuple):
    """What can be told of an iterable by looking at it."""

    name: str
    workers: int = 0
    batch_size: int = 0
    option: Optional[str] = None


def _facts_of(inner: Any) -> _Facts:
    name = type(inner).__name__
    data: Any = sys.modules.get("torch.utils.data")
    if data is None or not isinstance(inner, data.DataLoader):
        return _Facts(name)
    return _Facts(name, inner.num_workers, inner.batch_size or 0, "num_workers")


class Watch(Meter):
    """Wraps an iterable and measures its iteration.

    What is not its own (stats, explain, phase ...: see Observable) is the inner
    one's: attributes, len(), bool(). A `with` closes the account at its end.
    Statistics: any thread. One thread iterates at a time; where two do, calls
    that overlap pass through and are not counted.
    """

    def __init__(
        self,
        inner: Iterable[Any],
        name: Optional[str] = None,
        batch_size: Optional[int] = None,
        options: Optional[Dict[str, Any]] = None,
    ) -> None:
        self._inner = inner
        self._made_of = (inner, name, batch_size, dict(options or {}))
        facts = _facts_of(inner)
        super().__init__(
            facts.name if name is None else name,
            facts.workers,
            batch_size or facts.batch_size,
            facts.option,
            options,
        )
        self._batch_size = batch_size or 0

    def __iter__(self) -> Iterator[Any]:
        return _Iterator(self, self.nothing(lambda: iter(self._inner)))

    def _size(self, batch: Any) -> int:
        return samples_of(batch) or self._batch_size

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
    batch without tensors. options, see docs/options.md: stats_log, metrics,
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
