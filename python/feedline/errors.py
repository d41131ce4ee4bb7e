# SPDX-License-Identifier: Apache-2.0
"""Statuses of the library as exceptions.

Every exception is a feedline.Error, and also what Python itself would raise:
a missing file is a FileNotFoundError, a value out of range a ValueError. Its
text is the library's line of detail; `status` and `name` are the number and its
name ("ENOENT"), `path` the sample's file where one is at fault. Of a file,
`errno` and `filename` are as open() has them.

The library's line belongs to the thread that got the error, until the next call
on it, so `check` and `error` are called right behind the call that failed.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, Optional, Tuple, Type

from . import _c
from ._library import lib


# The class of each status; of ENOENT the one that is about files.
_CLASSES: Dict[int, "Type[Error]"] = {}


class Error(RuntimeError):
    """The base of all exceptions of feedline.

    Attributes:
        status: the library's number, below 0; 0 if Python itself raised it.
        name: its name, such as "EDECODE".
        path: the file of the sample, or None.
        text: the message.
    """

    _status = 0
    # Of a class that is also another: the two.
    _kinds: Optional[Tuple[type, type]] = None

    def __init_subclass__(cls, status: Optional[int] = None) -> None:
        """status: that of the class; None: as its base."""
        super().__init_subclass__()
        if status is not None:
            cls._status = status
            _CLASSES.setdefault(status, cls)

    def __init__(
        self,
        message: str,
        *,
        status: Optional[int] = None,
        path: Optional[str] = None,
    ) -> None:
        """message: what was wrong, and what is allowed. status: the library's
        number, None for that of the class. path: of the sample's file."""
        super().__init__(message)
        self.text: str = message
        self.status: int = self._status if status is None else status
        self.path: Optional[str] = path

    @property
    def name(self) -> str:
        """The name of its status, such as "EDECODE"."""
        return str(lib.status_name(self.status).decode())

    def __str__(self) -> str:
        return str(self.text)

    def __reduce__(self) -> Any:
        state = {name: getattr(self, name, None) for name in _CONTENTS}
        if not isinstance(self, OSError):
            state = {}
        state.update(self.__dict__, args=self.args)
        return _again, (self._kinds or type(self), self.text, state)


class InvalidArgument(Error, ValueError, status=_c.EINVAL):
    """EINVAL: an invalid argument; the text says what is allowed."""


class OutOfMemory(Error, MemoryError, status=_c.ENOMEM):
    """ENOMEM."""


class ReadError(Error, OSError, status=_c.EIO):
    """EIO: a file could not be read."""


class NotFound(Error, FileNotFoundError, status=_c.ENOENT):
    """ENOENT: no such file or folder."""


class UnknownName(Error, LookupError, status=_c.ENOENT):
    """ENOENT: no such option or operation; the text suggests the closest."""


class DecodeError(Error, OSError, status=_c.EDECODE):
    """EDECODE: the bytes are not an image that can be decoded."""


class DeviceError(Error, status=_c.EDEVICE):
    """EDEVICE: an error of the GPU or its driver."""


class NotSupported(Error, NotImplementedError, status=_c.ENOSYS):
    """ENOSYS: not built into this library, or not possible on this machine."""


class StateError(Error, status=_c.ESTATE):
    """ESTATE: a closed loader, or a call out of order."""


class ReleasedError(StateError):
    """A batch, or one of its tensors, was used after release()."""


class ForkError(Error, status=_c.EFORK):
    """EFORK: the object belongs to another process; create one here."""


class RangeError(Error, ValueError, status=_c.ERANGE):
    """ERANGE: a number out of its range."""


class LayoutError(Error, status=_c.EABI):
    """EABI: this package and the library do not match."""


class UserError(Error, status=_c.EUSER):
    """EUSER: a custom operation failed.

    `__cause__` is the exception that the function raised, with its traceback.
    """


class Timeout(Error, TimeoutError, status=_c.TIMEOUT):
    """Nothing was ready before the timeout."""


# ---- Errors that are also others --------------------------------------------
#
# A file that is missing or damaged, or a function of the program that raises,
# is one of the classes above, with a path. By type and contents (args, errno,
# filename, notes, attributes) it is also what Python itself raised.

_CONTENTS = ("errno", "strerror", "filename", "filename2")
# An iterator that raises these has come to its end.
_ENDS = (StopIteration, StopAsyncIteration)

_both: Dict[Tuple[type, type], Optional[Type[Error]]] = {}


def as_also(made: Error, theirs: Optional[BaseException]) -> Error:
    """The same error, which is also one of the type of `theirs`, with what that
    has, and comes from it; as it is where Python cannot have that."""
    made.__cause__ = theirs
    if not isinstance(theirs, Exception) or isinstance(theirs, _ENDS):
        return made
    kind: Optional[Type[Error]] = type(made)
    if not isinstance(made, type(theirs)):
        kind = _combined(type(made), type(theirs))
    if kind is None:
        return made
    both = made
    if kind is not type(made):
        both = kind(made.text, status=made.status, path=made.path)
        if type(theirs).__module__ == "builtins":
            type(theirs).__init__(both, *theirs.args)
    for name in _CONTENTS:
        if isinstance(theirs, OSError) and getattr(theirs, name) is not None:
            setattr(both, name, getattr(theirs, name))
    for name, value in vars(theirs).items():
        both.__dict__.setdefault(name, value)
    both.args = theirs.args
    both.__cause__ = theirs
    return both


def _combined(ours: type, theirs: type) -> Optional[Type[Error]]:
    """A type that is both; None where Python cannot have one."""
    if (ours, theirs) not in _both:
        body = {"__doc__": "Both.", "_kinds": (ours, theirs)}
        try:
            made: Any = type(theirs.__name__, (ours, theirs), body)
            made("")
        except Exception:  # their objects are laid out, or made, otherwise
            made = None
        _both[ours, theirs] = made
    return _both[ours, theirs]


def _again(kinds: Any, text: str, state: Dict[str, Any]) -> Error:
    """Of a pickle."""
    kind = _combined(*kinds) if isinstance(kinds, tuple) else kinds
    made: Error = (kind or kinds[0])(text)
    for name, value in state.items():
        setattr(made, name, value)
    return made


def _at_once(path: str, flags: int) -> int:
    """A pipe would wait for its writer."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def of_file(made: Error) -> Error:
    """The error of a sample's file, also as open() has it. The path of a sample
    inside of a file is none that can be opened."""
    if made.path is not None and isinstance(made, (ReadError, NotFound)):
        try:
            with open(made.path, "rb", opener=_at_once):
                pass
        except OSError as theirs:
            folder = isinstance(theirs, IsADirectoryError)
            if folder or str(theirs.strerror) in made.text:
                return as_also(made, theirs)
    return made


def of_status(status: int, message: str, path: Optional[str] = None) -> Error:
    """The exception of a status, with a text of one's own."""
    return _CLASSES.get(status, Error)(message, status=status, path=path)


def error(status: int, unknown: Type[Error] = NotFound) -> Error:
    """The exception for what the last call on this thread returned.

    unknown: the class of ENOENT, which is about files or about names.
    """
    message = last_error() or str(lib.status_text(status).decode())
    cls = unknown if status == _c.ENOENT else _CLASSES.get(status, Error)
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
