# SPDX-License-Identifier: Apache-2.0
"""Sums of an image of bytes and something else: an array of noise, by OpenCV's
add or NumPy's; or its own gray image, by addWeighted. A mask that makes pixels
white or black is such an array, too.

NumPy's sum and OpenCV's of floats are no image of bytes before they are limited
and become bytes again. Until then their record is `pending`: all other uses of
them get the real array.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

import numpy as np

from . import array_functions
from . import opencv_steps as made
from . import steps as op
from .array import (
    DeferredArray,
    first_of,
    handlers,
    pending_array,
    recorded_array,
)
from .array_views import NotRecorded
from .record import Call, Record, dense

# OpenCV's number of the type of an array that is added, where bytes come out.
_DEPTHS = {
    np.dtype(np.uint8): 0,
    np.dtype(np.int16): 3,
    np.dtype(np.float32): 5,
}
_FLOAT64 = 6
_TO_BYTES = 0  # for an argument dtype


class Added(NamedTuple):
    """A sum of bytes and numbers, which is not bytes yet."""

    depth: int
    numbers: bytes
    limited: bool = False  # to 0 and 255


def _step(record: Record, depth: int, numbers: bytes, cut: bool) -> op.Step:
    values = record.side("w"), record.side("h"), depth, int(cut)
    return op.CV_ADD, values, numbers


def _kept(array: Any, kind: Any) -> Tuple[Any, bytes]:
    """The array and its numbers as that type, whatever becomes of it later."""
    data = array.astype(kind).tobytes()
    if array.dtype != kind:
        return array.copy(), data
    return np.frombuffer(data, kind).reshape(array.shape), data


def _fits(array: Any, record: Record) -> bool:
    """An array for every pixel, in the order of the image."""
    return (
        type(array) is np.ndarray
        and array.shape == record.shape
        and record.axes in ("hw", "hwc")
        and not record.erased
    )


def add(original: Any, array: Any, other: Any, dtype: int = -1) -> Any:
    """cv2.add of an array."""
    record = recorded_array(array)
    if record is None or not _fits(other, record):
        return NotImplemented
    named = {"dtype": dtype}
    if record.dtype == np.float32 == other.dtype and dtype in (-1, 5):
        return _pending(record, other, other.dtype, original, 0, named)
    depth = _DEPTHS.get(other.dtype)
    if record.dtype != np.uint8 or depth is None:
        return NotImplemented
    if dtype != _TO_BYTES and (dtype != -1 or depth != 0):
        return NotImplemented
    try:
        steps = made.as_image(record)
    except NotRecorded:
        return NotImplemented
    kept, data = _kept(other, other.dtype)
    steps = (*steps, _step(record, depth, data, False))
    call = Call(record.call, original, 0, (kept,), named)
    strides = dense(record.shape)
    return DeferredArray(
        record.but(steps=steps, table=None, strides=strides, call=call)
    )


# ---- Sums that are not bytes yet --------------------------------------------


def _bytes_of(record: Record) -> Optional[op.Steps]:
    """The steps of an image with the values that the array has, which are
    bytes, whatever their type."""
    table = record.table
    if record.scaled or table is None:
        return record.steps if record.dtype == np.uint8 else None
    if table.dtype.kind not in "uif":
        return None
    with np.errstate(invalid="ignore"):
        values = table.astype(np.uint8)
    if not np.array_equal(values, table):
        return None
    if (values == np.arange(256)).all():
        return record.steps
    try:
        return made.as_image(record.but(table=values, dtype=values.dtype))
    except NotRecorded:
        return None


def _pending(
    record: Record, other: Any, kind: Any, function: Any, at: int, named: Any
) -> Any:
    """kind: of the sum; at: where the image stands among the arguments of the
    function."""
    steps = _bytes_of(record)
    if steps is None or not np.isfinite(other).all():
        return NotImplemented
    of_numbers = kind if kind.kind == "f" else np.dtype(np.int16)
    depth = _DEPTHS.get(of_numbers, _FLOAT64)
    kept, data = _kept(other, of_numbers)
    return DeferredArray(
        record.but(
            steps=steps,
            table=None,
            scaled=False,
            dtype=kind,
            strides=dense(record.shape),
            pending=Added(depth, data),
            call=Call(record.call, function, at, (kept,), named),
        )
    )


def _kind_of_sum(record: Record, other: Any) -> Any:
    """None: of no type that is recorded."""
    kind = np.result_type(record.dtype, other.dtype)
    if kind in (np.float32, np.float64):
        return kind
    if kind.kind != "i" or other.dtype.kind not in "iu":
        return None
    low, high = int(other.min()), int(other.max())
    limits = np.iinfo(kind)
    inside = max(limits.min, -(2**15)) <= low and high < 2**15
    # Sums of NumPy's wrap round, those here do not.
    return kind if inside and high + 255 <= limits.max else None


def _add_arrays(args: Any, kwargs: Any) -> Any:
    """NumPy's, of an image and an array, in either order."""
    if len(args) != 2 or kwargs:
        return NotImplemented
    at = 0 if type(args[0]) is DeferredArray else 1
    array, other = args[at], args[1 - at]
    if type(array) is not DeferredArray or type(other) is not np.ndarray:
        return NotImplemented
    record = recorded_array(array)
    if record is None or not _fits(other, record):
        return NotImplemented
    if other.dtype.kind not in "iuf" or record.strides != dense(record.shape):
        return NotImplemented
    kind = _kind_of_sum(record, other)
    if kind is None:
        return NotImplemented
    return _pending(record, other, kind, np.add, at, {})


