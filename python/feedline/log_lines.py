# SPDX-License-Identifier: Apache-2.0
"""What the library has to say by itself, as Python says such things.

The library prints nothing: it keeps lines, and whoever runs it reads them. A
loader looks for them when its consumer has to wait, and at the end of an epoch.
Warnings and errors (a worker that is stuck, a program that keeps more batches
than there is memory set aside for) become an EngineWarning, the rest goes to
the logger "feedline", whose level decides whether the library makes such lines
at all. What is said during the interpreter's end is not shown.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import warnings
from types import FrameType
from typing import Iterator, Optional, Tuple

from . import _c
from ._library import lib

LINE_BYTES = 1024  # more than the library's longest line
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
BETWEEN = (HERE, os.path.join("torch", "utils", "data", ""))
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO}

_LOG = logging.getLogger("feedline")
_LOG.addHandler(logging.NullHandler())  # silent until the program asks

_read = lib.quick.log_read
_needed = ctypes.c_uint64()

# Of feedline_log_set_level.
_WARNINGS, _INFORMATION, _ALL = 2, 3, 4
_kept = _WARNINGS


class EngineWarning(UserWarning):
    """The engine continues, but something needs attention."""


def lines() -> Iterator[Tuple[str, str]]:
    """Level ("warning") and text of each line that nobody has read."""
    while True:
        buffer = ctypes.create_string_buffer(LINE_BYTES)
        if _read(buffer, LINE_BYTES, _needed) != _c.OK:
            return
        level, _, text = os.fsdecode(buffer.value).partition(": ")
        yield level, text


def callers_level() -> int:
    """The stacklevel, for whom calls this, of the program's own line."""
    level = 1
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not any(part in file for part in BETWEEN):
            return level
        frame, level = frame.f_back, level + 1
    return 1


def follow_level() -> None:
    """Has the library keep what the logger would take: it makes no line that
    nobody reads, and what it did not make cannot be had later. Any thread."""
    global _kept
    wanted = _WARNINGS
    for level, value in ((_INFORMATION, logging.INFO), (_ALL, logging.DEBUG)):
        if _LOG.isEnabledFor(value):
            wanted = level
    if wanted != _kept:
        lib.quick.log_set_level(wanted)
        _kept = wanted


def tell() -> None:
    """Says what has not been said. Any thread."""
    follow_level()
    for level, text in lines():
        if level in LEVELS:
            _LOG.log(LEVELS[level], text)
        else:
            warnings.warn(text, EngineWarning, stacklevel=callers_level())
