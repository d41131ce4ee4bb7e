# SPDX-License-Identifier: Apache-2.0
"""Questions about pixels whose answer is all but certain.

    if image.max() > 1:         # bytes, not floats from 0 to 1
        image = image / 255
    if (image > 1).any() or (mask == 0).all() or image.min() < 0: ...

The answer is given at once, and goes along with the image as a step: the engine
looks whether it was right, of most images at one pixel. Where nothing of the
sample is made of these pixels, Python looks when the sample is done. Where it
was wrong the sample has failed, as that of a damaged file does, and is made
once more with real images: the program itself sees no error. A recorder whose
answers are wrong too often gives no more of them.
"""

from __future__ import annotations

import operator
import time
from typing import Any, Callable

import numpy as np

from . import steps as op
from .array import DeferredArray, Handler, handlers, real_array
from .array import recorded_array, table_of
from .record import Record
from .recording import Unsure, lock, no_run, state

# Of the 256 bytes, so many have to be such that the answer is right for one.
_LIKELY = 200
_MODES = ("L", "RGB")


# ---- Answers ----------------------------------------------------------------


def _may_answer(record: Record) -> bool:
    run = state.run
    return (
        run is not None
        and run.guesses
        and run.recorder.guesses > 0
        and record.mode in _MODES
        and not record.erased
        and len(record.steps) < op.MOST_STEPS - 4
        and record.dtype.kind in "biuf"
        and any(source is record.source for source in run.sources)
    )


def _answer(
    array: Any, record: Record, likely: Any, test: Callable[[Any], bool]
) -> Any:
    """Whether some byte is one of the likely ones, a table [channels, 256];
    None: nobody knows. test: says so of the real array."""
    if not likely.any():
        return False
    if likely.all():
        return True
    if not _may_answer(record) or likely.sum(axis=1).min() < _LIKELY:
        return None
    run: Any = state.run
    step = (op.EXPECT, (), likely.astype(np.uint8).tobytes())
    sources = [source is record.source for source in run.sources]
    image = sources.index(True)
    unsure = Unsure(image, record.steps, step, record.call, test)
    run.unsure.append(unsure)
    if array._record is record:
        array._record = record.but(steps=(*record.steps, step))
    return True


# ---- The greatest value, and the least --------------------------------------

# Of which some value says that it is so; of their opposites all do.
_OF_ONE = {"max": ("gt", "ge"), "min": ("lt", "le")}
_OPPOSITE = {"gt": "le", "le": "gt", "ge": "lt", "lt": "ge"}


class Extreme:
    """What array.max() or min() gives: compared, or a number as any other."""

    __slots__ = ("_array", "_record", "_asked", "_real")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any, record: Record, asked: str) -> None:
        self._array, self._record, self._asked = array, record, asked
        self._real: Any = None

    __class__ = property(lambda self: self._record.dtype.type)
    _feedline_deferred = None
    # What stands in its place in a sample.
    _feedline_real = property(lambda self: self._value())

    def _value(self) -> Any:
        if self._real is None:
            if self._array._record is self._record:
                self._real = self._of(real_array(self._array, self._asked))
            else:  # it was written to since then
                self._real = self._made()
        return self._real

    def _of(self, array: Any) -> Any:
        return getattr(array, self._asked)()

    def _made(self) -> Any:
        record = self._record
        with lock, no_run():
            began = time.monotonic_ns()
            made = self._of(record.call.again())
            record.source.read = True
            record.run.recorder.count(self._asked, began)
        return made

    def _compared(self, name: str, other: Any) -> Any:
        found = None
        if self._real is None and _is_number(other):
            found = self._answered(name, other)
        if found is None:
            return getattr(operator, name)(self._value(), other)
        return np.bool_(found)

    def _answered(self, name: str, other: Any) -> Any:
        of_one = name in _OF_ONE[self._asked]
        compare = getattr(operator, name if of_one else _OPPOSITE[name])
        table = table_of(self._record)
        if table.dtype.kind == "f" and np.isnan(table).any():
            return None
        likely = compare(table, other)
        if type(likely) is not np.ndarray:
            return None

        def test(array: Any) -> bool:
            return bool(compare(self._of(array), other))

        found = _answer(self._array, self._record, likely, test)
        return found if found is None or of_one else not found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value(), name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(self._value()).__array__(*args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._value().__reduce_ex__(protocol)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *args: Any, **kwargs: Any
    ) -> Any:
        given = [a._value() if type(a) is Extreme else a for a in args]
        return getattr(ufunc, method)(*given, **kwargs)


def _is_number(value: Any) -> bool:
    if type(value) is Extreme:
        return False
    return type(value) in (int, float) or isinstance(value, np.generic)


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._compared(name, other)


def _special(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        given = [a._value() if type(a) is Extreme else a for a in args]
        return getattr(self._value(), name)(*given)

    return method


_SPECIAL = (
    "abs bool complex divmod eq float floordiv format index int invert lshift "
    "and mod mul ne neg or pos pow radd rand rdivmod repr rfloordiv rlshift "
    "rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor str sub add "
    "truediv xor"
).split()
for _name in _OPPOSITE:
    setattr(Extreme, "__%s__" % _name, _comparison(_name))
for _name in _SPECIAL:
    setattr(Extreme, "__%s__" % _name, _special("__%s__" % _name))


# ---- Where they are asked ---------------------------------------------------


def _asked_of(args: Any, kwargs: Any) -> Any:
    """(the array, its record) of a call without anything else; or None."""
    if len(args) != 1 or kwargs or type(args[0]) is not DeferredArray:
        return None
    record = recorded_array(args[0])
    return None if record is None else (args[0], record)


def _extreme(asked: str) -> Handler:
    def handler(args: Any, kwargs: Any) -> Any:
        found = _asked_of(args, kwargs)
        if found is None or not _may_answer(found[1]):
            return NotImplemented
        array, record = found
        return Extreme(array, record, asked)

    return handler


def _some(wanted: bool) -> Handler:
    """any(): is one of them true? Or all(): is none of them false?"""

    def test(array: Any) -> bool:
        return bool((array == wanted).any())

    def handler(args: Any, kwargs: Any) -> Any:
        found = _asked_of(args, kwargs)
        if found is None or found[1].dtype != np.bool_:
            return NotImplemented
        array, record = found
        if record.erased:
            return NotImplemented
        answer = _answer(array, record, table_of(record) == wanted, test)
        if answer is None:
            return NotImplemented
        return np.bool_(answer == wanted)

    return handler


def install() -> None:
    for name in _OF_ONE:
        handlers[name] = _extreme(name)
    handlers[np.max] = handlers[np.amax] = handlers["max"]
    handlers[np.min] = handlers[np.amin] = handlers["min"]
    handlers["any"] = handlers[np.any] = _some(True)
    handlers["all"] = handlers[np.all] = _some(False)
