# SPDX-License-Identifier: Apache-2.0
"""Memory of Python objects, by the buffer protocol.

By way of the interpreter's own functions: numpy is not needed, read-only
objects are accepted, and an object that could be resized (a bytearray) refuses
to be while it is held.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_ssize_t, c_void_p
from typing import Any, Tuple

from ._library import of_process
from .errors import InvalidArgument

# Of the interpreter's headers (object.h), where they are a stable interface.
_PYBUF_FORMAT = 0x0004
_PYBUF_C_CONTIGUOUS = 0x0020 | 0x0010 | 0x0008


class _PyBuffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)),
        ("suboffsets", POINTER(c_ssize_t)),
        ("internal", c_void_p),
    ]


_get = of_process(
    "PyObject_GetBuffer", c_int, ctypes.py_object, POINTER(_PyBuffer), c_int
)
_release = of_process("PyBuffer_Release", None, POINTER(_PyBuffer))


class HeldBuffer:
    """The dense bytes of an object, which stay where they are meanwhile.

    Attributes:
        address, nbytes: where they begin and how many there are.
        shape, itemsize, format: as memoryview says them.
    """

    __slots__ = ("_view", "address", "nbytes", "shape", "itemsize", "format")

    def __init__(self, owner: Any) -> None:
        """TypeError or BufferError: owner has no buffer, or not a dense one."""
        view = _PyBuffer()
        _get(owner, view, _PYBUF_C_CONTIGUOUS | _PYBUF_FORMAT)
        self._view = view
        self.address: int = view.buf or 0
        self.nbytes = int(view.len)
        self.shape: Tuple[int, ...] = tuple(view.shape[: view.ndim])
        self.itemsize = int(view.itemsize)
        self.format = (view.format or b"B").decode()

    @classmethod
    def of_array(cls, source: Any) -> "HeldBuffer":
        """Of an array of uint8, copied where it is not dense.

        InvalidArgument: not an array of bytes in host memory.
        """
        if not _has_buffer(source) and hasattr(source, "__array__"):
            source = source.__array__()  # a tensor shares its memory this way
        try:
            view = memoryview(source)
        except TypeError as error:
            raise InvalidArgument(
                "pixels are an array of uint8: %s" % error
            ) from None
        if view.format.lstrip("@=<>|") != "B":
            raise InvalidArgument(
                "pixels are uint8, not of format %r" % view.format
            )
        if not view.c_contiguous:
            view = memoryview(view.tobytes()).cast("B", view.shape or ())
        return cls(view)

    def tobytes(self) -> bytes:
        """A copy."""
        return ctypes.string_at(self.address, self.nbytes)

    def __del__(self, release: Any = _release) -> None:
        view = getattr(self, "_view", None)
        if view is not None:
            release(view)


def _has_buffer(source: Any) -> bool:
    try:
        memoryview(source)
    except (TypeError, BufferError):
        return False
    return True
