# SPDX-License-Identifier: Apache-2.0
"""Numbers and names of all samples at once, in the form in which C takes them.

A million samples are a few blocks of memory: objects for each of them take ten
times as long to make as their bytes.
"""

from __future__ import annotations

import ctypes
import operator
import os
from array import array
from itertools import accumulate
from typing import Any, List, Optional, Sequence

from .errors import InvalidArgument, RangeError

_INTEGERS = "bBhHiIlLqQ"


def numbers(code: str, values: Any, what: str) -> "array[int]":
    """Whole numbers as an array of this type code.

    values: anything with a buffer (numpy, array), whose bytes are copied if
    its items have the size of the array's; a tensor; or an iterable.

    RangeError, TypeError: some number does not fit, or is none.
    """
    found = array(code)
    try:
        view = memoryview(values)
    except (TypeError, BufferError):
        view = None
    if view is not None and view.ndim != 1:
        raise InvalidArgument("%s have %d axes, not one" % (what, view.ndim))
    if view and view.format in _INTEGERS and view.itemsize == found.itemsize:
        found.frombytes(view.tobytes())
        return found
    # An array of numpy's or torch's: one call for all.
    tolist = getattr(values, "tolist", None)
    try:
        found.extend(values if tolist is None else tolist())
    except OverflowError as error:
        raise RangeError("%s: %s" % (what, error)) from None
    return found


def column_for(code: str, kind: Any, values: Any, count: int, what: str) -> Any:
    """A number for each sample, as an array of this type for C; None: none."""
    if values is None:
        return None
    found = numbers(code, values, what)
    if len(found) != count:
        raise InvalidArgument(
            "%d %s for %d samples" % (len(found), what, count)
        )
    return (kind * count).from_buffer(found)


def labels_for(labels: Any, count: int) -> Any:
    """Labels as an array for C, or None."""
    return column_for("q", ctypes.c_int64, labels, count, "labels")


def joined(paths: Sequence[Any]) -> bytes:
    """All paths in one block, each with a NUL between it and the next."""
    try:
        return os.fsencode("\0".join(paths))
    except TypeError:  # not all of them are text
        return b"\0".join(map(os.fsencode, paths))


def each_of(names: bytes, count: int) -> Any:
    """Where each name begins, as an array for C, which keeps `names`."""
    parts: List[bytes] = names.split(b"\0") if count else []
    if len(parts) != count:
        raise InvalidArgument("a path has a NUL in it")
    first = ctypes.cast(ctypes.c_char_p(names), ctypes.c_void_p).value or 0
    ends = accumulate(map(len, parts), initial=first)
    starts = array("Q", map(operator.add, ends, range(count)))
    table: Any = (ctypes.c_char_p * count).from_buffer(starts)
    table.names = names
    return table


class Names:
    """Names that C can read for as long as this lives."""

    def __init__(self, names: Optional[Sequence[Any]], what: str) -> None:
        if isinstance(names, (str, bytes)):
            raise TypeError("%s are several, not one %r" % (what, names))
        self.text = joined(names) if names else b""
        self.count = len(names) if names else 0
        self.each = each_of(self.text, self.count) if names else None

    def __len__(self) -> int:
        return self.count