def _limited(args: Any, kwargs: Any) -> Any:
    """np.clip(sum, 0, 255)"""
    record = pending_array(args[0]) if len(args) == 3 and not kwargs else None
    if record is None or type(record.pending) is not Added:
        return NotImplemented
    low, high = args[1:]
    if any(type(v) not in (int, float) for v in (low, high)):
        return NotImplemented
    if (low, high) != (0, 255):
        return NotImplemented
    call = Call(record.call, np.clip, 0, (low, high))
    added = record.pending._replace(limited=True)
    return DeferredArray(record.but(pending=added, call=call))


def _as_bytes(args: Any, kwargs: Any) -> Any:
    """sum.astype(np.uint8)"""
    record = pending_array(args[0]) if len(args) == 2 else None
    if record is None or type(record.pending) is not Added:
        return NotImplemented
    added, kind = record.pending, np.dtype(args[1])
    if kind != np.uint8 or not added.limited or set(kwargs) - {"copy"}:
        return NotImplemented
    step = _step(record, added.depth, added.numbers, added.depth != 3)
    call = Call(record.call, np.ndarray.astype, 0, (kind,))
    return DeferredArray(
        record.but(
            steps=(*record.steps, step), dtype=kind, pending=None, call=call
        )
    )


# ---- Pixels that become white or black --------------------------------------


def _where(args: Any, kwargs: Any) -> Any:
    """np.where(mask, 0 or 255, image): sums of bytes that end there."""
    if len(args) != 3 or kwargs or type(args[2]) is not DeferredArray:
        return NotImplemented
    mask, value, array = args
    record = recorded_array(array)
    if type(mask) is not np.ndarray or mask.dtype != np.bool_:
        return NotImplemented
    if type(value) is not int or value not in (0, 255) or record is None:
        return NotImplemented
    if record.dtype != np.uint8 or record.strides != dense(record.shape):
        return NotImplemented
    if np.where(_NONE, value, _BYTE).dtype != np.uint8:
        return NotImplemented
    try:
        every = np.broadcast_to(mask, record.shape)
        steps = made.as_image(record)
    except (NotRecorded, ValueError):
        return NotImplemented
    if not _fits(every, record):
        return NotImplemented
    numbers = every * np.int16(255 if value else -255)
    step = _step(record, _DEPTHS[numbers.dtype], numbers.tobytes(), False)
    call = Call(record.call, np.where, 2, (mask.copy(), value))
    return DeferredArray(
        record.but(steps=(*steps, step), table=None, call=call)
    )


_NONE, _BYTE = np.zeros(1, np.bool_), np.zeros(1, np.uint8)


# ---- Gray -------------------------------------------------------------------


def add_weighted(
    original: Any,
    src1: Any,
    alpha: Any,
    src2: Any,
    beta: Any,
    gamma: Any = 0,
    dst: Any = None,
    dtype: int = -1,
) -> Any:
    """Of an image of three channels and its own gray one in as many."""
    if type(src1) is not DeferredArray or type(src2) is not DeferredArray:
        return NotImplemented
    record, gray = recorded_array(src1), recorded_array(src2)
    if record is None or gray is None or dst is not None or dtype != -1:
        return NotImplemented
    weights = alpha, beta
    if gamma != 0 or any(not isinstance(v, (int, float)) for v in weights):
        return NotImplemented
    try:
        steps = made.as_image(record)
    except NotRecorded:
        return NotImplemented
    if not _is_gray_of(gray, record, steps):
        return NotImplemented
    calls = [record.call, alpha, gray.call, beta, gamma]
    call = Call(None, array_functions.joint, 0, (original, calls, {}))
    steps = (*steps, (op.CV_ADD_GRAY, (float(alpha), float(beta)), None))
    strides = dense(record.shape)
    return DeferredArray(
        record.but(steps=steps, table=None, strides=strides, call=call)
    )


_GRAY: Tuple[op.Step, ...] = (
    (op.CV_COLOUR, (7,), None),  # of red, green and blue
    (op.CONVERT, (3,), None),
)


def _is_gray_of(gray: Record, record: Record, steps: op.Steps) -> bool:
    return (
        gray.source is record.source
        and gray.steps == (*steps, *_GRAY)
        and gray.axes == record.axes == "hwc"
        and gray.shape == record.shape
        and gray.dtype == np.uint8
        and gray.table is None
        and not gray.erased
    )


def install() -> None:
    for names, ours in (
        ((np.add, "__add__", "__radd__"), _add_arrays),
        ((np.clip, "clip"), _limited),
        (("astype",), _as_bytes),
        ((np.where,), _where),
    ):
        for name in names:
            handlers[name] = first_of(ours, handlers[name])
