# SPDX-License-Identifier: Apache-2.0
"""What was done to a record is remembered.

Most programs call the same functions of each image, with the same numbers. What
such a call changes in a record depends on what the record says of itself, its
outline, and on nothing of the image: which file it is, where it was cropped.
So a call that has been seen is a look at a dict, and two updates of one.

A move gets (record, the call, its arguments), and gives the record behind it,
or raises. It looks at no number of a step but those that say which channels
there are. A move that writes other steps anew is not remembered: what it made
has the numbers of one image.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from . import steps as op
from .canvas import Canvas
from .image_source import Source
from .record import Call, Record

Move = Callable[..., Record]
# By move and arguments: None, seen once; or [what it changes, how many of the
# steps stay, those behind them, the arguments].
Outline = Dict[Any, Any]

# Steps that say which channels there are.
_CHANNELS = op.OF_ONE.union(
    (op.CONVERT, op.SELECT, op.GRAYSCALE, op.TENSOR_GRAYSCALE, op.CV_COLOUR)
)
MOST = 1024  # moves; one may have a table of up to 8 KB
outlines: Dict[Any, Outline] = {}
_seen = 0

# Of records of which nothing is remembered.
_NONE: Outline = {}
_NEVER = object()
_SAME = [None, 0, None, ()]
# Tables that moves made before, by id, and their bytes. One that is drawn at
# random is made for one image, and nothing behind it is remembered.
_tables: Dict[int, Tuple[Any, List[bytes]]] = {}


def then(move: Move, record: Record, call: Call) -> Record:
    """move(record, call, *call.args, **call.kwargs), not to be changed."""
    outline = record.outline
    if outline is None:
        outline = record.outline = _outline_of(record)
    key = None if outline is _NONE else _key(move, call)
    if key is None:
        return move(record, call, *call.args, **call.kwargs)
    found = outline.get(key, _NEVER)
    if found is None or found is _NEVER:
        new = move(record, call, *call.args, **call.kwargs)
        _note(outline, key, record, call, new, found is None)
        return new
    changed, kept, behind, args = found
    if changed is None:
        return record
    call.args = args  # of all such calls the same: few objects wait for pixels
    new = Record()
    of = new.__dict__
    of.update(record.__dict__)
    of.update(changed)
    of["call"] = call
    if behind is not None:
        of["steps"] = record.steps[:kept] + behind
    if changed["outline"] is None:
        changed["outline"] = new.outline = _outline_of(new)
    return new


def _note(
    outline: Outline,
    key: Any,
    record: Record,
    call: Call,
    new: Record,
    again: bool,
) -> None:
    """again: it has been seen before; whatever is drawn at random never is."""
    global _seen
    if type(new) is not Record:
        return
    if not again:
        _seen += 1
        if _seen > MOST:
            _seen = 0
            for each in list(outlines.values()):
                each.clear()
            outlines.clear()
            _tables.clear()
        outline[key] = None
        return
    if new is record:
        outline[key] = _SAME
        return
    if (
        new.call is not call
        or new.source is not record.source
        or new.run is not record.run
    ):
        return
    own = record.__dict__
    changed = {
        name: value
        for name, value in new.__dict__.items()
        if name not in own or own[name] is not value
    }
    keep(new.table)
    changed.update(outline=None, is_view=new.is_view)
    del changed["call"]
    steps = changed.pop("steps", None)
    kept = 0
    if steps is not None:
        for a, b in zip(steps, record.steps):
            if a is not b:
                break
            kept += 1
        if any(step[0] not in _CHANNELS for step in record.steps[kept:]):
            return  # written anew, with numbers of this image
        steps = steps[kept:]
    outline[key] = [changed, kept, steps, call.args]


def _outline_of(record: Record) -> Outline:
    if record.erased or record.pending is not None:
        return _NONE
    table = record.table
    known = table is None or id(table) in _tables
    source = type(record.source)
    if not known or (source is not Source and source is not Canvas):
        return _NONE
    said = (
        source,
        record.source.header.mode,
        record.mode,
        record.axes,
        record.shape,
        record.strides,
        record.dtype,
        record.kind,
        record.scaled,
        record.normalized,
        0 if table is None else id(table),
        *[
            (number, values) if number in _CHANNELS else number
            for number, values, _ in record.steps
        ],
    )
    try:
        found = outlines.get(said)
    except TypeError:  # a list among what it says
        return _NONE
    if found is None:
        found = outlines[said] = {}
    return found


def keep(table: Any) -> None:
    """A table that is the same one for many images."""
    _tables.setdefault(id(table), (table, []))


def bytes_of(table: Any, read: Callable[[Any], bytes]) -> bytes:
    """read(table), once for many images."""
    known = _tables.get(id(table))
    if known is None:
        return read(table)
    if not known[1]:
        known[1].append(read(table))
    return known[1][0]


# ---- Arguments --------------------------------------------------------------

# That equal no others of their class with another meaning.
_KINDS = {int, bool, str, type(None), type(...), type}


def add_kinds(*kinds: type) -> None:
    """Classes whose objects are compared and never change."""
    _KINDS.update(kinds)


def _key(move: Move, call: Call) -> Any:
    """None: of such arguments nothing is remembered."""
    said: List[Any] = [move, call.function, call.at]
    if not _say(call.args, said):
        return None
    for name, value in call.kwargs.items():
        said.append(name)
        if not _say((value,), said):
            return None
    return tuple(said)


# Classes of few numbers: what tells one such object from another, or None.
_NUMBERS: Dict[type, Callable[[Any], Any]] = {}


def add_numbers(kind: type, said: Callable[[Any], Any]) -> None:
    _NUMBERS[kind] = said


class Steady:
    """A function of arrays that is the same one for the same numbers, so that
    what it makes of a record is remembered."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


_steady: Dict[Any, Steady] = {}


def steady(
    function: Callable[..., Any], of: Any, numbers: Tuple[Any, ...]
) -> Callable[..., Any]:
    """`function`, which depends on nothing but `of` and numbers that do not
    change; or the one that was given with these before."""
    said: List[Any] = [of]
    if not _say(numbers, said):
        return function
    key = tuple(said)
    found = _steady.get(key)
    if found is None:
        if len(_steady) >= MOST:
            _steady.clear()
        found = _steady[key] = Steady(function)
    return found


def _say(values: Tuple[Any, ...], said: List[Any]) -> bool:
    for value in values:
        kind = type(value)
        if kind is float:
            value = value or repr(value)  # 0.0 is not -0.0
        elif kind is tuple:
            said.append(len(value))
            if not _say(value, said):
                return False
            continue
        elif kind is slice:  # of all: others are crops, drawn at random
            if value.start is not None or value.stop is not None:
                return False
            value = value.step
            if type(value) is not int and value is not None:
                return False
        elif kind in _NUMBERS:
            value = _NUMBERS[kind](value)
            if value is None:
                return False
        elif kind not in _KINDS:
            return False
        said.append(kind)
        said.append(value)
    return True
