# SPDX-License-Identifier: Apache-2.0
"""Arrays that other arrays are put into, and sums of arrays.

    canvas = np.full((h, w, 3), 114, np.uint8)      a canvas
    canvas[y1:y2, x1:x2] = image                    one more part of it
    image[y1:y2, x1:x2] = other[y1:y2, x1:x2]       a canvas of two parts
    (image * r + other * (1 - r)).astype(np.uint8)  a sum
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import array_views as views
from . import steps as op
from .array import DeferredArray, first_array, first_of, handlers
from .array import recorded_array
from .array_views import NotRecorded
from .class_arrays import is_of_classes, of_classes
from .canvas import LEAST_PIXELS, MODES, MOST_IMAGES, MOST_PARTS, PASTE
from .canvas import SUM_F32, SUM_F64, Canvas, Part, asks
from .image_source import Source
from .kept_arrays import note_kept
from .pillow_hooks import put
from .record import Call, Record, Shape, dense
from .recording import state

_BYTES = np.dtype(np.uint8)

_FULL = functools.partial(np.full)
_FULL_LIKE = np.full_like


# ---- New ones ---------------------------------------------------------------


def install(pairs: Dict[int, Tuple[Any, Any]]) -> None:
    put(pairs, np, "full", _full)
    put(pairs, np, "zeros", _of_value(0))
    put(pairs, np, "ones", _of_value(1))
    put(pairs, np, "empty", _of_value(0, False))


def _size_of(shape: Any, dtype: Any) -> Optional[Tuple[int, int, int]]:
    """Height, width and channels of what may be a canvas."""
    if type(shape) not in (tuple, list) or len(shape) != 3:
        return None
    try:
        if np.dtype(dtype) != _BYTES:
            return None
        h, w, c = map(operator.index, shape)
    except TypeError:
        return None
    if c != 3 or min(h, w) < 1 or h * w < LEAST_PIXELS:
        return None
    return h, w, c


def _fill_of(value: Any) -> Optional[Tuple[int, ...]]:
    """A byte for each channel; what is behind the point is cut off."""
    if type(value) is np.ndarray and value.dtype.kind in "uif":
        if value.size > 3:
            return None  # an image: its list would take longer than its pixels
        value = value.tolist()
    if type(value) in (list, tuple) and len(value) == 3:
        found = tuple(value)
    else:
        found = (value,) * 3
    if any(type(v) not in (int, float, np.uint8) for v in found):
        return None
    if any(not 0 <= v < 256 for v in found):
        return None
    return tuple(map(int, found))


def _full(original: Any) -> Any:
    def full(
        shape: Any,
        fill_value: Any,
        dtype: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if state.run is not None and dtype is not None:
            size, fill = _size_of(shape, dtype), _fill_of(fill_value)
            if size and fill and not args and not kwargs:
                if asks(sys._getframe(1)):
                    return _blank(size, fill, original)
            if is_of_classes(shape, dtype) and type(fill_value) is int:
                if not args and not kwargs and asks(sys._getframe(1)):
                    return of_classes(original, shape, dtype, fill_value)
        return original(shape, fill_value, dtype, *args, **kwargs)

    return full


def _of_value(value: int, filled: bool = True) -> Any:
    def make(original: Any) -> Any:
        def function(
            shape: Any, dtype: Any = float, *args: Any, **kwargs: Any
        ) -> Any:
            if state.run is not None and filled and not args and not kwargs:
                if is_of_classes(shape, dtype) and asks(sys._getframe(1)):
                    return of_classes(original, shape, dtype, value)
            if state.run is not None and dtype is not float:
                size = _size_of(shape, dtype)
                if size and not args and not kwargs:
                    if asks(sys._getframe(1)):
                        return _blank(size, (value,) * 3, _FULL)
            return original(shape, dtype, *args, **kwargs)

        return function

    return make


def _blank(size: Shape, fill: Tuple[int, ...], full: Any) -> Any:
    h, w, _ = size
    call = Call(None, full, 0, (size, fill, _BYTES))
    source = Canvas((w, h), fill, call)
    return first_array(state.run, source, (), "RGB", (w, h), call)


def _full_like(args: Any, kwargs: Any) -> Any:
    if len(args) != 2 or kwargs:
        return NotImplemented
    like, fill = args[0], _fill_of(args[1])
    record = recorded_array(like) if type(like) is DeferredArray else None
    if record is None or fill is None:
        return NotImplemented
    size = _size_of(record.shape, record.dtype)
    if size is None or record.strides != dense(record.shape):
        return NotImplemented
    return _blank(size, fill, _FULL)


def _zeros_like(args: Any, kwargs: Any) -> Any:
    return _full_like((*args, 0), kwargs)


# ---- Parts ------------------------------------------------------------------


def part_of(record: Record, **more: Any) -> Part:
    """An image of bytes, as a part of a canvas."""
    if record.dtype != _BYTES or record.erased or record.axes != "hwc":
        raise NotRecorded
    steps, c = record.steps, record.side("c")
    if c not in MODES or record.mode != MODES[c]:
        raise NotRecorded
    if record.table is not None:
        steps = (*steps, (op.POINT, (), record.table.tobytes()))
    size = record.side("w"), record.side("h")
    kept = record.source.kept
    if kept and steps in kept:
        number, size = kept[steps]
        return Part(record.source, steps, size, kept=number, **more)
    if kept and steps and steps[-1][0] == op.CROP and steps[:-1] in kept:
        left, top, _, _ = map(int, steps[-1][1])
        inside = left, top, *size
        number, size = kept[steps[:-1]]
        if left >= 0 and top >= 0:
            if left + inside[2] <= size[0] and top + inside[3] <= size[1]:
                more.update(rectangle=inside, kept=number)
                return Part(record.source, steps[:-1], size, **more)
        size = inside[2:]
    return Part(record.source, steps, size, **more)


def _canvas_of(record: Record) -> Canvas:
    """With the array's own pixels, whatever they are made of."""
    source = record.source
    if type(source) is Canvas and source.how == PASTE and not record.steps:
        if record.table is None and not record.erased:
            return source
        if not source.parts and record.dtype == _BYTES and not record.erased:
            levels = zip(record.table, source.fill)
            fill = tuple(int(table[v]) for table, v in levels)
            return Canvas(source.size, fill, source.call)
    whole = part_of(record)
    return Canvas(whole.size, (0,) * record.side("c"), record.call, (whole,))


