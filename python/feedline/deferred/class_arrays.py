# SPDX-License-Identifier: Apache-2.0
"""Arrays of one number, which get classes by what a mask is.

    mask = np.array(Image.open(path))
    classes = np.zeros((h, w), np.int64)
    for number, value in enumerate(values):
        classes[mask == value] = number

Such an array is of no image until it is written to by a comparison of one: then
it is a table of that. Whatever else is done to it makes it a real one, at the
cost of numpy.zeros(). Only arrays as large as a gray one of the sample are
taken for such.
"""

from __future__ import annotations

import operator
from typing import Any, Tuple

import numpy as np

from .array import DeferredArray, handlers, recorded_array
from .image_source import Source
from .record import Call, dense
from .recording import Run, state


class OfOneNumber:
    """In place of a record."""

    whole = blank = True  # no record of an image; nothing is lost with it
    axes = "hw"
    pending = None

    def __init__(
        self, run: Run, make: Any, shape: Tuple[int, int], kind: Any, value: int
    ) -> None:
        self.run, self.shape, self.dtype, self.value = run, shape, kind, value
        self.strides = dense(shape)
        given = (shape, value) if make.__name__ == "full" else (shape,)
        self.call = Call(None, make, 0, (*given, kind))
        header: Any = None
        self.source = Source(None, None, header)


def is_of_classes(shape: Any, dtype: Any) -> bool:
    run = state.run
    if run is None or type(shape) not in (tuple, list) or len(shape) != 2:
        return False
    try:
        if tuple(map(operator.index, shape)) not in run.grays:
            return False
        return np.dtype(dtype).kind in "biuf"
    except TypeError:
        return False


def of_classes(make: Any, shape: Any, dtype: Any, value: int) -> Any:
    h, w = map(operator.index, shape)
    run: Any = state.run
    made: Any = OfOneNumber(run, make, (h, w), np.dtype(dtype), value)
    return DeferredArray(made)


def compared(array: Any, index: Any) -> None:
    """array[index] = something: it is of the index's image from here on, if
    that is a comparison of one."""
    own = array._record
    chosen = recorded_array(index)
    if chosen is None or chosen.dtype != np.bool_ or own.run is not state.run:
        return
    alike = chosen.axes == "hw" and chosen.shape == own.shape
    if not alike or chosen.strides != own.strides:
        return
    given = (index, own.value)
    made = handlers[np.full_like](given, {"dtype": own.dtype})
    if made is not NotImplemented:
        array._record = made._record
