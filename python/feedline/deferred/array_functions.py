# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions and methods that are recorded, by what they are.

Each handler gets (args, kwargs), and returns NotImplemented for calls that are
not for it: then the arrays are made real, and NumPy's own function runs, and
raises what it raises.

NumPy itself makes the tables: its function is called with an array of all byte
values in place of the pixels.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from types import FunctionType
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from . import array_views as views
from . import canvas_functions as canvases
from . import steps as op
from .array import (
    DeferredArray,
    Handler,
    alone,
    copied_array,
    every_pixel,
    handlers,
    recorded_array,
    table_of,
)
from .array_views import NotRecorded
from .record import Call, Record, as_table, dense, kept_order
from .remembered import steady, then

# Of which the engine can write a value.
ERASED = tuple(map(np.dtype, (np.uint8, np.float16, np.float32)))

# ---- Arithmetic -------------------------------------------------------------

# Exact operations, whose result is the same for a value wherever it stands in
# an array. What is computed by approximation (exp, power) is not: its last bits
# may depend on whether an element is in a vector or in the rest.
_UFUNCS = (
    "abs absolute add bitwise_and bitwise_not bitwise_or bitwise_xor ceil "
    "divide equal fabs floor floor_divide greater greater_equal invert "
    "isfinite isinf isnan left_shift less less_equal logical_and logical_not "
    "logical_or logical_xor maximum minimum mod multiply negative not_equal "
    "positive reciprocal remainder right_shift rint sign sqrt square subtract "
    "true_divide trunc"
).split()
_OPERATORS = (
    "add and eq floordiv ge gt le lshift lt mod mul ne or rshift sub truediv "
    "xor"
).split()
_UNARY = ("abs", "invert", "neg", "pos")


def elementwise(
    function: Callable[..., Any],
    args: Any,
    kwargs: Any = None,
    in_place: bool = False,
) -> Any:
    """The array of function(*args, **kwargs), whose arrays are of the same
    pixels."""
    try:
        new = _computed(function, args, kwargs or {}, in_place)
    except NotRecorded:
        return NotImplemented
    if not in_place:
        return DeferredArray(new)
    array = args[0]
    array._record, array._base = new, None
    return array


def _computed(
    function: Callable[..., Any], args: Any, kwargs: Any, in_place: bool
) -> Record:
    first: Any = None
    at = 0
    for n, argument in enumerate(args):
        if type(argument) is DeferredArray:
            if first is not None:
                return _of_several(function, args, kwargs, in_place)
            at, first = n, recorded_array(argument)
            if first is None:
                raise NotRecorded
    if first is None:
        raise NotRecorded
    rest = (*args[:at], *args[at + 1 :])
    for value in rest:
        if not is_operand(value, first):
            raise NotRecorded
    call = Call(first.call, function, at, tuple(map(snapshot, rest)), kwargs)
    move = _written if in_place else _of_one
    if type(function) is FunctionType:  # made for this call
        return move(first, call, *call.args, **kwargs)
    return then(move, first, call)


def _written(record: Record, call: Call, *rest: Any, **kwargs: Any) -> Record:
    new = _of_one(record, call, *rest, in_place=True, **kwargs)
    new.strides = record.strides
    return new


def _of_one(
    record: Record,
    call: Call,
    *rest: Any,
    in_place: bool = False,
    **kwargs: Any,
) -> Record:
    """The move of a call that looks at one value of an array at a time."""
    at, every = call.at, every_pixel(record)
    if in_place:
        every = every.copy()
    given = [*rest[:at], every, *rest[at:]]
    made = _made(call.function, given, kwargs, every.shape)
    erased = []
    for place, value in record.erased:
        sides = [len(value) if axis == "c" else 1 for axis in record.axes]
        given = [*rest[:at], value.reshape(sides).copy(), *rest[at:]]
        value = _made(call.function, given, kwargs, tuple(sides))
        erased.append((place, value.reshape(-1)))
    if erased and made.dtype not in ERASED:
        raise NotRecorded
    return _by_table(record, made, call, tuple(erased))