def record_of(canvas: Canvas, like: Record) -> Record:
    """Of an array of a canvas's pixels."""
    if canvas.images > MOST_IMAGES or len(canvas.parts) > MOST_PARTS:
        raise NotRecorded
    return like.but(
        source=canvas,
        steps=(),
        mode=MODES[len(canvas.fill)],
        dtype=_BYTES,
        table=None,
        erased=(),
        call=canvas.call,
    )


def put_in(array: Any, record: Record, index: Any, value: Any) -> Any:
    """array[index] = value, a deferred array."""
    given = recorded_array(value)
    if given is None or record.axes != "hwc":
        return NotImplemented
    try:
        left, top, w, h = _box_of(record, index)
        if given.run.recorder.kept is not None:
            note_kept(value)
        part = part_of(given, left=left, top=top)
        sides = [given.side(axis) for axis in "whc"]
        if sides != [w, h, record.side("c")]:
            return NotImplemented  # NumPy repeats it, or says what is wrong
        call = Call(record.call, _with_part, 0, (index, given.call))
        new = record_of(_canvas_of(record).but(call, part), record)
    except NotRecorded:
        return NotImplemented
    given.source.wanted = True
    array._record, array._base = new, None
    return None


def _box_of(record: Record, index: Any) -> Tuple[int, int, int, int]:
    box = {axis: range(record.side(axis)) for axis in "hw"}
    for found in views.ranges_of(record, index):
        if found is None:
            raise NotRecorded
        d, chosen, goes = found
        axis = record.axes[d]
        if goes or chosen.step != 1:
            raise NotRecorded
        if axis in "hw":
            box[axis] = chosen
        elif chosen != range(record.shape[d]):
            raise NotRecorded
    columns, rows = box["w"], box["h"]
    return columns[0], rows[0], len(columns), len(rows)


def fill_in(array: Any, record: Record, index: Any, value: Any) -> Any:
    """array[index] = a byte, or one for each channel; of a canvas."""
    fill = _fill_of(value)
    if fill is None or record.axes != "hwc":
        return NotImplemented
    if isinstance(value, (list, np.ndarray)):
        value = np.array(value)  # the program may use its own again
    try:
        left, top, w, h = _box_of(record, index)
        canvas = _canvas_of(record)
        call = Call(record.call, _with_item, 0, (index, value))
        if (w, h) == canvas.size:
            canvas = Canvas((w, h), fill, call)
        else:
            flat = Canvas((w, h), fill, Call(None, _FULL, 0, ((h, w, 3), fill)))
            canvas = canvas.but(call, Part(flat, (), (w, h), left, top))
        new = record_of(canvas, record)
    except NotRecorded:
        return NotImplemented
    array._record, array._base = new, None
    return None


