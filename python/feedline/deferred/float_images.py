# SPDX-License-Identifier: Apache-2.0
"""Images of floats whose channels were mixed, and the arithmetic in between.

    image = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)     # of float32
    image[..., 1] *= 1.2
    image[..., 1] = image[..., 1].clip(0, 1)
    image[..., 0][image[..., 0] > 360] -= 360
    image = cv2.cvtColor(image, cv2.COLOR_HSV2BGR)

A float does not depend on one byte any more, and OpenCV computes the last
pixels of a row in another way: so pixels stay where they are. The record is
`pending`, with steps of finished elements, and can be part of a sample, become
a tensor, and have its dimensions permuted. All else that is done to it gets the
real array.

A channel is a view: what is written to it changes the array that it is of,
which nobody else may see.
"""

from __future__ import annotations

import operator
import weakref
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import array_views as views
from . import opencv_steps as opencv
from . import steps as op
from .array import DeferredArray, Handler, alone, first_of, handlers
from .array import pending_array, real_array, recorded_array
from .array_functions import joint
from .array_views import NotRecorded
from .record import Call, Record, dense, kept_order
from .steps import Steps

_FLOAT = np.dtype(np.float32)
_MOST = 1e30

# What is done to a value, and its numbers: of FEEDLINE_STEP_FLOAT_VALUES.
Change = Tuple[float, ...]
_ADD, _MULTIPLY, _CLIP, _ADD_ABOVE, _ADD_BELOW = range(5)
_EVERY = -1


class Floats(NamedTuple):
    """Of an image."""

    finished: Steps  # the engine's, of finished elements


class Plane(NamedTuple):
    """Of a channel, which shows the image or is a copy that was changed."""

    of: Steps  # of the image
    channel: int
    changes: Tuple[Change, ...] = ()


class Where(NamedTuple):
    """Of a comparison: which values of a channel are above or below a limit."""

    plane: Plane
    how: int  # _ADD_ABOVE or _ADD_BELOW
    limit: float


class Picked:
    """In place of a record: plane[where], as many values as there are."""

    whole = True
    blank = False
    pending = ()
    axes = ""

    def __init__(
        self, plane: Any, where: Where, added: Optional[float], call: Call
    ) -> None:
        self.where, self.added, self.call = where, added, call
        self.dtype, self.run, self.source = _FLOAT, plane.run, plane.source
        self.array: Any = None  # a weak reference

    shape = property(lambda self: real_array(self.array(), "shape").shape)
    strides = property(lambda self: real_array(self.array(), "strides").strides)


def _picked(plane: Record, where: Where, added: Any, call: Call) -> Any:
    record: Any = Picked(plane, where, added, call)
    array = DeferredArray(record)
    record.array = weakref.ref(array)
    return array


def _of(array: Any, kind: Any) -> Any:
    """The record of an array, if it is pending as one of that kind."""
    record = pending_array(array)
    if record is None or type(record.pending) is not kind:
        return None
    return record


def _steps_of(channel: int, changes: Sequence[Change]) -> Steps:
    return tuple(
        (op.FLOAT_VALUES, (how, channel, *numbers), None)
        for how, *numbers in changes
    )


def _with_steps(record: Record, call: Call, *more: op.Step) -> Record:
    """Of an image, which has the same pixels."""
    pending = record.pending
    steps = (*(pending.finished if pending is not None else ()), *more)
    if len(record.steps) + len(steps) > op.MOST_STEPS - 4:
        raise NotRecorded
    return record.but(pending=Floats(steps), call=call)


def _number(value: Any) -> float:
    """NumPy computes with it as float32."""
    if type(value) not in (int, float) or not abs(value) <= _MOST:
        raise NotRecorded
    return float(value)


# ---- As NumPy does it -------------------------------------------------------


def _add_where(compare: Any) -> Callable[..., None]:
    def add(array: Any, limit: float, number: float) -> None:
        array[compare(array, limit)] += number

    return add


def _clip(array: Any, low: float, high: float) -> None:
    array[...] = array.clip(low, high)


_DONE: Dict[float, Callable[..., Any]] = {
    _ADD: operator.iadd,
    _MULTIPLY: operator.imul,
    _CLIP: _clip,
    _ADD_ABOVE: _add_where(operator.gt),
    _ADD_BELOW: _add_where(operator.lt),
}


def _changed(array: Any, index: Any, changes: Sequence[Change]) -> Any:
    part = array if index is None else array[index]
    for how, *numbers in changes:
        _DONE[how](part, *numbers)
    return array


def _changed_copy(array: Any, changes: Sequence[Change]) -> Any:
    return _changed(array.copy("K"), None, changes)


# ---- Colours ----------------------------------------------------------------

_BGR_TO_RGB = 4
_TO_HSV = (40, 41)
_FROM_HSV = (54, 55)


