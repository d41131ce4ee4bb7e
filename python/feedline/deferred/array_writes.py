# SPDX-License-Identifier: Apache-2.0
"""Arrays that are written to: rectangles, values that are chosen, channels.

Only where nobody else sees it: what has the memory of an array is real then.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any, Optional

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
from .class_arrays import OfOneNumber, compared
from .record import Call, Record, selected


def _set_item(args: Any, kwargs: Any) -> Any:
    array, index, value = args
    if type(array._record) is OfOneNumber and type(index) is DeferredArray:
        compared(array, index)
    record = recorded_array(array)
    if record is None or not array._writable:
        return NotImplemented
    if type(value) is DeferredArray and type(index) is not DeferredArray:
        found = _set_array(array, record, index, value)
        if found is NotImplemented and len(value.shape) == 3 and alone(array):
            found = canvases.put_in(array, record, index, value)
        return found
    if not alone(array):
        return NotImplemented
    if type(index) is DeferredArray:
        return _set_chosen(array, record, index, value)
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


def _set_array(array: Any, record: Record, index: Any, value: Any) -> Any:
    """All of the array, or a channel, becomes another array of the image."""
    if value.dtype != record.dtype:
        value = elementwise(_cast_to(record.dtype), (value,))
    given = None if value is NotImplemented else recorded_array(value)
    if given is None:
        return NotImplemented
    try:
        if not _is_all(index):
            return _set_channel(array, record, index, given)
        if given.axes != record.axes or given.shape != record.shape:
            return NotImplemented
        if alone(array):
            call = _written(record, ..., given)
            new = given.but(strides=record.strides, call=call)
            array._record, array._base = new, None
            return None
        return _set_view(array, record, given)
    except NotRecorded:
        return NotImplemented


@lru_cache(maxsize=16)
def _cast_to(kind: Any) -> Any:
    """The same function each time, so what it makes is remembered."""
    return operator.methodcaller("astype", kind)


def _is_all(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    return all(
        part is Ellipsis or (type(part) is slice and part == slice(None))
        for part in parts
    )


def _written(record: Record, index: Any, given: Record) -> Call:
    """The call that writes an array to another one."""
    parts = [record.call, index, given.call]
    return Call(None, joint, 0, (_with_item, parts, {}))


def _set_view(view: Any, record: Record, given: Record) -> Any:
    """All of a channel of an array that has no other view."""
    base, call = view._base, record.call
    whole = recorded_array(base) if type(base) is DeferredArray else None
    if whole is None or base._base is not None or base._shown:
        return NotImplemented
    if any(ref() is not view for ref in base._views if ref() is not None):
        return NotImplemented
    if any(ref() is not None for ref in view._views) or view._shown:
        return NotImplemented
    if call.before is not whole.call:
        return NotImplemented
    if call.function is not np.ndarray.__getitem__ or len(call.args) != 1:
        return NotImplemented
    (index,) = call.args
    new = _with_channel_set(whole, index, given)
    if new is None:
        return NotImplemented
    base._record = new
    again = Call(new.call, np.ndarray.__getitem__, 0, (index,))
    view._record = given.but(strides=record.strides, call=again)
    return None


def _set_channel(array: Any, record: Record, index: Any, given: Record) -> Any:
    """array[..., 0] = another channel of the image, perhaps by a table."""
    new = _with_channel_set(record, index, given) if alone(array) else None
    if new is None:
        return NotImplemented
    array._record, array._base = new, None
    return None


def _with_channel_set(
    record: Record, index: Any, given: Record
) -> Optional[Record]:
    last = record.side("c") - 1
    if record.axes != "hwc" or given.axes != "hw":
        return None
    if type(index) is not tuple or type(index[-1]) is not int:
        return None
    if index[:-1] not in ((...,), (slice(None), slice(None))):
        return None
    if not 0 <= index[-1] <= last or last == 0:
        return None
    channels = [_channel(record, n, given.shape) for n in range(last + 1)]
    channels[index[-1]] = given
    call = _written(record, index, given)
    return views.merged(channels, call, "hwc").but(strides=record.strides)


def _channel(record: Record, n: int, shape: Any) -> Record:
    changed = selected(record, [n])
    assert changed is not None
    return record.but(axes="hw", shape=shape, **changed)


def overwritten(array: Any, new: Record) -> Any:
    """The array, whose pixels OpenCV overwrote with these."""
    record = recorded_array(array)
    if record is None or not array._writable or not alone(array):
        return NotImplemented
    if record.shape != new.shape or record.dtype != new.dtype:
        return NotImplemented
    if record.strides[1:] != new.strides[1:]:  # of others it makes no image
        return NotImplemented
    if record.strides[0] < new.strides[0]:
        return NotImplemented
    call = _written(record, ..., new)
    new = new.but(strides=record.strides, call=call)
    array._record, array._base = new, None
    return array


def _empty_like(args: Any, kwargs: Any) -> Any:
    """What is in it is not defined, so the image itself may be."""
    if len(args) != 1 or set(kwargs) - {"dtype"}:
        return NotImplemented
    array, kind = args[0], kwargs.get("dtype")
    if kind is None or np.dtype(kind) == array.dtype:
        return copied(array, "K", np.ndarray.copy, ("K",))
    return elementwise(_cast_to(np.dtype(kind)), (array,))


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