def _with_item(array: Any, index: Any, value: Any) -> Any:
    array[index] = value
    return array


def _with_part(array: Any, index: Any, part: Call) -> Any:
    array[index] = part.again()
    return array


# ---- Sums -------------------------------------------------------------------


class Summed:
    """In place of a record: of arrays of floats that were added."""

    whole = True  # no record of one image
    blank = False
    kinds = {
        np.dtype(np.float64): (np.float64, SUM_F64),
        np.dtype(np.float32): (np.float32, SUM_F32),
    }

    def __init__(self, terms: Tuple[Record, ...], call: Call) -> None:
        first = terms[0]
        self.terms, self.call = terms, call
        self.shape, self.axes = first.shape, first.axes
        self.strides = dense(first.shape)
        self.dtype, self.run = first.dtype, first.run
        # Says whether it was read.
        self.source = Source(None, None, first.source.header)


def added(a: Any, b: Any) -> Any:
    """a + b, of other pixels."""
    if type(a) is not DeferredArray or type(b) is not DeferredArray:
        return NotImplemented
    terms = _terms_of(a), _terms_of(b)
    if not all(terms):
        return NotImplemented
    one, other = terms[0][0], terms[1][0]
    if one.shape != other.shape or one.dtype != other.dtype:
        return NotImplemented
    if one.dtype not in Summed.kinds or len(terms[1]) > 1:
        return NotImplemented  # to be added in another order
    if any(t.axes != "hwc" or t.erased for t in (*terms[0], other)):
        return NotImplemented
    call = Call(None, _sum, 0, (_call_of(a), other.call))
    made: Any = Summed((*terms[0], other), call)
    return DeferredArray(made)


def _call_of(array: Any) -> Call:
    found: Call = array._record.call
    return found


def _sum(a: Call, b: Call) -> Any:
    return a.again() + b.again()


def _terms_of(array: Any) -> Tuple[Record, ...]:
    record = array._record
    if type(record) is Summed:
        good = record.run is state.run and not record.source.read
        return record.terms if good else ()
    found = recorded_array(array)
    return () if found is None else (found,)


def as_bytes(array: Any, kind: Any) -> Any:
    """array.astype(np.uint8), of a sum."""
    record = array._record
    if kind != _BYTES or record.run is not state.run or record.source.read:
        return NotImplemented
    make, how = Summed.kinds[record.dtype]
    try:
        weights = [_weight_of(term, make) for term in record.terms]
        parts = tuple(
            part_of(_bytes_of(term), weight=float(weight))
            for term, weight in zip(record.terms, weights)
        )
    except NotRecorded:
        return NotImplemented
    low = sum(min(float(w), 0.0) for w in weights) * 255
    high = sum(max(float(w), 0.0) for w in weights) * 255
    if low <= -1 or high >= 256:
        return NotImplemented  # undefined
    c = record.shape[2]
    call = Call(record.call, np.ndarray.astype, 0, (_BYTES,))
    canvas = Canvas(parts[0].size, (0,) * c, call, parts, how)
    try:
        new = record_of(canvas, record.terms[0])
    except NotRecorded:
        return NotImplemented
    return DeferredArray(new.but(strides=dense(new.shape)))


def _weight_of(term: Record, make: Any) -> Any:
    """What each byte is multiplied by, in that arithmetic."""
    table = term.table
    if table is None:
        raise NotRecorded
    weight = make(table[0][1])
    if not np.isfinite(weight):
        raise NotRecorded
    every = np.broadcast_to(_LEVELS.astype(make) * weight, table.shape)
    if not np.array_equal(table, every):
        raise NotRecorded
    return weight


_LEVELS = np.arange(256)


def _bytes_of(term: Record) -> Record:
    return term.but(table=None, dtype=_BYTES)


def register() -> None:
    """What is no canvas has a table that makes all bytes one."""
    for function, own in (
        (np.full_like, _full_like),
        (np.zeros_like, _zeros_like),
    ):
        handlers[function] = first_of(own, handlers[function])
