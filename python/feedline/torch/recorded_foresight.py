# SPDX-License-Identifier: Apache-2.0
"""Headers that are read before a sample asks for them.

    index of a coming batch -> path, guessed -> header, read by a thread

A sample's Python waits while the header of its image is read, and samples are
recorded one after the other. On storage that takes milliseconds for a file (a
network, a disk) that wait is nearly all of the first epoch. So where opening is
slow, the first samples tell where their paths come from: an entry of the data
set at the sample's index, with a folder in front of it and a suffix behind. Of
the batches that follow, several threads then read the headers at once. A wrong
guess costs a look at a file; each sample's true paths are compared with the
guesses, and after a few wrong ones there are no more.
"""

from __future__ import annotations

import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence
from typing import Set, Tuple

from torch.utils.data import Subset

from ..deferred import image_source
from ..deferred.image_source import Source

THREADS = 16
# Samples that must agree on where a path comes from.
_AGREED = 4
# Samples after which nothing was found, or that were guessed wrongly.
_MOST_TRIED, _MOST_WRONG = 64, 8
# How far a data set's objects are looked into, and how many of them.
_DEPTH, _MOST_OBJECTS = 3, 64


class Guess(NamedTuple):
    """A path is before + rows[index], or its entry at `key`, + behind."""

    rows: Any
    key: Any
    before: str
    behind: str

    def of(self, index: int) -> Optional[str]:
        try:
            text = _text_of(self.rows[index], self.key)
        except Exception:  # of another type or length by now
            return None
        return None if text is None else self.before + text + self.behind


class Foresight:
    """Of one run. `seen` and `ahead` may be on two threads."""

    def __init__(self) -> None:
        self._over = False
        self._tried = self._agreed = self._wrong = 0
        # For each image of a sample, in its order.
        self._guesses: List[List[Guess]] = []
        self._kinds: List[Any] = []
        self._pool: Optional[ThreadPoolExecutor] = None

    @property
    def wants(self) -> bool:
        """Whether it is of use, and can be."""
        return not self._over and image_source.are_slow()

    @property
    def knows(self) -> bool:
        return self._agreed >= _AGREED

    def seen(self, dataset: Any, index: Any, sources: Sequence[Source]) -> bool:
        """What a sample has opened; whether it is known just now where from."""
        dataset, index = _innermost(dataset, index)
        names = [source.filename for source in sources]
        known = all(type(name) is str and name for name in names)
        if index is None or not names or not known:
            return False
        if self.knows:
            self._check(index, names)
            return False
        self._tried += 1
        self._over = self._tried > _MOST_TRIED
        if not self._agreed or len(names) < len(self._guesses):
            self._begin(dataset, index, sources)
        else:
            self._narrow(index, names)
        return self.knows

    def _begin(
        self, dataset: Any, index: int, sources: Sequence[Source]
    ) -> None:
        found = [list(_guesses(dataset, index, s.filename)) for s in sources]
        self._guesses = found
        self._kinds = [source.header.kind for source in sources]
        self._agreed = 1 if any(found) else 0

    def _narrow(self, index: int, names: List[Any]) -> None:
        for place, name in zip(range(len(self._guesses)), names):
            guesses = self._guesses[place]
            right = [one for one in guesses if one.of(index) == name]
            self._guesses[place] = right
        self._agreed = self._agreed + 1 if any(self._guesses) else 0

    def _check(self, index: int, names: List[Any]) -> None:
        for guesses, name in zip(self._guesses, names):
            if guesses and guesses[0].of(index) != name:
                self._wrong += 1
                self._over = self._wrong > _MOST_WRONG
                return

    def ahead(self, dataset: Any, indices: List[Any]) -> None:
        """Headers of samples that come soon."""
        if not self.knows or not self.wants:
            return
        pool = self._threads()
        for index in indices:
            dataset_of, number = _innermost(dataset, index)
            for guesses, kind in zip(self._guesses, self._kinds):
                if number is None or not guesses:
                    continue
                path = guesses[0].of(number)
                if path is not None and not image_source.is_known(path):
                    pool.submit(image_source.look_ahead, path, kind)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            pool = ThreadPoolExecutor(THREADS, "feedline-ahead")
            self._pool = pool
            # What waits there has no reference to this.
            weakref.finalize(
                self, pool.shutdown, wait=False, cancel_futures=True
            )
        return self._pool


def _innermost(dataset: Any, index: Any) -> Tuple[Any, Optional[int]]:
    """The data set that a subset is of, and the index there."""
    try:
        while type(dataset) is Subset:
            dataset, index = dataset.dataset, dataset.indices[index]
        return dataset, int(index)
    except Exception:
        return dataset, None


def _guesses(dataset: Any, index: int, path: Any) -> Iterator[Guess]:
    """All that give that path; the longest entries first, as those say most."""
    found: List[Tuple[int, Guess]] = []
    for rows in _rows_of(dataset):
        try:
            row = rows[index]
            keys = _keys_of(row)
        except Exception:
            continue
        for key in keys:
            text = _text_of(row, key)
            at = path.rfind(text) if text else -1
            if text and at >= 0:
                behind = path[at + len(text) :]
                found.append((len(text), Guess(rows, key, path[:at], behind)))
    for _, one in sorted(found, key=lambda pair: -pair[0]):
        yield one


def _rows_of(dataset: Any) -> Iterator[Any]:
    """Sequences and tables in a data set."""
    waiting: List[Tuple[Any, int]] = [(dataset, 0)]
    seen: Set[int] = set()
    while waiting and len(seen) < _MOST_OBJECTS:
        found, depth = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, (list, tuple)) or hasattr(found, "__array__"):
            yield from _columns_of(found)
        elif depth < _DEPTH:
            inner = found if isinstance(found, dict) else _vars_of(found)
            waiting += [(value, depth + 1) for value in inner.values()]


def _vars_of(value: Any) -> Dict[str, Any]:
    return getattr(value, "__dict__", {})


def _columns_of(rows: Any) -> Iterator[Any]:
    """A table of pandas' has an array for each column."""
    if hasattr(rows, "columns"):
        for name in rows.columns:
            yield rows[name].to_numpy()
    elif hasattr(rows, "to_numpy"):
        yield rows.to_numpy()
    else:
        yield rows


def _keys_of(row: Any) -> List[Any]:
    """Where in an entry a name may be; None: it is one."""
    if isinstance(row, dict):
        return list(row)
    if isinstance(row, (list, tuple)) or hasattr(row, "shape"):
        return list(range(min(len(row), 8)))
    return [None]


def _text_of(row: Any, key: Any) -> Optional[str]:
    value = row if key is None else row[key]
    if isinstance(value, str):
        return str(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else None
