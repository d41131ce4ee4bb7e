# SPDX-License-Identifier: Apache-2.0
"""Records of arrays whose pixels are moved, as NumPy moves them.

Each function gives the record of a view, or raises NotRecorded: then the array
is made real, and NumPy's own function runs, and raises what it raises.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from . import steps as op
from .array import table_of
from .record import Call, Record, dense, kept_order, parts_of, selected


class NotRecorded(Exception):
    """Of a call that has no record."""


_UPRIGHT = ("hwc", "hw", "chw")


def moved(record: Record, call: Call, **changed: Any) -> Record:
    """A record with width and height in the order of memory."""
    new = record.but(call=call, **changed)
    if new.axes in _UPRIGHT:
        pass  # mostly, and sooner said than by `order`
    elif new.order in ("cwh", "whc", "wh"):
        if record.erased:
            raise NotRecorded
        new.steps = (*new.steps, (op.TRANSPOSE, (5,), None))
        swapped = {"h": "w", "w": "h"}
        new.axes = "".join(swapped.get(axis, axis) for axis in new.axes)
    elif new.order not in _UPRIGHT:
        raise NotRecorded
    if len(new.steps) > op.MOST_STEPS - 4:
        raise NotRecorded
    return new


def dims_of(record: Record, dims: Iterable[Any]) -> List[int]:
    n = len(record.axes)
    found = [operator.index(d) for d in dims]
    if any(not -n <= d < n for d in found):
        raise NotRecorded
    return [d % n for d in found]


def many(values: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Of f(1, 2) and f((1, 2))."""
    if len(values) == 1 and hasattr(values[0], "__len__"):
        return tuple(values[0])
    return values


def permuted(record: Record, call: Call, order: Sequence[int]) -> Record:
    if sorted(order) != list(range(len(record.axes))):
        raise NotRecorded
    return moved(
        record,
        call,
        axes="".join(record.axes[d] for d in order),
        shape=tuple(record.shape[d] for d in order),
        strides=tuple(record.strides[d] for d in order),
    )


def squeezed(
    record: Record, call: Call, dims: Optional[Iterable[int]]
) -> Record:
    """dims: None for all of one."""
    every = range(len(record.axes))
    if dims is None:
        gone = {d for d in every if record.shape[d] == 1}
    else:
        gone = set(dims_of(record, dims))
        if any(record.shape[d] != 1 for d in gone):
            raise NotRecorded
    if any(record.axes[d] in "hw" for d in gone):
        raise NotRecorded
    return _only(record, call, [d for d in every if d not in gone])


def _only(record: Record, call: Call, dims: List[int]) -> Record:
    return moved(
        record,
        call,
        axes="".join(record.axes[d] for d in dims),
        shape=tuple(record.shape[d] for d in dims),
        strides=tuple(record.strides[d] for d in dims),
    )


def reshaped(record: Record, call: Call, given: Iterable[Any]) -> Record:
    """Dimensions of one that come and go."""
    sizes = list(map(operator.index, given))
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise NotRecorded
    if -1 in sizes:
        known = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = math.prod(record.shape) // max(known, 1)
    axes, at, n = "", 0, len(record.axes)
    strides: List[int] = []
    for size in sizes:
        while at < n and record.shape[at] == 1 != size:
            if record.axes[at] in "hw":
                raise NotRecorded
            at += 1
        if at < n and record.shape[at] == size:
            axes += record.axes[at]
            strides.append(record.strides[at])
            at += 1
        elif size == 1:
            axes += "1"
            strides.append(0)
        else:
            raise NotRecorded
    left = range(at, n)
    if any(record.shape[d] != 1 or record.axes[d] in "hw" for d in left):
        raise NotRecorded
    if record.strides == dense(record.shape):
        strides = list(dense(sizes))
    else:  # as far as one more of a dimension of one would be
        for d in range(len(sizes) - 1, -1, -1):
            if axes[d] == "1" and strides[d] == 0:
                inner = d + 1 < len(sizes)
                strides[d] = sizes[d + 1] * strides[d + 1] if inner else 1
    return moved(
        record, call, axes=axes, shape=tuple(sizes), strides=tuple(strides)
    )


# ---- Indexing ---------------------------------------------------------------


def ranges_of(record: Record, index: Any) -> List[Any]:
    """For each dimension: (itself, positions in it, whether it goes), with None
    in between for new ones."""
    parts = parts_of(index, len(record.axes))
    if parts is None:
        raise NotRecorded
    return [i if i is None else _range_of(record, at, i) for at, i in parts]