def _of_several(
    function: Callable[..., Any], args: Any, kwargs: Any, in_place: bool
) -> Record:
    """Of arrays of the same pixels, and numbers."""
    parts = [recorded_array(a) if type(a) is DeferredArray else a for a in args]
    first = next((p for p in parts if isinstance(p, Record)), None)
    if first is None:
        raise NotRecorded
    given, kept = [], []
    for part in parts:
        if isinstance(part, Record):
            if part.erased or not _same_pixels(part, first):
                raise NotRecorded
            given.append(every_pixel(part))
            kept.append(part.call)
        elif part is not None and is_operand(part, first):
            kept.append(snapshot(part))
            given.append(kept[-1])
        else:
            raise NotRecorded
    if in_place:
        given[0] = given[0].copy()
    call = Call(None, joint, 0, (function, kept, kwargs))
    made = _made(function, given, kwargs, every_pixel(first).shape)
    new = _by_table(first, made, call, ())
    if in_place:
        new.strides = first.strides
    return new


def _made(
    function: Callable[..., Any], given: Any, kwargs: Any, shape: Any
) -> Any:
    """What becomes of values, as many as these; raises NotRecorded where that
    is not what it is for pixels."""
    try:
        with np.errstate(all="ignore"):
            made = function(*given, **kwargs)
    except Exception:  # which NumPy raises again
        raise NotRecorded from None
    if not _is_result(made, shape) or _is_undefined(made, given):
        raise NotRecorded
    return made


def _by_table(record: Record, made: Any, call: Call, erased: Any) -> Record:
    return record.but(
        table=as_table(made, record),
        scaled=False,
        dtype=made.dtype,
        strides=kept_order(record),
        erased=erased,
        call=call,
    )


def joint(function: Callable[..., Any], parts: Any, kwargs: Any) -> Any:
    """Of several arrays, each made by its calls."""
    args = [p.again() if isinstance(p, Call) else p for p in parts]
    return function(*args, **kwargs)


def _same_pixels(a: Record, b: Record) -> bool:
    return a is b or (
        a.source is b.source
        and a.steps == b.steps
        and a.mode == b.mode
        and a.axes == b.axes
        and a.shape == b.shape
        and a.strides == b.strides
        and not a.erased
        and not b.erased
    )


def is_operand(value: Any, record: Record) -> bool:
    """A number, or numbers that are at most one for each channel."""
    if isinstance(value, (bool, int, float)):
        return True
    if isinstance(value, np.generic):
        return value.dtype.kind in "biuf"
    if type(value) is list or type(value) is tuple:
        value = np.asarray(value)
    if type(value) is not np.ndarray or value.dtype.kind not in "biuf":
        return False
    n, mine = value.ndim, len(record.axes)
    return n <= mine and all(
        side == 1 or (axis == "c" and side == record.side("c"))
        for axis, side in zip(record.axes[mine - n :], value.shape)
    )


def snapshot(value: Any) -> Any:
    if type(value) in (list, tuple):
        return np.array(value)
    return value.copy() if type(value) is np.ndarray else value


def _is_result(made: Any, shape: Any) -> bool:
    return (
        type(made) is np.ndarray
        and made.shape == shape
        and made.dtype.kind in "biuf"
        and made.dtype.itemsize <= 8
        and made.dtype.isnative
    )


def _is_undefined(made: Any, given: Any) -> bool:
    """Whether numbers became whole ones that do not hold them, which each
    processor does in its own way."""
    if made.dtype.kind not in "iu":
        return False
    limits = np.iinfo(made.dtype)
    for table in given:
        if type(table) is np.ndarray and table.dtype.kind == "f":
            table = table.astype(np.float64)
            low, high = float(limits.min), float(limits.max)
            inside = (table > low - 1) & (table < high + (high < 2.0**53))
            if not inside.all():
                return True
    return False