def color(original: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    """cv2.cvtColor of floats."""
    if len(args) != 1 or kwargs or type(args[0]) is not int:
        return NotImplemented
    code = args[0]
    record = _of(array, Floats)
    if record is None and code in _TO_HSV + _FROM_HSV:
        record = _plain_floats(recorded_array(array))
    if record is None or record.axes != "hwc" or not opencv.as_on_avx2():
        return NotImplemented
    if code == _BGR_TO_RGB:
        step: op.Step = op.FLOAT_CHANNELS, (2, 1, 0), None
    elif code in _TO_HSV + _FROM_HSV:
        step = op.FLOAT_COLOUR, (code,), None
    else:
        return NotImplemented
    call = Call(record.call, original, 0, args)
    try:
        new = _with_steps(record, call, step)
    except NotRecorded:
        return NotImplemented
    return DeferredArray(new.but(strides=dense(new.shape)))


def _plain_floats(record: Optional[Record]) -> Optional[Record]:
    """What has a float of each byte."""
    if record is None or record.dtype != _FLOAT or record.erased:
        return None
    if record.mode != "RGB" or record.table is None:
        return None
    return record if np.isfinite(record.table).all() else None


# ---- Arithmetic -------------------------------------------------------------


def _change_of(how: int, sign: int) -> Callable[..., Change]:
    return lambda value: (how, sign * _number(value))


_ARITHMETIC = {
    "add": _change_of(_ADD, 1),
    "mul": _change_of(_MULTIPLY, 1),
    "sub": _change_of(_ADD, -1),
}


def _handled(function: Callable[..., Any]) -> Handler:
    """Of arrays of floats, without keywords."""

    def handler(args: Any, kwargs: Any) -> Any:
        if kwargs or type(args[0]) is not DeferredArray:
            return NotImplemented
        if getattr(args[0]._record, "pending", None) is None:
            return NotImplemented
        try:
            return function(*args)
        except (NotRecorded, TypeError, ValueError, OverflowError):
            return NotImplemented

    return handler


def _copy_with(array: Any, *changes: Change) -> Any:
    record = _of(array, Floats) or _of(array, Plane)
    if record is None:
        return NotImplemented
    call = Call(record.call, _changed_copy, 0, (changes,))
    strides = kept_order(record)
    if type(record.pending) is Floats:
        new = _with_steps(record, call, *_steps_of(_EVERY, changes))
        return DeferredArray(new.but(strides=strides))
    pending = record.pending
    pending = pending._replace(changes=(*pending.changes, *changes))
    return DeferredArray(
        record.but(pending=pending, call=call, strides=strides)
    )


def _copied_by(change: Callable[..., Change]) -> Handler:
    return _handled(lambda array, value: _copy_with(array, change(value)))


def _written_by(change: Callable[..., Change]) -> Handler:
    def written(array: Any, value: Any) -> Any:
        if type(array._record) is Picked:
            return _picked_with(array, change(value))
        record = _of(array, Floats)
        if record is None:
            return _write_view(array, change(value))
        if not array._writable or not alone(array):
            return NotImplemented
        changes = (change(value),)
        call = Call(record.call, _changed, 0, (None, changes))
        array._record = _with_steps(record, call, *_steps_of(_EVERY, changes))
        return array

    return _handled(written)


def _clipped(array: Any, low: Any, high: Any) -> Any:
    return _copy_with(array, (_CLIP, _number(low), _number(high)))


# ---- Channels ---------------------------------------------------------------


def _write_view(view: Any, change: Change) -> Any:
    """To a channel, which shows an array that has no other view, or is a
    copy."""
    record, base = _of(view, Plane), view._base
    if record is not None and base is None and alone(view):
        changes = (*record.pending.changes, change)
        call = Call(record.call, _changed, 0, (None, (change,)))
        pending = record.pending._replace(changes=changes)
        view._record = record.but(pending=pending, call=call)
        return view
    whole = _of(base, Floats) if type(base) is DeferredArray else None
    if record is None or whole is None or base._base is not None:
        return NotImplemented
    if not base._writable or base._shown or view._shown:
        return NotImplemented
    if _is_shown_by_others(base, view) or _is_shown_by_others(view):
        return NotImplemented
    (index,), channel = record.call.args, record.pending.channel
    call = Call(whole.call, _changed, 0, (index, (change,)))
    new = _with_steps(whole, call, *_steps_of(channel, (change,)))
    base._record = new
    view._record = record.but(
        pending=Plane(new.pending.finished, channel),
        call=Call(call, np.ndarray.__getitem__, 0, (index,)),
    )
    return view


def _is_shown_by_others(array: Any, view: Any = None) -> bool:
    """Than that view."""
    for ref in array._views:
        other = ref()
        if other is not None and other is not view:
            return True
    return False


def _item(array: Any, index: Any) -> Any:
    record = _of(array, Floats)
    if record is None:
        return _pick(array, index)
    found = views.channels_in(record, index)
    if record.axes != "hwc" or found is None:
        return NotImplemented
    last, call = index[-1], Call(record.call, np.ndarray.__getitem__)
    if type(last) is int:
        call.args = (index,)
        plane = Plane(record.pending.finished, found[0])
        new = record.but(pending=plane, call=call, axes="hw")
        new.shape, new.strides = record.shape[:2], record.strides[:2]
        return DeferredArray(new, array)
    if len(found) != record.shape[2]:
        return NotImplemented
    step = op.FLOAT_CHANNELS, tuple(found), None
    if isinstance(last, slice):  # turned round
        call.args = (index,)
        new = _with_steps(record, call, step)
        new.strides = (*record.strides[:2], -record.strides[2])
        return DeferredArray(new, array)
    call.args = ((*index[:-1], np.array(last)),)
    new = _with_steps(record, call, step)
    return DeferredArray(views.chosen_shape(new, call, index, len(found)))


def _set_item(array: Any, index: Any, value: Any) -> Any:
    if type(value) is not DeferredArray:
        return NotImplemented
    held: Any = value._record
    if type(held) is Picked:
        return _put_back(array, index, held)
    record, given = _of(array, Floats), _of(value, Plane)
    if record is None or given is None or record.axes != "hwc":
        return NotImplemented
    plane, found = given.pending, views.channels_in(record, index)
    if found != [plane.channel] or plane.of != record.pending.finished:
        return NotImplemented
    if not _same_pixels(record, given):
        return NotImplemented
    if not plane.changes:
        return None  # it has these values, as `a[..., 1] *= 2` wrote them
    if not array._writable or not alone(array):
        return NotImplemented
    call = Call(record.call, _changed, 0, (index, plane.changes))
    steps = _steps_of(plane.channel, plane.changes)
    array._record = _with_steps(record, call, *steps)
    return None


def _same_pixels(a: Record, b: Record) -> bool:
    """Before they became pending."""
    return a.source is b.source and a.steps == b.steps and a.table is b.table


# ---- Values that are chosen -------------------------------------------------


def _compared(how: int, compare: Any) -> Handler:
    def handler(array: Any, limit: Any) -> Any:
        record = _of(array, Plane)
        if record is None:
            return NotImplemented
        pending = Where(record.pending, how, _number(limit))
        call = Call(record.call, compare, 0, (limit,))
        strides = kept_order(record)
        return DeferredArray(
            record.but(
                pending=pending,
                dtype=np.dtype(np.bool_),
                call=call,
                strides=strides,
            )
        )

    return _handled(handler)


def _pick(array: Any, index: Any) -> Any:
    """plane[plane > 360]"""
    plane = _of(array, Plane)
    chosen = _of(index, Where) if type(index) is DeferredArray else None
    if plane is None or chosen is None or not _same_pixels(plane, chosen):
        return NotImplemented
    if chosen.pending.plane != plane.pending:
        return NotImplemented
    calls = [plane.call, chosen.call]
    call = Call(None, joint, 0, (operator.getitem, calls, {}))
    return _picked(plane, chosen.pending, None, call)


def _picked_with(array: Any, change: Change) -> Any:
    record: Picked = array._record
    how, *numbers = change
    if how != _ADD or record.added is not None:
        return NotImplemented
    call = Call(record.call, _changed, 0, (None, (change,)))
    new = Picked(record, record.where, numbers[0], call)
    new.array, array._record = record.array, new
    return array


def _put_back(array: Any, index: Any, picked: Picked) -> Any:
    """plane[where] = what was picked there, and added to."""
    plane = _of(array, Plane)
    chosen = _of(index, Where) if type(index) is DeferredArray else None
    if plane is None or chosen is None or picked.added is None:
        return NotImplemented
    where = picked.where
    if chosen.pending != where or where.plane != plane.pending:
        return NotImplemented
    if picked.source is not plane.source or not _same_pixels(plane, chosen):
        return NotImplemented
    found = _write_view(array, (where.how, where.limit, picked.added))
    return found if found is NotImplemented else None


# ---- Dimensions -------------------------------------------------------------


def _transposed(array: Any, *given: Any) -> Any:
    record = _of(array, Floats)
    axes = views.many(given)
    if record is None or not axes or axes == (None,):
        return NotImplemented
    call = Call(record.call, np.ndarray.transpose, 0, given)
    new = views.permuted(record, call, views.dims_of(record, axes))
    if new.steps is not record.steps:
        return NotImplemented
    return DeferredArray(new, array)


def _same_type(array: Any, kind: Any) -> Any:
    """array.astype(np.float32)"""
    if _of(array, Floats) is None or np.dtype(kind) != _FLOAT:
        return NotImplemented
    return array.copy("K")


def install() -> None:
    pairs = {
        "__getitem__": _handled(_item),
        "__setitem__": _handled(_set_item),
        "__gt__": _compared(_ADD_ABOVE, operator.gt),
        "__lt__": _compared(_ADD_BELOW, operator.lt),
        "astype": _handled(_same_type),
        "clip": _handled(_clipped),
        np.clip: _handled(_clipped),
        "transpose": _handled(_transposed),
        "__radd__": _copied_by(_ARITHMETIC["add"]),
        "__rmul__": _copied_by(_ARITHMETIC["mul"]),
    }
    for name, change in _ARITHMETIC.items():
        pairs["__%s__" % name] = _copied_by(change)
        pairs["__i%s__" % name] = _written_by(change)
    for called, ours in pairs.items():
        handlers[called] = first_of(ours, handlers[called])
