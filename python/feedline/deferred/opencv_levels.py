# SPDX-License-Identifier: Apache-2.0
"""OpenCV's functions that make a byte of each byte by floats: contrast and
brightness. Thresholds, too.

OpenCV computes them in vectors, and what is left of a row by itself, where some
sums are rounded once more. Numbers for which that makes another byte of one of
the 256 are not recorded: one in thirty.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import numpy as np

from .array import DeferredArray, every_pixel, recorded_array
from .array_functions import elementwise
from .canvas import Canvas
from .record import Record

_BYTES = np.dtype(np.uint8)
_NUMBERS = (int, float)
# BINARY, BINARY_INV, TRUNC, TOZERO and TOZERO_INV; others look at histograms.
_THRESHOLDS = range(5)


def _bytes_of(array: Any) -> Optional[Record]:
    record = recorded_array(array) if type(array) is DeferredArray else None
    if record is None or record.dtype != _BYTES or record.erased:
        return None
    return record if record.axes in ("hw", "hwc") else None


def _is_one_everywhere(function: Callable[[Any], Any], record: Record) -> bool:
    """Whether vectors, and rows that are too short for one, make the same."""
    every = np.ascontiguousarray(every_pixel(record))
    short = np.repeat(every, 2, axis=1)[:, :1]
    return np.array_equal(function(every), function(short))


def _looked_up(function: Callable[[Any], Any], array: Any) -> Any:
    record = _bytes_of(array)
    if record is None or not _is_one_everywhere(function, record):
        return NotImplemented
    return elementwise(function, (array,))


def convert_scale_abs(
    original: Any, array: Any, dst: Any = None, alpha: Any = 1, beta: Any = 0
) -> Any:
    if dst is not None or type(alpha) not in _NUMBERS:
        return NotImplemented
    if type(beta) not in _NUMBERS:
        return NotImplemented
    return _looked_up(lambda a: original(a, alpha=alpha, beta=beta), array)


def threshold(original: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Gives what was the threshold, too."""
    if len(args) != 3 or kwargs or type(args[2]) is not int:
        return NotImplemented
    limit, most, how = args
    if type(limit) not in _NUMBERS or type(most) not in _NUMBERS:
        return NotImplemented
    if how not in _THRESHOLDS:
        return NotImplemented
    found = _looked_up(lambda a: original(a, *args)[1], array)
    if found is NotImplemented:
        return found
    return original(_DOT, *args)[0], found


_DOT = np.zeros((1, 1), np.uint8)


def add_weighted(
    original: Any,
    src1: Any,
    alpha: Any,
    src2: Any,
    beta: Any,
    gamma: Any = None,
    dst: Any = None,
    dtype: int = -1,
) -> Any:
    """Of an image, and itself or one colour."""
    record = _bytes_of(src1)
    if record is None or dst is not None or dtype != -1:
        return NotImplemented
    if any(type(v) not in _NUMBERS for v in (alpha, beta, gamma)):
        return NotImplemented
    if src2 is src1:
        return _looked_up(lambda a: original(a, alpha, a, beta, gamma), src1)
    fill = _color_of(src2, record)
    if fill is None:
        return NotImplemented

    def weighed(array: Any) -> Any:
        other = np.empty_like(array)
        other[...] = fill
        return original(array, alpha, other, beta, gamma)

    return _looked_up(weighed, src1)


def _color_of(array: Any, like: Record) -> Optional[Tuple[int, ...]]:
    """Of an array of bytes that are all of one colour; np.zeros_like(image)."""
    if array.shape != like.shape or array.dtype != _BYTES:
        return None
    if type(array) is np.ndarray:
        return None if array.any() else (0,)
    record = recorded_array(array)
    if record is None or record.erased:
        return None
    source, table = record.source, record.table
    if table is not None:  # of an image in another order of memory
        same = bool((table == table[:, :1]).all())
        return tuple(table[:, 0].tolist()) if same else None
    if type(source) is not Canvas or source.parts or record.steps:
        return None
    return source.fill
