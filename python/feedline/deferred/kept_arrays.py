# SPDX-License-Identifier: Apache-2.0
"""Deferred arrays that a data set keeps for later samples.

    self.buffer.append(cv2.resize(cv2.imread(path), size))

An array used in a later run than its own would become real, and be decoded by
Python. As long as all that is kept is not too much, it goes on as a deferred
one in that run instead, under a number: the engine keeps the pixels of images
with numbers, and makes them once for many samples. Beyond that it becomes real,
as a data set that caches all of its images wants them.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any, Optional

from .. import _c
from .image_source import Source
from .record import Record
from .recording import state

# Of all recorders: an engine knows no other's.
_numbers = itertools.count(1)


class Kept:
    """Of a recorder: what is kept, as long as the array is there.

    Batches that are not delivered yet have its source as well, and many of them
    would leave no room for what the program keeps.
    """

    MOST = _c.KEPT_BYTES_MAX

    def __init__(self) -> None:
        self.bytes = 0
        self._refusals = 0  # to come, before it is looked for garbage again
        self._patience = 0

    def take(self, array: Any, record: Record) -> bool:
        """Whether there is room for it, or it was there before."""
        source, steps = record.source, record.steps
        if steps in source.kept:
            return True
        h, w, c = record.shape
        n = h * w * c
        if self.bytes + n > self.MOST and not self._makes_room(n):
            return False
        self.bytes += n
        weakref.finalize(array, self._let_go, n, source, steps).atexit = False
        source.kept = {**source.kept, steps: (next(_numbers), (w, h))}
        return True

    def _makes_room(self, n: int) -> bool:
        """A data set that is of no use any more may be a cycle of objects, and
        has a buffer of its own."""
        self._refusals -= 1
        if self._refusals >= 0:
            return False
        before = self.bytes
        gc.collect()
        if before - self.bytes >= self.MOST // 8:
            self._refusals = self._patience = 0
        else:
            self._patience = self._refusals = max(64, self._patience * 4)
        return self.bytes + n <= self.MOST

    def _let_go(self, n: int, source: Source, steps: Any) -> None:
        self.bytes -= n
        # Another array of the same image is counted anew.
        source.kept = {k: v for k, v in source.kept.items() if k != steps}


def adopted(array: Any) -> Optional[Record]:
    """The record of an array of an earlier run, which is of this run from now
    on; None: it has to be real."""
    record: Record = array._record
    run = state.run
    if run is None or run.recorder is not record.run.recorder:
        return None
    if array._base is not None or not run.adopts or not _may_be_kept(record):
        return None
    recorder = run.recorder
    if recorder.kept is None:
        recorder.kept = Kept()
    if not recorder.kept.take(array, record):
        return None
    array._record = new = record.but(run=run)
    return new


def _may_be_kept(record: Record) -> bool:
    """An image of a file, as bytes."""
    return (
        record.axes == "hwc"
        and record.mode == "RGB"
        and record.table is None
        and not record.erased
        and record.dtype.char == "B"
        and not record.source.read
        and hasattr(record.source, "seen")
        and bool(record.source.path or record.source.data)
    )


def note_kept(array: Any) -> None:
    """The program keeps arrays: this one, or what it shows, may be the next."""
    while array._base is not None:
        array = array._base
    record = getattr(array, "_record", None)
    if record is not None and not record.whole and _may_be_kept(record):
        record.run.recorder.kept.take(array, record)
