# SPDX-License-Identifier: Apache-2.0
"""Statuses of the library as exceptions.

Every exception is a feedline.Error, and also what Python itself would raise:
a missing file is a FileNotFoundError, a value out of range a ValueError. Its
text is the library's line of detail; `status` and `name` are the number and its
name ("ENOENT"), `path` the sample's file where one is at fault.

The library's line belongs to the thread that got the error, until the next call
on it, so `check` and `error` are called right behind the call that failed.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, Optional, Type

from . import _c
from ._library import lib


class Error(RuntimeError):
    """The base of all exceptions of feedline.

    Attributes:
        status: the library's number, below 0; 0 if Python itself raised it.
        name: its name, such as "EDECODE".
        path: the file of the sample, or None.
    """

    default_status = 0

    def __init__(
        self,
        message: str,
        *,
        status: Optional[int] = None,
        path: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.status = self.default_status if status is None else status
        self.path = path

    @property
    def name(self) -> str:
        return str(lib.status_name(self.status).decode())

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidArgument(Error, ValueError):
    """EINVAL: an invalid argument; the text says what is allowed."""

    default_status = _c.EINVAL


class OutOfMemory(Error, MemoryError):
    """ENOMEM."""

    default_status = _c.ENOMEM


class ReadError(Error, OSError):
    """EIO: a file could not be read."""

    default_status = _c.EIO


class NotFound(Error, FileNotFoundError):
    """ENOENT: no such file or folder."""

    default_status = _c.ENOENT


class UnknownName(Error, LookupError):
    """ENOENT: no such option or operation; the text suggests the closest."""

    default_status = _c.ENOENT


class DecodeError(Error, OSError):
    """EDECODE: the bytes are not an image that can be decoded."""

    default_status = _c.EDECODE


class DeviceError(Error):
    """EDEVICE: an error of the GPU or its driver."""

    default_status = _c.EDEVICE


class NotSupported(Error, NotImplementedError):
    """ENOSYS: not built into this library, or not possible on this machine."""

    default_status = _c.ENOSYS


class StateError(Error):
    """ESTATE: a closed loader, or a call out of order."""

    default_status = _c.ESTATE


class ReleasedError(StateError):
    """A batch, or one of its tensors, was used after release()."""


class ForkError(Error):
    """EFORK: the object belongs to another process; create one here."""

    default_status = _c.EFORK


class RangeError(Error, ValueError):
    """ERANGE: a number out of its range."""

    default_status = _c.ERANGE


class LayoutError(Error):
    """EABI: this package and the library do not match."""

    default_status = _c.EABI


class UserError(Error):
    """EUSER: a custom operation failed.

    `__cause__` is the exception that the function raised, with its traceback.
    """

    default_status = _c.EUSER


class Timeout(Error, TimeoutError):
    """Nothing was ready before the timeout."""

    default_status = _c.TIMEOUT


CLASSES: Dict[int, Type[Error]] = {
    cls.default_status: cls
    for cls in (
        InvalidArgument,
        OutOfMemory,
        ReadError,
        NotFound,
        DecodeError,
        DeviceError,
        NotSupported,
        StateError,
        ForkError,
        RangeError,
        LayoutError,
        UserError,
    )
}


def of_status(status: int, message: str, path: Optional[str] = None) -> Error:
    """The exception of a status, with a text of one's own."""
    return CLASSES.get(status, Error)(message, status=status, path=path)


def error(status: int, unknown: Type[Error] = NotFound) -> Error:
    """The exception for what the last call on this thread returned.

    unknown: the class of ENOENT, which is about files or about names.
    """
    message = last_error() or str(lib.status_text(status).decode())
    cls = unknown if status == _c.ENOENT else CLASSES.get(status, Error)
    return cls(message, status=status)


def last_error() -> str:
    """The library's line about the last error on this thread."""
    return os.fsdecode(lib.quick.last_error())


def check(status: int, unknown: Type[Error] = NotFound) -> int:
    """Returns what is no error; raises what is one."""
    if status < 0:
        raise error(status, unknown)
    return status


def read_text(function: Any, *arguments: Any) -> str:
    """What one of the library's functions for texts writes.

    Calls it as function(*arguments, buffer, capacity, needed). The text may
    grow between the call that asks for its size and the one that reads it.
    """
    needed = ctypes.c_uint64()
    capacity = 4096
    while True:
        buffer = ctypes.create_string_buffer(capacity)
        status = function(*arguments, buffer, capacity, needed)
        if status != _c.ERANGE or needed.value <= capacity:
            check(status)
            return os.fsdecode(buffer.value)
        capacity = int(needed.value) + 1024
