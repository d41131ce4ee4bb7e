# SPDX-License-Identifier: Apache-2.0
"""What is known of a deferred tensor or array, and calls that make it real.

It is kept in two forms. One is the engine's: steps of the image, then a table
with what becomes of each byte in each channel, then rectangles that are erased;
moving pixels commutes with changing their values, so it goes in front as long
as nothing is erased. The other is the calls as they were made, which make it
real.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import steps as op
from .image_source import Source
from .recording import Run
from .steps import Steps

Shape = Tuple[int, ...]
Table = Any  # a tensor or an array [channels, 256]


_NONE: Dict[str, Any] = {}  # not to be changed


class Call:
    """A call of a function that gave a tensor, `at` is where the tensor before
    stands among the arguments; or a function that makes the first one."""

    __slots__ = ("before", "function", "at", "args", "kwargs")

    def __init__(
        self,
        before: Optional["Call"],
        function: Callable[..., Any],
        at: int = 0,
        args: Tuple[Any, ...] = (),
        kwargs: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.before = before
        self.function = function
        self.at = at
        self.args = args  # without the tensor
        self.kwargs = kwargs or _NONE

    def on(self, tensor: Any) -> Any:
        args = (*self.args[: self.at], tensor, *self.args[self.at :])
        return self.function(*args, **self.kwargs)

    def again(self) -> Any:
        """The real tensor."""
        calls: List[Call] = []
        call = self
        while call.before is not None:
            calls.append(call)
            call = call.before
        tensor = call.function(*call.args)
        for call in reversed(calls):
            tensor = call.on(tensor)
        return tensor


class Record:
    """What is known of a deferred tensor. Never changed, once made."""

    whole = False  # it may be recorded on; see chained.py
    blank = False  # see class_arrays.py

    source: Source
    steps: Steps  # of the image
    mode: str  # Pillow's, of the image
    run: Run
    # For each dimension c, h or w, or 1 for one that is only there.
    axes: str
    shape: Shape
    strides: Shape  # in elements
    dtype: Any
    # How bytes become elements: as they are; x / 255; and then normalized
    # by means and standard deviations; or by a table.
    scaled: bool = False
    normalized: Tuple[float, ...] = ()
    table: Table = None
    # (left, top, width, height), and a value for each channel; or values
    # [channels, height, width].
    erased: Tuple[Tuple[Tuple[int, ...], Any], ...] = ()
    call: Call
    kind: Any = None  # the class of the real one
    # Of an array whose elements are not the engine's, but may become so: what
    # they are. Nothing else is recorded of it, but of floats with steps behind
    # all others; see float_images.py.
    pending: Any = None
    # Of a tensor, whether it was made as a view of the one before.
    is_view = False
    # What was done to such records before; see remembered.py.
    outline: Any = None

    def but(self, **changed: Any) -> "Record":
        new = Record()
        of = new.__dict__
        of.update(self.__dict__)  # in this way the keys stay shared
        of["outline"] = None
        of.update(changed)
        return new

    def side(self, axis: str) -> int:
        at = self.axes.find(axis)
        return 1 if at < 0 else self.shape[at]

    @property
    def order(self) -> str:
        """The axes that are an image's."""
        return self.axes.replace("1", "")


def image_size(axes: str, shape: Shape) -> Tuple[int, int, int]:
    """Channels, height and width of what has these dimensions."""
    c, h, w = (shape[at] if at >= 0 else 1 for at in map(axes.find, "chw"))
    return c, h, w


def dense(shape: Sequence[int]) -> Shape:
    """Strides of a contiguous tensor."""
    return _dense(tuple(shape))


@lru_cache(maxsize=256)
def _dense(shape: Shape) -> Shape:
    strides, step = [0] * len(shape), 1
    for at in range(len(shape) - 1, -1, -1):
        strides[at] = step
        step *= max(shape[at], 1)
    return tuple(strides)


def kept_order(record: Record) -> Shape:
    """Strides of a result: the order of the dimensions in memory is kept."""
    return _kept_order(tuple(record.shape), tuple(record.strides))


@lru_cache(maxsize=256)
def _kept_order(shape: Shape, strides: Shape) -> Shape:
    order = sorted(range(len(shape)), key=lambda i: (abs(strides[i]), -i))
    made, step = [0] * len(shape), 1
    for at in order:
        made[at] = step
        step *= shape[at]
    return tuple(made)


def is_plain(record: Record) -> bool:
    """Bytes of the image, as they are."""
    return not record.scaled and record.table is None and not record.erased


def as_bytes(image: Any) -> Tuple[str, Steps]:
    """Mode and steps of an image whose bytes are numbers from here on."""
    if image._mode != "YCbCr":
        return image._mode, image._steps
    return "RGB", (*image._steps, (op.SELECT, (0, 1, 2), None))


def as_table(made: Table, record: Record) -> Table:
    """A table of what as_pixels() gave."""
    c = record.side("c")
    if record.order == "hwc":
        return made.reshape(256, c).T
    return made.reshape(c, 256)


def as_pixels(table: Table, record: Record) -> Table:
    """A table in the dimensions of the tensor, 256 rows of one pixel."""
    if record.order == "hwc":
        table = table.T
    sides = {"c": record.side("c"), "h": 256, "w": 1, "1": 1}
    return table.reshape([sides[axis] for axis in record.axes])


def selected(record: Record, chosen: Sequence[int]) -> Optional[Dict[str, Any]]:
    """What changes where these channels are left, in this order. None: it is
    not recorded."""
    chosen, table, numbers = list(chosen), record.table, record.normalized
    if not 1 <= len(chosen) <= 4:
        return None
    steps = record.steps
    if record.mode == "RGBA" and chosen == [0, 1, 2]:
        steps = (*steps, (op.CONVERT, (3,), None))  # alpha is not decoded
    else:
        steps = op.select(steps, record.source.header.mode, chosen)
    n = len(numbers) // 2
    both = [*chosen, *(n + channel for channel in chosen)]
    return {
        "mode": op.MODE_OF[len(chosen)],
        "steps": steps,
        "table": None if table is None else table[chosen],
        "normalized": tuple(numbers[i] for i in both) if numbers else (),
        "erased": tuple((place, v[chosen]) for place, v in record.erased),
    }


def parts_of(index: Any, n: int) -> Optional[List[Tuple[int, Any]]]:
    """An index of n dimensions: (dimension, what is said of it), with a slice
    of all where nothing is. None, at any dimension, makes a new one. None: it
    says too much."""
    given = index if isinstance(index, tuple) else (index,)
    dots = new = 0
    for i in given:
        dots += i is Ellipsis
        new += i is None
    more = n - (len(given) - dots - new)
    if dots > 1 or more < 0:
        return None
    found: List[Tuple[int, Any]] = []
    at = 0
    for i in given if dots else (*given, Ellipsis):
        if i is Ellipsis:
            found += [(d, _ALL) for d in range(at, at + more)]
            at += more
            continue
        found.append((at, i))
        at += i is not None
    return found


_ALL = slice(None)