def _of_ufunc(ufunc: Any) -> Handler:
    def handler(args: Any, kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is None:
            if not {"dtype", "casting"}.issuperset(kwargs):
                return NotImplemented
            return elementwise(ufunc, args, kwargs)
        if len(kwargs) > 1 or len(out) != 1 or out[0] is not args[0]:
            return NotImplemented

        def in_place(array: Any, *rest: Any) -> Any:
            return ufunc(array, *rest, out=array)

        return written(in_place, args)

    return handler


def written(function: Callable[..., Any], args: Any) -> Any:
    """A function that changes its first array and returns it."""
    array = args[0]
    if type(array) is not DeferredArray or not array._writable:
        return NotImplemented
    if not alone(array):
        return NotImplemented
    return elementwise(function, args, {}, in_place=True)


def _of_operator(name: str) -> Handler:
    function = getattr(operator, "__%s__" % name)

    def handler(args: Any, kwargs: Any) -> Any:
        return elementwise(function, args, kwargs)

    return handler


def _add(args: Any, kwargs: Any) -> Any:
    found = elementwise(operator.add, args, kwargs)
    if found is not NotImplemented or len(args) != 2 or kwargs:
        return found
    return canvases.added(*args)


def _of_reflected(name: str) -> Handler:
    function = getattr(operator, "__%s__" % name)

    def handler(args: Any, kwargs: Any) -> Any:
        return elementwise(function, args[::-1], kwargs)

    return handler


def _of_in_place(name: str) -> Handler:
    function = getattr(operator, "__i%s__" % name)

    def handler(args: Any, kwargs: Any) -> Any:
        return written(function, args)

    return handler


def _np_add(args: Any, kwargs: Any) -> Any:
    return _add(args, kwargs) if not kwargs else _ADD(args, kwargs)


_ADD = _of_ufunc(np.add)


def _power(args: Any, kwargs: Any) -> Any:
    """Squares, which NumPy multiplies."""
    array, exponent, *more = args
    if more or type(exponent) not in (int, float) or exponent != 2:
        return NotImplemented
    return elementwise(operator.pow, args, kwargs)


def _astype(args: Any, kwargs: Any) -> Any:
    if len(args) != 2 or not _CASTING.issuperset(kwargs):
        return NotImplemented
    array, kind = args[0], np.dtype(args[1])
    if type(array._record) is canvases.Summed:
        return canvases.as_bytes(array, kind)
    if kwargs and kind == array.dtype and not kwargs.get("copy", True):
        return array if recorded_array(array) else NotImplemented
    cast = _cast_to(kind, tuple(kwargs.items()))
    return elementwise(cast, (array,), {})


_CASTING = frozenset(("copy", "casting"))


@lru_cache(maxsize=64)
def _cast_to(kind: Any, named: Tuple[Tuple[str, Any], ...]) -> Any:
    """The same function each time, so what it makes is remembered."""
    return operator.methodcaller("astype", kind, **dict(named))


def _clip(args: Any, kwargs: Any) -> Any:
    names = ("a_min", "a_max", "min", "max")
    if len(args) > 3 or not set(names).issuperset(kwargs):
        return NotImplemented
    values = list(args[1:])
    values += [kwargs[name] for name in names if name in kwargs]
    if kwargs and (len(values) != 2 or len(args) == 2):
        return NotImplemented
    if len(values) != 2:
        return NotImplemented
    low, high = values
    given = [v for v in (low, high) if v is not None]
    if not given:
        return NotImplemented
    if kwargs and {"a_max", "max"} & set(list(kwargs)[:1]):
        return NotImplemented  # named in another order

    if len(given) == 2:
        return elementwise(np.ndarray.clip, (args[0], low, high), {})

    def clip(array: Any, *limits: Any) -> Any:
        both = iter(limits)
        return array.clip(
            None if low is None else next(both),
            None if high is None else next(both),
        )

    return elementwise(clip, (args[0], *given), {})


def _round(args: Any, kwargs: Any) -> Any:
    decimals = args[1] if len(args) == 2 else kwargs.get("decimals", 0)
    if len(args) > 2 or set(kwargs) - {"decimals"}:
        return NotImplemented
    if type(decimals) is not int:
        return NotImplemented
    rounded = steady(lambda array: array.round(decimals), "round", (decimals,))
    return elementwise(rounded, args[:1], {})


def _where(args: Any, kwargs: Any) -> Any:
    if len(args) != 3 or kwargs:
        return NotImplemented
    return elementwise(np.where, args, {})


def _isin(args: Any, kwargs: Any) -> Any:
    """Of a few classes."""
    if len(args) != 2 or set(kwargs) - {"invert"}:
        return NotImplemented
    if type(args[1]) not in (list, tuple, np.ndarray):
        return NotImplemented
    values = np.array(args[1])
    return elementwise(
        lambda array: np.isin(array, values, **kwargs), args[:1], {}
    )


def _take(args: Any, kwargs: Any) -> Any:
    """np.take(table, array)."""
    if len(args) != 2 or kwargs or type(args[1]) is not DeferredArray:
        return NotImplemented
    values = np.array(args[0])
    if values.ndim != 1:
        return NotImplemented
    return elementwise(lambda array: np.take(values, array), args[1:], {})


# ---- Moving pixels ----------------------------------------------------------


def _mover(name: str, move: Callable[..., Record]) -> Handler:
    """A handler of the method of that name, which gives a view. move: gets (the
    record, the call, the other arguments)."""
    function = getattr(np.ndarray, name)

    def handler(args: Any, kwargs: Any) -> Any:
        array, rest = args[0], args[1:]
        record = recorded_array(array)
        if record is None:
            return NotImplemented
        for value in (*rest, *kwargs.values()) if kwargs else rest:
            if type(value) is DeferredArray:
                return NotImplemented
        call = Call(record.call, function, 0, rest, kwargs)
        try:
            return DeferredArray(then(move, record, call), array)
        except (NotRecorded, TypeError, ValueError, IndexError):
            return NotImplemented  # NumPy says what is wrong

    return handler


def _get_item(args: Any, kwargs: Any) -> Any:
    array, index = args
    if array._record.whole:
        from .stacked import part_of

        return part_of(array, index)
    if type(index) is tuple and index:
        if isinstance(index[-1], (list, np.ndarray)):
            return _chosen(array, index)
    return _view_of_item(args, kwargs)


_view_of_item = _mover("__getitem__", views.indexed)


def _chosen(array: Any, index: Any) -> Any:
    """array[..., [2, 0, 1]], which is no view."""
    record = recorded_array(array)
    if record is None:
        return NotImplemented
    kept = *index[:-1], snapshot(index[-1])
    call = Call(record.call, np.ndarray.__getitem__, 0, (kept,))
    try:
        return DeferredArray(views.chosen(record, call, index))
    except NotRecorded:
        return NotImplemented


def _transpose(record: Record, call: Call, *given: Any) -> Record:
    axes = views.many(given)
    n = len(record.axes)
    if not axes or axes == (None,):
        return views.permuted(record, call, range(n)[::-1])
    return views.permuted(record, call, views.dims_of(record, axes))


def _swapaxes(record: Record, call: Call, a: Any, b: Any) -> Record:
    order = list(range(len(record.axes)))
    first, second = views.dims_of(record, (a, b))
    order[first], order[second] = second, first
    return views.permuted(record, call, order)


def _squeeze(record: Record, call: Call, axis: Any = None) -> Record:
    dims = axis if axis is None or isinstance(axis, tuple) else (axis,)
    return views.squeezed(record, call, dims)


def _reshape(record: Record, call: Call, *given: Any) -> Record:
    return views.reshaped(record, call, views.many(given))


_VIEWS: Dict[str, Callable[..., Record]] = {
    "reshape": _reshape,
    "squeeze": _squeeze,
    "swapaxes": _swapaxes,
    "transpose": _transpose,
}

# Functions of NumPy's that are made of the methods above, in Python.
_BY_METHODS = (
    "atleast_2d atleast_3d expand_dims flip fliplr flipud moveaxis rollaxis "
    "rot90 squeeze swapaxes transpose"
).split()


def _like(function: Any) -> Handler:
    """Of the same size, filled with a number: a table in which all bytes become
    that one, so it still is of the image."""

    def handler(args: Any, kwargs: Any) -> Any:
        if set(kwargs) - {"dtype"}:
            return NotImplemented
        return elementwise(function, args, kwargs)

    return handler


def _by_methods(function: Any) -> Handler:
    python = function._implementation

    def handler(args: Any, kwargs: Any) -> Any:
        return python(*args, **kwargs)

    return handler


# ---- Copies, and more channels ----------------------------------------------


def copied(array: Any, order: str, function: Any, call_args: Any = ()) -> Any:
    """The array of function(a real one, *call_args), which only copies."""
    record = copied_array(array)
    if record is None:
        return NotImplemented
    if order == "C":
        strides = dense(record.shape)
    elif order == "K":
        strides = kept_order(record)
    else:
        return NotImplemented
    call = Call(record.call, function, 0, call_args)
    return DeferredArray(record.but(call=call, strides=strides))


def _copy(args: Any, kwargs: Any) -> Any:
    if len(args) > 2 or set(kwargs) - {"order"}:
        return NotImplemented
    order = args[1] if len(args) == 2 else kwargs.get("order", "C")
    return copied(args[0], order, np.ndarray.copy, (order,))


def _np_copy(args: Any, kwargs: Any) -> Any:
    if len(args) > 2 or set(kwargs) - {"order"}:
        return NotImplemented
    order = args[1] if len(args) == 2 else kwargs.get("order", "K")
    return copied(args[0], order, np.ndarray.copy, (order,))


def _deepcopy(args: Any, kwargs: Any) -> Any:
    return copied(args[0], "K", np.ndarray.copy, ("K",))


def together(
    arrays: Any, axes: Optional[str], function: Callable[..., Any]
) -> Any:
    """The array of function(*arrays), each of which is a channel."""
    if axes not in ("chw", "hwc") or len(arrays) > 4:
        return NotImplemented
    found = [
        recorded_array(a) if type(a) is DeferredArray else None for a in arrays
    ]
    records = [record for record in found if record is not None]
    if not records or len(records) < len(found):
        return NotImplemented
    call = Call(None, joint, 0, (function, [r.call for r in records], {}))
    try:
        return DeferredArray(views.merged(records, call, axes))
    except NotRecorded:
        return NotImplemented


def _stacked(function: Any, axes_of: Callable[[Any, int], Any]) -> Handler:
    """np.stack(channels, axis)."""

    def handler(args: Any, kwargs: Any) -> Any:
        if len(args) not in (1, 2) or set(kwargs) - {"axis"}:
            return NotImplemented
        arrays = args[0]
        axis = args[1] if len(args) == 2 else kwargs.get("axis", 0)
        if type(arrays) not in (list, tuple) or type(axis) is not int:
            return NotImplemented
        axes = axes_of(arrays[0], axis) if arrays else None
        made = together(arrays, axes, lambda *parts: function(parts, axis))
        if made is NotImplemented and function is np.stack:
            from .stacked import stack

            made = stack(arrays, axis)
        return made

    return handler


def _axes_of_stack(first: Any, axis: int) -> Any:
    if len(first.shape) != 2:
        return None
    return {0: "chw", -3: "chw", 2: "hwc", -1: "hwc"}.get(axis)


def _axes_of_concatenation(first: Any, axis: int) -> Any:
    if len(first.shape) != 3 or not -3 <= axis < 3:
        return None
    return {0: "chw", 2: "hwc"}.get(axis % 3)


def _dstack(args: Any, kwargs: Any) -> Any:
    if len(args) != 1 or kwargs or type(args[0]) not in (list, tuple):
        return NotImplemented
    return together(args[0], "hwc", lambda *parts: np.dstack(parts))


def _repeat(args: Any, kwargs: Any) -> Any:
    """np.repeat(gray, 3, axis)."""
    names = ("repeats", "axis")
    if len(args) > 3 or not set(names).issuperset(kwargs):
        return NotImplemented
    given = dict(zip(names, args[1:]), **kwargs)
    axis, record = given.get("axis"), recorded_array(args[0])
    if record is None or type(axis) is not int or given.get("repeats") != 3:
        return NotImplemented
    at = axis % 3
    if len(record.axes) != 3 or record.axes[at] != "1" or not -3 <= axis < 3:
        return NotImplemented
    axes = record.axes[:at] + "c" + record.axes[at + 1 :]
    return _three(record, axes, lambda a: np.repeat(a, 3, axis))


def _tile(args: Any, kwargs: Any) -> Any:
    if len(args) != 2 or kwargs or type(args[0]) is not DeferredArray:
        return NotImplemented
    record, times = recorded_array(args[0]), args[1]
    if record is None or len(record.axes) != 3:
        return NotImplemented
    if type(times) not in (list, tuple) or sorted(times) != [1, 1, 3]:
        return NotImplemented
    at = list(times).index(3)
    if record.axes[at] != "1":
        return NotImplemented
    axes = record.axes[:at] + "c" + record.axes[at + 1 :]
    times = tuple(times)
    return _three(record, axes, lambda a: np.tile(a, times))


def _three(record: Record, axes: Optional[str], function: Any) -> Any:
    """Three channels of a gray one."""
    if axes not in ("chw", "hwc"):
        return NotImplemented
    try:
        changed = views.gray_to_rgb(record)
    except NotRecorded:
        return NotImplemented
    sides = {"c": 3, "h": record.side("h"), "w": record.side("w")}
    shape = tuple(sides[axis] for axis in axes)
    call = Call(record.call, function)
    return DeferredArray(
        record.but(
            axes=axes, shape=shape, strides=dense(shape), call=call, **changed
        )
    )


def _pad(args: Any, kwargs: Any) -> Any:
    names = ("pad_width", "mode", "constant_values")
    if len(args) > 3 or not set(names).issuperset(kwargs):
        return NotImplemented
    if type(args[0]) is not DeferredArray:
        return NotImplemented
    record = recorded_array(args[0])
    given = {"mode": "constant", **dict(zip(names, args[1:])), **kwargs}
    if record is None or given["mode"] not in op.PADDINGS:
        return NotImplemented
    value = given.get("constant_values", 0)
    try:
        widths = np.broadcast_to(given["pad_width"], (len(record.axes), 2))
        fill = _bytes_of(record, value) if given["mode"] == "constant" else ()
        call = Call(record.call, np.pad, 0, args[1:], kwargs)
        pairs = [tuple(map(operator.index, pair)) for pair in widths]
        if fill is None:
            return NotImplemented
        return DeferredArray(
            views.padded(record, call, pairs, given["mode"], fill)
        )
    except (NotRecorded, TypeError, ValueError, OverflowError):
        return NotImplemented  # NumPy says what is wrong, or does as it does


def _bytes_of(record: Record, value: Any) -> Optional[Tuple[int, ...]]:
    """A byte for each channel that becomes that value."""
    if not isinstance(value, (bool, int, float)):
        return None
    wanted = np.zeros(record.side("c"), record.dtype)
    wanted[...] = value
    return bytes_that_become(record, wanted)


def bytes_that_become(record: Record, values: Any) -> Optional[Tuple[int, ...]]:
    """A byte for each channel that becomes the value of that. None: there is
    none for some."""
    table, wanted = table_of(record), values[:, None]
    same = table == wanted
    if table.dtype.kind == "f":  # -0.0 is not 0.0
        same &= np.signbit(table) == np.signbit(wanted)
    if not bool(same.any(axis=1).all()):
        return None
    return tuple(same.argmax(axis=1).tolist())


# ---- The table --------------------------------------------------------------


def _register() -> None:
    for name in _UFUNCS:
        ufunc = getattr(np, name)
        handlers[ufunc] = _of_ufunc(ufunc)
    for name in _OPERATORS:
        handlers["__%s__" % name] = _of_operator(name)
        if name not in ("eq", "ge", "gt", "le", "lt", "ne"):
            handlers["__r%s__" % name] = _of_reflected(name)
            handlers["__i%s__" % name] = _of_in_place(name)
    for name in _UNARY:
        handlers["__%s__" % name] = _of_operator(name)
    for name, move in _VIEWS.items():
        handlers[name] = _mover(name, move)
    for name in _BY_METHODS:
        function = getattr(np, name)
        if hasattr(function, "_implementation"):
            handlers[function] = _by_methods(function)
    plain: Dict[Any, Handler] = {
        "__add__": _add,
        "__pow__": _power,
        "__copy__": _deepcopy,
        "__deepcopy__": _deepcopy,
        "__getitem__": _get_item,
        "astype": _astype,
        "clip": _clip,
        "copy": _copy,
        "round": _round,
        np.add: _np_add,
        np.clip: _clip,
        np.copy: _np_copy,
        np.round: _round,
        np.around: _round,
        np.where: _where,
        np.isin: _isin,
        np.take: _take,
        np.stack: _stacked(np.stack, _axes_of_stack),
        np.concatenate: _stacked(np.concatenate, _axes_of_concatenation),
        np.dstack: _dstack,
        np.repeat: _repeat,
        np.tile: _tile,
        np.pad: _pad,
        np.full_like: _like(np.full_like),
        np.ones_like: _like(np.ones_like),
        np.zeros_like: _like(np.zeros_like),
    }
    handlers.update(plain)


_register()
