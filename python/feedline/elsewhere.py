# SPDX-License-Identifier: Apache-2.0
"""Batches made elsewhere (feedline/elsewhere.h): a loader in the given order
expects them, and another thread brings them, from another process or machine.

What they are made of goes there as an `Asked`, and they come back as a `Made`.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Tuple

from . import _c
from ._library import lib
from .batch import Batch
from .errors import Error, check
from .fields import array_at
from .loader import Loader


class Asked(NamedTuple):
    """A batch to make. indices, copies: uint64 and uint32, as bytes."""

    epoch: int
    seed: int
    indices: bytes
    copies: bytes


class Made(NamedTuple):
    """A batch that was made: arrays of numpy.

    images: bytes, as they lie in the batch. labels, index, status: of each
    image, int64, int64 and int32.
    """

    images: Any
    labels: Any
    index: Any
    status: Any


class Planned(NamedTuple):
    """A batch of a loader's own order. position: on this rank; place: over all
    of them; last: of its epoch."""

    epoch: int
    sequence: int
    position: int
    place: int
    samples: int
    last: bool
    indices: bytes
    copies: bytes


def made_of(batch: Batch) -> Made:
    """Arrays over a batch in host memory, which they keep; it is released."""
    info = batch.info
    hold = batch.export()
    made = Made(
        array_at(hold, batch.images.data_ptr(), "|u1", batch.image_bytes),
        batch.labels.numpy(),
        array_at(hold, info.sample_index, "<i8", info.count),
        array_at(hold, info.sample_status, "<i4", info.count),
    )
    batch.release()
    return made


def expect(loader: Loader, count: int) -> int:
    """Appends a batch that will be brought; its ticket. The consumer's."""
    ticket = ctypes.c_uint64()
    with loader._consumer:
        check(lib.quick.loader_expect(loader.handle, count, ticket))
    return int(ticket.value)


def bring(loader: Loader, ticket: int, made: Made) -> bool:
    """Copies it to its place; False: there is no memory for it yet. Any
    thread."""
    what = _c.brought(
        images=_address(made.images),
        image_bytes=made.images.nbytes,
        labels=_pointer(made.labels, ctypes.c_int64),
        sample_index=_pointer(made.index, ctypes.c_int64),
        sample_status=_pointer(made.status, ctypes.c_int32),
    )
    return _bring(loader, ticket, what)


def fail(loader: Loader, ticket: int, error: Error) -> bool:
    """next() raises this in place of the batch; False: try again later."""
    reason = str(error).replace("\n", " ").encode()
    status = error.status if error.status < 0 else _c.EUSER
    return _bring(loader, ticket, _c.brought(status=status, reason=reason))


def _bring(loader: Loader, ticket: int, what: Any) -> bool:
    with loader._others:
        status = lib.loader_bring(loader.handle, ticket, what)
    return check(status) != _c.TIMEOUT


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _pointer(array: Any, kind: Any) -> Any:
    return ctypes.cast(_address(array), ctypes.POINTER(kind))


class Plan:
    """The order of a loader, which need not run: batch after batch of a run
    that begins at `position` (over all ranks) of `epoch`."""

    def __init__(
        self, loader: Loader, epoch: int, position: int, number: int = 0
    ) -> None:
        """number: of the batch that comes first."""
        most = loader.get("batch_size")
        self._loader = loader
        self._start = epoch, position
        self._indices = (ctypes.c_uint64 * most)()
        self._copies = (ctypes.c_uint32 * most)()
        self._number = number
        self._next: Optional[Planned] = None

    def peek(self) -> Planned:
        """The next batch."""
        if self._next is None:
            self._next = self._find(*self._start)
        return self._next

    def take(self) -> Planned:
        """The same, and it is taken."""
        found = self.peek()
        self._next = None
        self._number += 1
        return found

    def _find(self, epoch: int, position: int) -> Planned:
        raw = _c.planned()
        loader = self._loader
        memory: Tuple[Any, Any] = (self._indices, self._copies)
        with loader._others:
            check(
                lib.loader_plan(
                    loader.handle, epoch, position, self._number, *memory, raw
                )
            )
        return Planned(
            raw.epoch,
            raw.sequence,
            raw.position,
            raw.place,
            raw.count,
            bool(raw.last),
            ctypes.string_at(self._indices, 8 * raw.count),
            ctypes.string_at(self._copies, 4 * raw.count),
        )