_ONE = (1, -1)


def _range_of(record: Record, at: int, i: Any) -> Any:
    """(dimension, positions in it, whether it goes)."""
    side = record.shape[at]
    if type(i) is slice:
        chosen = range(*i.indices(side))
        if not chosen or chosen.step not in _ONE:
            raise NotRecorded
        return at, chosen, False
    where = _position(i)
    if where is None or not -side <= where < side or record.axes[at] in "hw":
        raise NotRecorded
    return at, range(where % side, where % side + 1), True


def _position(i: Any) -> Optional[int]:
    """A number; None: it is an array, as a mask, or what NumPy refuses."""
    if isinstance(i, (bool, np.ndarray)):
        return None
    try:
        return operator.index(i)
    except TypeError:
        return None


def indexed(record: Record, call: Call, index: Any) -> Record:
    """The record of array[index]."""
    axes = ""
    shape: List[int] = []
    strides: List[int] = []
    steps, changed = record.steps, {}
    box: Dict[str, Any] = {}
    for found in ranges_of(record, index):
        if found is None:
            axes, shape, strides = axes + "1", [*shape, 1], [*strides, 0]
            continue
        d, chosen, goes = found
        axis, side = record.axes[d], record.shape[d]
        if axis in "hw":
            box[axis] = chosen
        elif axis == "c" and chosen != range(side):
            changed = channels_of(record, chosen)
            steps = changed.pop("steps")
        if not goes:
            axes += axis
            shape.append(len(chosen))
            strides.append(record.strides[d] * (1 if chosen.step > 0 else -1))
    boxed = _boxed(record, steps, box)
    if record.erased and boxed is not steps:
        raise NotRecorded
    changed.update(
        axes=axes, shape=tuple(shape), strides=tuple(strides), steps=boxed
    )
    return moved(record, call, **changed)


def channels_in(record: Record, index: Any) -> Optional[List[int]]:
    """Those that array[index] = ... writes to, where all of each and not all
    of them. None: it says something else."""
    parts = parts_of(index, len(record.axes))
    at = record.axes.find("c")
    if parts is None or at < 0 or len(parts) != len(record.axes):
        return None
    if any(d != at and not _is_whole(i) for d, i in parts):
        return None
    every = list(range(record.shape[at]))
    chosen = parts[at][1]
    if isinstance(chosen, slice):
        found = every[chosen]
        return None if found == every else found
    if isinstance(chosen, (list, tuple, np.ndarray)):
        return _listed(every, np.asarray(chosen))
    where = _position(chosen)
    if where is None or not -len(every) <= where < len(every):
        return None
    return [every[where]]


def _is_whole(i: Any) -> bool:
    return isinstance(i, slice) and i == slice(None)


def _listed(every: List[int], numbers: Any) -> Optional[List[int]]:
    n = len(every)
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu":
        return None
    if numbers.min() < -n or numbers.max() >= n:
        return None
    return [every[i] for i in numbers.tolist()]


def chosen(record: Record, call: Call, index: Any) -> Record:
    """Of array[..., [2, 0, 1]], which is a copy."""
    given = index[-1] if isinstance(index, tuple) else None
    if record.axes != "hwc" or not isinstance(given, (list, np.ndarray)):
        raise NotRecorded
    found = channels_in(record, index)
    if found is None:
        raise NotRecorded
    new = chosen_shape(record, call, index, len(found))
    return new.but(**channels_of(record, found))


def chosen_shape(record: Record, call: Call, index: Any, n: int) -> Record:
    """With so many channels, in memory as NumPy chooses it."""
    small = np.empty((2, 3, record.shape[2]), np.uint8)[index]
    shape = (*record.shape[:2], n)
    in_memory = record.but(shape=shape, strides=small.strides)
    return record.but(call=call, shape=shape, strides=kept_order(in_memory))


def _boxed(record: Record, steps: op.Steps, box: Dict[str, Any]) -> op.Steps:
    """Cropped and flipped."""
    w, h = record.side("w"), record.side("h")
    columns, rows = box.get("w") or range(w), box.get("h") or range(h)
    (left, right), (top, bottom) = _ends(columns), _ends(rows)
    if left or top or right != w or bottom != h:
        steps = (*steps, (op.CROP, (left, top, right, bottom), None))
    turn = (columns.step < 0) + 2 * (rows.step < 0)
    if turn:
        steps = (*steps, (op.TRANSPOSE, ((0, 1, 3)[turn - 1],), None))
    return steps


