# SPDX-License-Identifier: Apache-2.0
"""DLPack: tensors for other libraries, in capsules of the interpreter.

The library makes a DLManagedTensor whose deleter is plain C. Here it is put
into a PyCapsule whose destructor is plain C too, so a tensor may be dropped by
any thread, at any time, after the interpreter has ended as well.
"""

from __future__ import annotations

import ctypes
import threading
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64
from ctypes import c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Sequence, Tuple

from . import _c
from ._library import lib, of_process
from .errors import OutOfMemory, check

# Of dlpack.h: devices, and codes of types with their bits.
KDL_CPU = 1
KDL_CUDA = 2
TYPES: Dict[int, Tuple[int, int]] = {
    _c.U8: (1, 8),
    _c.F16: (2, 16),
    _c.F32: (2, 32),
    _c.I64: (0, 64),
    _c.BF16: (4, 16),
}
_FLAG_IS_COPIED = 1 << 1
_ALIGNMENT = 256


class DLTensor(Structure):
    """Strides are in elements."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(Structure):
    """Before 1.0."""

    _fields_ = [
        ("tensor", DLTensor),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
    ]


class DLManagedTensorVersioned(Structure):
    """Since 1.0."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DLTensor),
    ]


_new = of_process(
    "PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p
)
_allocate = of_process(
    "posix_memalign", c_int, POINTER(c_void_p), c_size_t, c_size_t
)

# A capsule keeps the address of its name, so these live for ever.
_NAMES = (c_char_p(b"dltensor"), c_char_p(b"dltensor_versioned"))
_lock = threading.Lock()
_destructor = 0


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0


def _prepare() -> int:
    """The address of the destructor, once it knows the interpreter."""
    global _destructor
    with _lock:
        if not _destructor:
            names = ("PyCapsule_IsValid", "PyCapsule_GetPointer")
            kinds = lib.capsule_init.argtypes
            functions = (_address(of_process(name, None)) for name in names)
            check(lib.capsule_init(*(k(f) for k, f in zip(kinds, functions))))
            _destructor = _address(lib.capsule_destructor)
    return _destructor


def wrap(managed: int, versioned: bool) -> Any:
    """A capsule that owns the managed tensor at this address."""
    destructor = _destructor or _prepare()
    return _new(managed, _NAMES[versioned], destructor)


def copied(
    tensor: DLTensor, n_bytes: int, shape: Sequence[int], versioned: bool
) -> Tuple[Any, int]:
    """A new host tensor of this type: its capsule, and where its bytes go.

    Everything is one piece of memory, so its deleter is free().
    """
    cls = DLManagedTensorVersioned if versioned else DLManagedTensor
    rank = len(shape)
    head = ctypes.sizeof(cls) + rank * 16
    head = -(-head // _ALIGNMENT) * _ALIGNMENT
    block = c_void_p()
    if _allocate(block, _ALIGNMENT, head + max(n_bytes, 1)) or not block.value:
        raise OutOfMemory("%d bytes for the copy of a tensor" % n_bytes)
    base = block.value
    managed: Any = cls.from_address(base)
    axes = (c_int64 * rank).from_address(base + ctypes.sizeof(cls))
    strides = (c_int64 * rank).from_address(
        base + ctypes.sizeof(cls) + rank * 8
    )
    step = 1
    for axis in reversed(range(rank)):
        axes[axis], strides[axis] = shape[axis], step
        step *= shape[axis]
    ctypes.memset(base, 0, ctypes.sizeof(cls))
    managed.tensor = tensor
    managed.tensor.data = base + head
    managed.tensor.ndim = rank
    managed.tensor.shape = ctypes.cast(axes, POINTER(c_int64))
    managed.tensor.strides = ctypes.cast(strides, POINTER(c_int64))
    managed.deleter = _address(of_process("free", None))
    if versioned:
        managed.major, managed.flags = 1, _FLAG_IS_COPIED
    return wrap(base, versioned), base + head
