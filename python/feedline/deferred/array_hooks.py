# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy, and of Pillow, that make an array of a deferred image,
or an image of a deferred array.

The functions of NumPy's that take arrays need none: they ask a deferred array
by themselves (array_functions.py).
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Dict, Tuple

import numpy as np
from PIL import Image

from .. import replaced
from . import array_functions, array_sums, array_writes, canvas_functions
from . import expected, float_images
from . import steps as op
from .array import (
    DeferredArray,
    array_of,
    copied_array,
    real_arrays,
    recorded_array,
    table_of,
)
from .image import DeferredImage, records
from .memory_image import memory_image
from .pillow_hooks import put
from .record import Record, dense
from .recording import state
from .stacked import stacked_of
from .table_image import MODES, TableImage, array_of_table, table_image


def install() -> None:
    # Numba knows NumPy's functions by their identity, from when it is loaded.
    if "numba" in sys.modules:
        return
    array_writes.install()
    array_sums.install()
    float_images.install()
    expected.install()
    pairs: Dict[int, Tuple[Any, Any]] = {}
    put(pairs, np, "asarray", _asarray)
    put(pairs, np, "asanyarray", _asarray)
    put(pairs, np, "array", _array)
    put(pairs, np, "ascontiguousarray", _ascontiguousarray)
    put(pairs, np, "require", _require)
    put(pairs, np.random, "shuffle", _given_real)
    put(pairs, Image, "fromarray", fromarray)
    canvas_functions.install(pairs)
    replaced.replace(pairs)


_DEFERRED = (DeferredImage, DeferredArray)


def _is_deferred(thing: Any) -> bool:
    """Whether an array of it can be recorded."""
    if type(thing) is DeferredArray:
        known = copied_array(thing) or stacked_of(thing)
        return known is not None
    run = state.run
    if isinstance(thing, TableImage):
        thing = thing._gray
    return run is not None and run.recorder.arrays and records(thing)


def _asarray(original: Any) -> Any:
    def asarray(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if issubclass(type(a), _DEFERRED) and not args and not kwargs:
            if _is_deferred(a):
                return _array_of(a, dtype, original, False)
        if dtype is None:
            return original(a, *args, **kwargs)
        return original(a, dtype, *args, **kwargs)

    return asarray


def _array(original: Any) -> Any:
    def array(*args: Any, **kwargs: Any) -> Any:
        a = args[0] if args else None
        if (
            issubclass(type(a), _DEFERRED)
            and len(args) <= 2
            and _is_deferred(a)
        ):
            if not set(kwargs) - {"dtype", "copy"}:
                dtype = args[1] if len(args) == 2 else kwargs.get("dtype")
                if kwargs.get("copy", True) is True:
                    return _array_of(a, dtype, original, True)
        return original(*args, **kwargs)

    return array


def _ascontiguousarray(original: Any) -> Any:
    def ascontiguousarray(a: Any, *args: Any, **kwargs: Any) -> Any:
        if (
            issubclass(type(a), _DEFERRED)
            and len(args) <= 1
            and _is_deferred(a)
        ):
            if not set(kwargs) - {"dtype"}:
                dtype = args[0] if args else kwargs.get("dtype")
                found = _array_of(a, dtype, np.asarray, False)
                return _contiguous(found, original)
        return original(a, *args, **kwargs)

    return ascontiguousarray


def _require(original: Any) -> Any:
    def require(a: Any, *args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.get("requirements")
        if type(a) is DeferredArray and not args and len(kwargs) == 1:
            if wanted in ("C", ["C"], ["C_CONTIGUOUS"]) and _is_deferred(a):
                return _contiguous(a, original)
        return original(a, *args, **kwargs)

    return require


def _contiguous(array: Any, original: Any) -> Any:
    if stacked_of(array) is not None:
        return array
    record = copied_array(array)
    if record is None:
        return original(array)
    if record.strides == dense(record.shape):
        return array
    return array_functions.copied(array, "C", np.ndarray.copy, ("C",))


def _array_of(given: Any, dtype: Any, function: Any, copies: bool) -> Any:
    """Of a deferred image or array; function makes the real one."""
    if type(given) is DeferredArray:
        if dtype is not None and np.dtype(dtype) != given.dtype:
            return given.astype(dtype)
        return np.copy(given) if copies else given
    if isinstance(given, TableImage):
        made = array_of_table(given, function, copies)
    else:
        made = array_of(given, function, copies)
    if dtype is None or np.dtype(dtype) == made.dtype:
        return made
    return made.astype(dtype)


def _given_real(original: Any) -> Any:
    """Of what has another way for what is no array."""

    def function(*args: Any, **kwargs: Any) -> Any:
        asked = original.__name__
        return original(*real_arrays(args, asked), **real_arrays(kwargs, asked))

    return function


# ---- Images of arrays -------------------------------------------------------


def fromarray(original: Any) -> Any:
    def made(obj: Any, mode: Any = None) -> Any:
        if type(obj) is not DeferredArray:
            image = memory_image(obj, mode, original)
            if image is not None:
                return image
            return original(obj) if mode is None else original(obj, mode)
        record = recorded_array(obj)
        if record is not None:
            image = _image_of(record, mode)
            if image is not None:
                if image._mode in _SHARED:
                    _share(obj, image)
                return image
        real = obj._feedline_real
        return original(real) if mode is None else original(real, mode)

    return made


def _image_of(record: Record, mode: Any) -> Any:
    """None: Pillow has to look at the array."""
    n = record.side("c")
    if record.axes not in ("hw", "hwc") or record.erased:
        return None
    if record.dtype in MODES and record.axes == "hw" and mode is None:
        gray = _plain_image(record, "L") if record.mode == "L" else None
        return records(gray) and table_image(gray, record.table) or None
    if record.dtype != np.uint8:
        return None
    own = {1: "L", 3: "RGB", 4: "RGBA"}.get(n)
    if record.axes == "hwc" and n == 1:
        return None
    if own is None or mode not in (None, own) or record.mode != own:
        return None
    image = _plain_image(record, own)
    if record.table is None:
        return image
    if not records(image):
        return None
    return image.then(op.POINT, data=table_of(record).tobytes())


def _plain_image(record: Record, mode: str) -> Any:
    """The image of the bytes themselves."""
    image = object.__new__(DeferredImage)
    image._source, image._steps = record.source, record.steps
    image._size = record.side("w"), record.side("h")
    image._mode, image._run, image._base_info = mode, record.run, {}
    return image


# Modes of images that have the memory of a contiguous array.
_SHARED = ("L", "RGBA")


def _share(array: Any, image: Any) -> None:
    image._array = array
    array._shown += (weakref.ref(image),)
