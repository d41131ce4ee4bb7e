# SPDX-License-Identifier: Apache-2.0
"""Arrays of several images, one behind the other: np.stack(masks).

albumentations makes one array of `masks=[...]`. It gives it to each transform,
which takes it apart and stacks what it has made of each, and in the end it
makes a list of it. So this is taken apart, stacked, and handed out; whatever
else is done to it makes it real.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np

from .array import DeferredArray, handlers, recorded_array
from .array_functions import joint
from .description import Deferred, Form
from .image_source import Source
from .record import Call, Record, dense
from .recording import state

# Far from the masks that a sample may have.
_MOST = 128


class Stacked:
    """In place of a record."""

    whole = True  # no record of one image
    blank = False
    pending = None

    def __init__(self, parts: Tuple[Record, ...], call: Call) -> None:
        first = parts[0]
        self.parts, self.call = parts, call
        self.shape = (len(parts), *first.shape)
        self.axes, self.strides = "n" + first.axes, dense(self.shape)
        self.dtype, self.run = first.dtype, first.run
        # Says whether it was read.
        self.source = Source(None, None, first.source.header)

    def deferred(self, leaf: Any) -> Any:
        """How the engine makes it; None: it has to be real."""
        if self.run not in (state.run, state.last) or self.source.read:
            return None
        found: List[Any] = []
        for part in self.parts:
            dense_part = part.but(strides=dense(part.shape))
            found.append(DeferredArray(dense_part)._feedline_deferred)
        if None in found:
            return None
        one = found[0]
        form = Form(
            self.shape,
            (one.channels, one.height, one.width),
            dtype=one.dtype,
            element_bytes=one.element_bytes,
            wrap=one.wrap,
        )
        made = Deferred(leaf, one.source, (), form)
        made.parts = tuple(found)
        return made


def stacked_of(array: Any) -> Any:
    """What a stack consists of, as long as it may be taken apart; else None."""
    record: Any = array._record if type(array) is DeferredArray else None
    if type(record) is not Stacked or array._base is not None:
        return None
    return record if record.run is state.run else None


def stack(arrays: Any, axis: int) -> Any:
    """np.stack(arrays, axis), of deferred ones."""
    found = [
        recorded_array(a) if type(a) is DeferredArray else None for a in arrays
    ]
    records = tuple([record for record in found if record is not None])
    if axis != 0 or not 0 < len(records) <= _MOST or len(records) < len(found):
        return NotImplemented
    first = records[0]
    for one in records:
        if (one.axes, one.shape) != (first.axes, first.shape):
            return NotImplemented
        if one.dtype != first.dtype:
            return NotImplemented
    calls = [record.call for record in records]
    call = Call(None, joint, 0, (_together, calls, {}))
    made: Any = Stacked(records, call)
    return DeferredArray(made)


def _together(*arrays: Any) -> Any:
    return np.stack(arrays)


def part_of(array: Any, index: Any) -> Any:
    """array[index], which is a view."""
    record = stacked_of(array)
    if record is None or type(index) is not int:
        return NotImplemented
    n = len(record.parts)
    if not -n <= index < n:
        return NotImplemented
    index %= n
    one = record.parts[index]
    call = Call(record.call, np.ndarray.__getitem__, 0, (index,))
    return DeferredArray(one.but(call=call, strides=dense(one.shape)), array)


def _iterated(args: Any, kwargs: Any) -> Any:
    """Also of an image whose first dimension is not the height."""
    array = args[0]
    if stacked_of(array) is None:
        record = recorded_array(array)
        if record is None or record.axes[0] in "hw":
            return NotImplemented
    return iter([array[n] for n in range(len(array))])


handlers["__iter__"] = _iterated
