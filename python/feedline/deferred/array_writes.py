# SPDX-License-Identifier: Apache-2.0
"""Arrays that are written to: rectangles, values that are chosen, channels.

Only where nobody else sees it: what has the memory of an array is real then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import array_views as views
from . import canvas_functions as canvases
from . import steps as op
from .array import DeferredArray, alone, handlers, recorded_array
from .array_functions import (
    ERASED,
    copied,
    elementwise,
    is_operand,
    joint,
    snapshot,
)
from .array_views import NotRecorded
from .canvas import Canvas
from .record import Call, Record, selected


def _set_item(args: Any, kwargs: Any) -> Any:
    array, index, value = args
    record = recorded_array(array)
    if record is None or not array._writable or not alone(array):
        return NotImplemented
    if type(index) is DeferredArray:
        return _set_chosen(array, record, index, value)
    if type(value) is DeferredArray:
        if len(value.shape) == 3:
            return canvases.put_in(array, record, index, value)
        return _set_channel(array, record, index, value)
    chosen = views.channels_in(record, index)
    if chosen is not None:
        return _set_channels(array, index, value, len(chosen))
    if type(record.source) is Canvas:
        found = canvases.fill_in(array, record, index, value)
        if found is not NotImplemented:
            return found
    if not is_operand(value, record) or record.dtype not in ERASED:
        return NotImplemented
    try:
        return _set_box(array, record, index, value)
    except (NotRecorded, TypeError, ValueError, OverflowError):
        return NotImplemented


def _set_chosen(array: Any, record: Record, index: Any, value: Any) -> Any:
    """array[array == 3] = 1"""
    chosen = recorded_array(index)
    if chosen is None or chosen.dtype != np.bool_:
        return NotImplemented
    if not isinstance(value, (bool, int, float, np.generic)):
        return NotImplemented
    if isinstance(value, float) and record.dtype.kind != "f":
        return NotImplemented

    def assign(given: Any, where: Any) -> Any:
        given[where] = value
        return given

    found = elementwise(assign, (array, index), {}, in_place=True)
    return found if found is NotImplemented else None


def _set_channels(array: Any, index: Any, value: Any, n: int) -> Any:
    """array[..., 1] = 0, or array[..., [0, 2]] = (0, 128)."""
    numbers, kept = np.asarray(value), snapshot(value)
    if numbers.dtype.kind not in "biuf" or numbers.shape not in ((), (n,)):
        return NotImplemented
    if array.dtype.kind in "iu":  # how others are cast is not defined
        limits = np.iinfo(array.dtype)
        inside = (numbers >= limits.min) & (numbers <= limits.max)
        if not inside.all():
            return NotImplemented

    def assign(given: Any) -> Any:
        given[index] = kept
        return given

    found = elementwise(assign, (array,), {}, in_place=True)
    return found if found is NotImplemented else None


def _set_box(array: Any, record: Record, index: Any, value: Any) -> Any:
    """A rectangle becomes one value for each channel."""
    found = views.ranges_of(record, index)
    box = {axis: range(record.side(axis)) for axis in "hw"}
    for part in found:
        if part is None:
            return NotImplemented
        d, chosen, goes = part
        axis = record.axes[d]
        if axis in "hw":
            box[axis] = chosen
        elif chosen != range(record.shape[d]):
            return NotImplemented
    if len(found) != len(record.axes) or any(p[2] for p in found):
        return NotImplemented
    if any(chosen.step != 1 for chosen in box.values()):
        return NotImplemented
    sides = [record.side("c") if axis == "c" else 1 for axis in record.axes]
    values = np.zeros(sides, record.dtype)
    value = snapshot(value)
    values[...] = value
    (left, top), (w, h) = (
        (box["w"].start, box["h"].start),
        (len(box["w"]), len(box["h"])),
    )
    call = Call(record.call, _with_item, 0, (index, value))
    erased = (*record.erased, ((left, top, w, h), values.reshape(-1)))
    if len(record.steps) + len(erased) > op.MOST_STEPS - 4:
        return NotImplemented
    array._record, array._base = record.but(erased=erased, call=call), None
    return None


def _with_item(array: Any, index: Any, value: Any) -> Any:
    array[index] = value
    return array


def _set_channel(array: Any, record: Record, index: Any, value: Any) -> Any:
    """array[..., 0] = another channel of the image, perhaps by a table."""
    given, last = recorded_array(value), record.side("c") - 1
    if given is None or record.axes != "hwc" or given.axes != "hw":
        return NotImplemented
    if type(index) is not tuple or type(index[-1]) is not int:
        return NotImplemented
    if index[:-1] not in ((...,), (slice(None), slice(None))):
        return NotImplemented
    if not 0 <= index[-1] <= last or last == 0:
        return NotImplemented
    channels = [_channel(record, n, given.shape) for n in range(last + 1)]
    channels[index[-1]] = given
    call = Call(None, joint, 0, (_with_channel, [record.call, given.call], {}))
    call.args[1].append(index)
    try:
        new = views.merged(channels, call, "hwc")
    except NotRecorded:
        return NotImplemented
    array._record, array._base = new.but(strides=record.strides), None
    return None


def _channel(record: Record, n: int, shape: Any) -> Record:
    changed = selected(record, [n])
    assert changed is not None
    return record.but(axes="hw", shape=shape, **changed)


def _with_channel(array: Any, value: Any, index: Any) -> Any:
    array[index] = value
    return array


def _empty_like(args: Any, kwargs: Any) -> Any:
    """What is in it is not defined, so the image itself may be."""
    if len(args) != 1 or kwargs:
        return NotImplemented
    return copied(args[0], "K", np.ndarray.copy, ("K",))


def _fill(args: Any, kwargs: Any) -> Any:
    """array.fill(value)"""
    if len(args) != 2 or kwargs:
        return NotImplemented
    return _set_item((args[0], (...,), args[1]), {})


def install() -> None:
    canvases.register()
    handlers["fill"] = _fill
    handlers["__setitem__"] = _set_item
    handlers[np.empty_like] = _empty_like