def _ends(chosen: range) -> Tuple[int, int]:
    if chosen.step > 0:
        return chosen.start, chosen.stop
    return chosen.stop + 1, chosen.start + 1


def channels_of(record: Record, chosen: Sequence[int]) -> Dict[str, Any]:
    """What changes where these channels are left, in this order."""
    found = selected(record, chosen)
    if found is None:
        raise NotRecorded
    return found


def merged(records: Sequence[Record], call: Call, axes: str) -> Record:
    """Channels of one image as an image, in this order of dimensions."""
    first = records[0]
    steps, _, _ = _channel_of(first)
    chosen: List[int] = []
    then: List[op.Step] = []
    for record in records:
        own, channel, behind = _channel_of(record)
        if (
            record.source is not first.source
            or own != steps
            or record.mode != "L"
            or record.order not in ("hw", "chw", "hwc")
            or record.shape != first.shape
            or record.dtype != first.dtype
            or [e[0] for e in record.erased] != [e[0] for e in first.erased]
        ):
            raise NotRecorded
        then += op.of_channel(behind, 0, len(chosen))
        chosen.append(channel)
    sides = {"c": len(records), "h": first.side("h"), "w": first.side("w")}
    shape = tuple(sides[axis] for axis in axes)
    tables = [table_of(record) for record in records]
    plain = all(record.table is None for record in records)
    values = zip(*([e[1] for e in record.erased] for record in records))
    steps = op.select(steps, first.source.header.mode, chosen)
    return first.but(
        mode=op.MODE_OF[len(records)],
        steps=(*steps, *then),
        table=None if plain else np.concatenate(tables),
        axes=axes,
        shape=shape,
        strides=dense(shape),
        erased=tuple(
            (place, np.concatenate(each))
            for (place, _), each in zip(first.erased, values)
        ),
        call=call,
    )


def _channel_of(record: Record) -> Tuple[op.Steps, int, op.Steps]:
    """(steps of an image, which of its channels this is, steps of that)."""
    steps, behind = op.parted(record.steps)
    last = steps[-1] if steps else None
    if last is not None and last[0] == op.SELECT and len(last[1]) == 1:
        return steps[:-1], int(last[1][0]), behind
    return steps, 0, behind


def gray_to_rgb(record: Record) -> Dict[str, Any]:
    """What changes where a gray image has three channels, each the gray one."""
    if record.mode != "L" or record.erased:
        raise NotRecorded
    table = record.table
    return {
        "mode": "RGB",
        "steps": (*record.steps, (op.CONVERT, (3,), None)),
        "table": None if table is None else table[[0, 0, 0]],
    }


def padded(
    record: Record, call: Call, widths: Any, mode: str, fill: Tuple[int, ...]
) -> Record:
    """widths: (before, after) of each dimension, as of numpy.pad. fill: bytes
    of the image that become the value, where the mode is constant."""
    sides = {"h": (0, 0), "w": (0, 0)}
    if record.erased:
        raise NotRecorded
    for axis, width in zip(record.axes, widths):
        if axis in sides:
            sides[axis] = width
        elif width != (0, 0):
            raise NotRecorded
    w, h = record.side("w"), record.side("h")
    most = {"constant": None, "edge": None, "reflect": 1, "symmetric": 0}[mode]
    if most is not None and (
        max(sides["w"]) > w - most or max(sides["h"]) > h - most
    ):
        raise NotRecorded
    (left, right), (top, bottom) = sides["w"], sides["h"]
    if min(left, right, top, bottom) < 0:
        raise NotRecorded
    number = op.PADDINGS.index(mode)
    step = (op.PAD, (left, top, right, bottom, number, *fill), None)
    added = {"w": left + right, "h": top + bottom}
    shape = tuple(
        side + added.get(axis, 0)
        for axis, side in zip(record.axes, record.shape)
    )
    strides = dense(shape)
    if record.strides == _by_columns(record.shape) != dense(record.shape):
        strides = _by_columns(shape)
    steps = (*record.steps, step)
    return moved(record, call, steps=steps, shape=shape, strides=strides)


def _by_columns(shape: Sequence[int]) -> Tuple[int, ...]:
    """Strides of Fortran's order."""
    return dense(shape[::-1])[::-1]
