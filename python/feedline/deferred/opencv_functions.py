# SPDX-License-Identifier: Apache-2.0
"""OpenCV's functions of arrays that are recorded: those that move pixels or
channels, or look at one value at a time. Others are steps of the engine's
(opencv_steps.py).

Each gets (the original, the array, the other arguments as they were given), and
returns NotImplemented for calls that are not for it: then OpenCV gets the real
array, and says what is wrong, if anything is.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, FrozenSet, Optional, Sequence, Tuple

import numpy as np

from . import array_views as views
from . import array_sums as sums
from . import float_images as floats
from . import opencv_levels as levels
from . import opencv_steps as made
from .array import DeferredArray, alone, recorded_array
from .array_functions import (
    ERASED,
    bytes_that_become,
    elementwise,
    together,
    written,
)
from .array_views import NotRecorded
from .array_writes import overwritten
from .record import Call, Record, dense
from .remembered import steady, then
from .steps import MOST_STEPS

# Moves (record, its call, the other arguments), or raises NotRecorded.
Move = Callable[..., Record]

# Of numbers that OpenCV takes as they are, and those that it only moves.
_TYPES = frozenset(map(np.dtype, (np.uint8, np.uint16, np.int16, np.float32)))
_MOVED = _TYPES.union(map(np.dtype, (np.int8, np.int32, np.float64)))


def _mover(
    move: Move,
    before: int = 0,
    behind: Sequence[str] = (),
    types: FrozenSet[Any] = _TYPES,
) -> Callable[..., Any]:
    """OpenCV's function gives an array of its own, which is contiguous, or
    writes to the one that it is given.

    before: how many arguments are between the array and that one. behind: the
    names of those that come then.
    """

    def densely(record: Record, call: Call, *args: Any, **named: Any) -> Record:
        new = move(record, call, *args, **named)
        return new.but(strides=dense(new.shape))

    def function(original: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
        record = recorded_array(array)
        record = None if record is None else _as_image(record, types)
        dst = kwargs.pop("dst", None)
        if len(args) > before:
            kwargs.update(zip(behind, args[before + 1 :]))
            dst, args = args[before], args[:before]
        if record is None or not (dst is None or type(dst) is DeferredArray):
            return NotImplemented
        for value in (*args, *kwargs.values()):
            if type(value) is DeferredArray:
                return NotImplemented
        args = tuple([_kept(value) for value in args])
        if kwargs:
            kwargs = {name: _kept(value) for name, value in kwargs.items()}
        call = Call(record.call, original, 0, args, kwargs)
        try:
            new = then(densely, record, call)
        except (NotRecorded, TypeError, ValueError):
            return NotImplemented
        if len(new.shape) == 2:
            new.run.grays.add(new.shape)
        return DeferredArray(new) if dst is None else overwritten(dst, new)

    return function


def _kept(value: Any) -> Any:
    """An argument, whatever becomes of it later."""
    return value.copy() if type(value) is np.ndarray else value


def _is_image(record: Record) -> bool:
    if record.dtype not in _TYPES or record.axes not in ("hw", "hwc"):
        return False
    return record.axes == "hw" or record.side("c") > 1


def _as_image(record: Record, types: FrozenSet[Any]) -> Optional[Record]:
    """What has one channel in a dimension of its own, OpenCV gives back
    without it."""
    if record.dtype not in types:
        return None
    if record.axes == "hw" or (record.axes == "hwc" and record.shape[2] > 1):
        return record
    if record.axes not in ("hw1", "hwc"):
        return None
    shape, strides = record.shape[:2], record.strides[:2]
    return record.but(axes="hw", shape=shape, strides=strides)


# ---- Flips and turns --------------------------------------------------------

_ALL, _BACK = slice(None), slice(None, None, -1)


def _flip(record: Record, call: Call, flipCode: int) -> Record:
    if type(flipCode) is not int:
        raise NotRecorded
    rows = _ALL if flipCode > 0 else _BACK
    columns = _ALL if flipCode == 0 else _BACK
    return views.indexed(record, call, (rows, columns))


def _transpose(record: Record, call: Call) -> Record:
    return views.permuted(record, call, (1, 0, 2)[: len(record.axes)])


def _rotate(record: Record, call: Call, rotateCode: int) -> Record:
    if rotateCode == 1:  # by 180 degrees
        return views.indexed(record, call, (_BACK, _BACK))
    if rotateCode not in (0, 2):
        raise NotRecorded
    turned = _transpose(record, call)
    clockwise = rotateCode == 0
    index = (_ALL, _BACK) if clockwise else (_BACK, _ALL)
    return views.indexed(turned, call, index)


# ---- Borders ----------------------------------------------------------------

# BORDER_CONSTANT, REPLICATE, REFLECT and REFLECT_101.
_BORDERS = {0: "constant", 1: "edge", 2: "symmetric", 4: "reflect"}
_ISOLATED = 16  # the array alone is looked at, as here anyhow


def bordered(
    record: Record,
    call: Call,
    top: int,
    bottom: int,
    left: int,
    right: int,
    borderType: int,
    *,
    value: Any = 0,
) -> Record:
    border = borderType & ~_ISOLATED
    mode = _BORDERS.get(border)
    widths = [(top, bottom), (left, right), (0, 0)][: len(record.axes)]
    if any(type(side) is not int for pair in widths for side in pair):
        raise NotRecorded
    most_h, most_w = record.side("h") - 1, record.side("w") - 1
    beyond = max(top, bottom) > most_h or max(left, right) > most_w
    if mode is None or (beyond and mode in ("symmetric", "reflect")):
        return made.surrounded(record, call, widths[:2], border)
    if mode != "constant":
        return views.padded(record, call, widths, mode, ())
    if record.table is None:
        fill = made.fill_of(record, value)
        return views.padded(record, call, widths, mode, fill)
    values = _values_of(record, value)
    found = bytes_that_become(record, values)
    if found is not None:
        return views.padded(record, call, widths, mode, found)
    return _framed(record, call, widths, values)


def _values_of(record: Record, value: Any) -> Any:
    """What OpenCV makes of a number or of up to four, for each channel."""
    numbers = (value,) if type(value) in (int, float) else tuple(value)
    given = np.array((*numbers, 0, 0, 0, 0)[: record.side("c")], np.float64)
    values = given.astype(record.dtype)
    if record.dtype.kind != "f" and (values != given).any():
        raise NotRecorded  # OpenCV rounds and saturates
    return values


def _framed(record: Record, call: Call, widths: Any, values: Any) -> Record:
    """With a border of values that no byte becomes."""
    if record.dtype not in ERASED:
        raise NotRecorded
    fill = (0,) * record.side("c")
    new = views.padded(record, call, widths, "constant", fill)
    h, w = new.side("h"), new.side("w")
    (top, bottom), (left, right) = widths[:2]
    between = h - top - bottom
    boxes = (
        (0, 0, w, top),
        (0, h - bottom, w, bottom),
        (0, top, left, between),
        (w - right, top, right, between),
    )
    new.erased = tuple((box, values) for box in boxes if box[2] and box[3])
    if len(new.steps) + len(new.erased) > MOST_STEPS - 4:
        raise NotRecorded
    return new


# ---- Channels ---------------------------------------------------------------

# Of cvtColor: (channels that it takes, which ones come out).
_CHANNELS: Dict[int, Tuple[int, Sequence[int]]] = {
    4: (3, (2, 1, 0)),  # COLOR_BGR2RGB
    1: (4, (0, 1, 2)),  # COLOR_BGRA2BGR
    3: (4, (2, 1, 0)),  # COLOR_BGRA2RGB
    5: (4, (2, 1, 0, 3)),  # COLOR_BGRA2RGBA
}
_GRAY_TO_COLORS = 8
_INT16 = np.dtype(np.int16)


def _colors(record: Record, call: Call, code: int) -> Record:
    if record.dtype == _INT16:
        raise NotRecorded
    if code == _GRAY_TO_COLORS and record.axes == "hw":
        changed = views.gray_to_rgb(record)
        shape = (*record.shape, 3)
        return record.but(call=call, axes="hwc", shape=shape, **changed)
    if code in made.COMPUTED:
        return made.color(record, call, code)
    n, chosen = _CHANNELS.get(code, (0, ()))
    if record.axes != "hwc" or n != record.side("c"):
        raise NotRecorded
    changed = views.channels_of(record, chosen)
    shape = (*record.shape[:2], len(chosen))
    return record.but(call=call, shape=shape, **changed)


def _split(original: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    record = recorded_array(array)
    if args or kwargs or record is None or not _is_image(record):
        return NotImplemented
    if record.axes == "hw" or record.erased:
        return NotImplemented
    each = range(record.side("c"))
    parts = [np.ascontiguousarray(array[:, :, n]) for n in each]
    return type(original(np.zeros((1, 1, 2), np.uint8)))(parts)


def _merge(original: Any, arrays: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs or type(arrays) not in (list, tuple):
        return NotImplemented
    return together(arrays, "hwc", lambda *parts: original(parts))


def _mix_channels(
    original: Any, src: Any, dst: Any = None, fromTo: Any = None
) -> Any:
    """All channels of one array become those of another."""
    if any(type(a) is not list or len(a) != 1 for a in (src, dst)):
        return NotImplemented
    (array,), (target,) = src, dst
    if type(target) is not DeferredArray or type(fromTo) is not list:
        return NotImplemented
    record, before = recorded_array(array), recorded_array(target)
    chosen = _chosen(record, fromTo) if record is not None else None
    if record is None or before is None or chosen is None:
        return NotImplemented
    alike = before.shape == record.shape and before.dtype == record.dtype
    if not alike or before.axes != "hwc" or target is array:
        return NotImplemented
    if not target._writable or not alone(target):
        return NotImplemented
    call = Call(record.call, _mixed, 0, (original, tuple(fromTo)))
    try:
        changed = views.channels_of(record, chosen)
    except NotRecorded:
        return NotImplemented
    strides = before.strides
    target._record = record.but(call=call, strides=strides, **changed)
    target._base = None
    return type(original([_DOT], [_DOT.copy()], [0, 0]))((target,))


_DOT = np.zeros((1, 1, 1), np.uint8)


def _mixed(array: Any, original: Any, pairs: Any) -> Any:
    made = np.empty_like(array)
    original([array], [made], list(pairs))
    return made


def _chosen(record: Record, pairs: Any) -> Any:
    """Of each channel, where it is from. None: not all of them are made."""
    if record.axes != "hwc" or any(type(v) is not int for v in pairs):
        return None
    n = record.side("c")
    found = dict(zip(pairs[1::2], pairs[::2]))
    if len(pairs) != 2 * n or sorted(found) != list(range(n)):
        return None
    if not all(0 <= v < n for v in found.values()):
        return None
    return [found[i] for i in range(n)]


# ---- One value at a time ----------------------------------------------------


def _pointwise(
    original: Any, array: Any, *args: Any, dst: Any = None, **kwargs: Any
) -> Any:
    """Of an array and numbers: what becomes of a value depends on nothing
    else."""
    record = recorded_array(array)
    if record is None or not _is_image(record):
        return NotImplemented
    if len(args) == 2:
        if dst is not None:
            return NotImplemented
        *args, dst = args  # type: ignore[assignment]
    numbers = [_numbers(argument, record) for argument in args]
    if any(n is None for n in numbers):
        return NotImplemented
    given = tuple(numbers)
    if dst is None and kwargs:
        return elementwise(lambda a: original(a, *given, **kwargs), (array,))
    if dst is None:
        same = steady(lambda a: original(a, *given), original, given)
        return elementwise(same, (array,))
    if dst is not array or kwargs:
        return NotImplemented
    same = steady(lambda a: original(a, *given, a), (original, "dst"), given)
    return written(same, (array,))


def _add(original: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    """cv2.add; that of an array is not of one value at a time."""
    found: Any = NotImplemented
    others = {name: kwargs[name] for name in kwargs if name != "dst"}
    if len(args) == 1 and kwargs.get("dst") is None:
        if set(others) <= {"dtype"} and type(args[0]) is np.ndarray:
            found = sums.add(original, array, args[0], **others)
    if found is NotImplemented:
        return _pointwise(original, array, *args, **kwargs)
    return found


def _numbers(given: Any, record: Record) -> Any:
    """What stands for a number for each channel, to be kept; None for what may
    be an array for OpenCV."""
    if type(given) in (int, float):
        return given
    if type(given) is tuple and all(type(v) in (int, float) for v in given):
        return given
    if type(given) is not np.ndarray or given.size > 4:
        return None
    if given.ndim != 1 and (given.ndim != 2 or 1 not in given.shape):
        return None
    return None if record.side("h") <= 4 else given.copy()


def _look_up(original: Any, array: Any, lut: Any) -> Any:
    record = recorded_array(array)
    if record is None or not _is_image(record) or record.dtype != np.uint8:
        return NotImplemented
    if type(lut) is not np.ndarray or lut.size not in (256, _values(record)):
        return NotImplemented
    lut = lut.copy()
    return elementwise(lambda a: original(a, lut), (array,))


def _values(record: Record) -> int:
    """Of a table for each channel."""
    return 256 * record.side("c")


_color_of_bytes = _mover(_colors, 1, ("dstCn", "hint"))


def _on_avx2(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of what OpenCV rounds otherwise elsewhere."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        if not made.as_on_avx2():
            return NotImplemented
        return function(*args, **kwargs)

    return checked


_other_color_of_bytes = _on_avx2(_color_of_bytes)


def _cvt_color(original: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    if type(array) is DeferredArray and array.dtype == np.float32:
        found = floats.color(original, array, *args, **kwargs)
        if found is not NotImplemented:
            return found
    color = _color_of_bytes
    if (args[0] if args else kwargs.get("code")) in made.ON_AVX2:
        color = _other_color_of_bytes
    return color(original, array, *args, **kwargs)


def _add_weighted(original: Any, *args: Any, **kwargs: Any) -> Any:
    found = sums.add_weighted(original, *args, **kwargs)
    if found is NotImplemented:
        found = levels.add_weighted(original, *args, **kwargs)
    return found


_WARPED = ("flags", "borderMode", "borderValue")

RECORDED: Dict[str, Callable[..., Any]] = {
    "GaussianBlur": _mover(
        made.gaussian_blur, 2, ("sigmaY", "borderType", "hint")
    ),
    "LUT": _look_up,
    "add": _add,
    "addWeighted": _on_avx2(_add_weighted),
    "bitwise_not": _pointwise,
    "blur": _mover(made.blur, 1, ("anchor", "borderType")),
    "convertScaleAbs": _on_avx2(levels.convert_scale_abs),
    "copyMakeBorder": _mover(bordered, 5, ("value",), _MOVED),
    "cvtColor": _cvt_color,
    "equalizeHist": _mover(made.equalize),
    "filter2D": _on_avx2(
        _mover(made.filter_2d, 2, ("anchor", "delta", "borderType"))
    ),
    "flip": _mover(_flip, 1, types=_MOVED),
    "medianBlur": _mover(made.median_blur, 1),
    "merge": _merge,
    "mixChannels": _mix_channels,
    "multiply": _pointwise,
    "remap": _mover(made.remap, 3, ("borderMode", "borderValue", "hint")),
    "resize": _mover(made.resize, 1, ("fx", "fy", "interpolation")),
    "rotate": _mover(_rotate, 1, types=_MOVED),
    "sepFilter2D": _on_avx2(
        _mover(made.sep_filter_2d, 3, ("anchor", "delta", "borderType"))
    ),
    "split": _split,
    "subtract": _pointwise,
    "threshold": levels.threshold,
    "transpose": _mover(_transpose, 0, types=_MOVED),
    "warpAffine": _on_avx2(_mover(made.warp_affine, 2, (*_WARPED, "hint"))),
    "warpPerspective": _on_avx2(
        _mover(made.warp_perspective, 2, (*_WARPED, "hint"))
    ),
}
