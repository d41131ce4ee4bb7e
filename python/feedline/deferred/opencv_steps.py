# SPDX-License-Identifier: Apache-2.0
"""OpenCV's functions of images of bytes that the engine has as a step.

Each gets (the record, the call, the other arguments), and gives the record of
the result, or raises NotRecorded. Strides are the caller's.
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any, Tuple

import numpy as np

from . import steps as op
from .array import DeferredArray, real_arrays, recorded_array
from .array_views import NotRecorded
from .record import Call, Record, dense


_AVX2, _FMA = 11, 12  # as OpenCV numbers them


def as_on_avx2() -> bool:
    """Elsewhere OpenCV rounds some things in other places, and does so behind
    setUseOptimized(False), too."""
    supports = sys.modules["cv2"].checkHardwareSupport
    return bool(supports(_AVX2) and supports(_FMA))


# ---- Resampling -------------------------------------------------------------


def as_image(record: Record) -> op.Steps:
    """The steps of an image with the values that the array has: bytes."""
    if record.dtype != np.uint8 or record.erased:
        raise NotRecorded
    if record.table is None:
        return record.steps
    if record.mode not in ("L", "RGB"):
        raise NotRecorded
    return (*record.steps, (op.POINT, (), record.table.tobytes()))


# INTER_NEAREST, LINEAR, AREA and LANCZOS4: INTER_CUBIC is another library's in
# some of OpenCV's builds.
_FILTERS = (0, 1, 3, 4)


def resize(
    record: Record,
    call: Call,
    dsize: Any,
    *,
    fx: float = 0,
    fy: float = 0,
    interpolation: int = 1,
) -> Record:
    if interpolation not in _FILTERS:
        raise NotRecorded
    if dsize is None:
        w, h = round(record.side("w") * fx), round(record.side("h") * fy)
        values: Tuple[float, ...] = w, h, interpolation, fx, fy
    else:
        w, h = map(operator.index, dsize)
        values = w, h, interpolation
    if w < 1 or h < 1:
        raise NotRecorded
    steps = (*as_image(record), (op.CV_RESIZE, values, None))
    shape = (h, w, *record.shape[2:])
    return record.but(call=call, steps=steps, table=None, shape=shape)


# ---- Blurs ------------------------------------------------------------------

_REFLECT_101 = 4  # the usual border
_LARGEST = 255  # side of a kernel


_WRAP = 3
_BORDERS = (0, 1, 2, _REFLECT_101)
_MOST_OF_EVEN = 256  # elements of a box with an even side


def _border(borderType: int, *more: int) -> Tuple[int, ...]:
    """What is said of it: nothing of the usual one. more: others that are
    borders, too."""
    if borderType == _REFLECT_101:
        return ()
    if type(borderType) is not int or borderType not in (*_BORDERS, *more):
        raise NotRecorded
    return (borderType,)


def _then(
    record: Record,
    call: Call,
    number: int,
    *values: float,
    data: Any = None,
    **changed: Any,
) -> Record:
    steps = (*as_image(record), (number, values, data))
    return record.but(call=call, steps=steps, table=None, **changed)


def _sides(ksize: Any) -> Tuple[int, int]:
    w, h = map(operator.index, ksize)
    if not (0 < w <= _LARGEST and 0 < h <= _LARGEST and w % 2 and h % 2):
        raise NotRecorded
    return w, h


def gaussian_blur(
    record: Record,
    call: Call,
    ksize: Any,
    sigmaX: float,
    *,
    sigmaY: float = 0,
    borderType: int = _REFLECT_101,
) -> Record:
    w, h = (0, 0) if tuple(ksize) == (0, 0) else _sides(ksize)
    if not w and sigmaX <= 0:
        raise NotRecorded
    values = w, h, float(sigmaX), float(sigmaY), *_border(borderType, _WRAP)
    return _then(record, call, op.CV_GAUSSIAN_BLUR, *values)


def blur(
    record: Record, call: Call, ksize: Any, *, borderType: int = _REFLECT_101
) -> Record:
    w, h = map(operator.index, ksize)
    if w % 2 == 0 or h % 2 == 0:
        if min(w, h) < 1 or w * h > _MOST_OF_EVEN:
            raise NotRecorded
    else:
        w, h = _sides((w, h))
    border = _border(borderType)
    return _then(record, call, op.CV_BOX_BLUR, w, h, *border)


def median_blur(record: Record, call: Call, ksize: int) -> Record:
    side, _ = _sides((ksize, ksize))
    return _then(record, call, op.CV_MEDIAN_BLUR, side)


# ---- Warps ------------------------------------------------------------------

_INVERSE, _TRANSPARENT = 16, 5


@functools.lru_cache(None)
def _version() -> int:
    """Of OpenCV, whose arithmetic differs."""
    return int(str(sys.modules["cv2"].__version__).partition(".")[0])


def _warped(
    record: Record, call: Call, number: int, size: Any, how: Any, **more: Any
) -> Record:
    """how: flags, border, and the value of a constant border; more: numbers of
    a matrix, or data."""
    flags, border, value = how
    w, h = map(operator.index, size)
    filters = (0, 1, 2) if _version() == 4 else (0, 1)  # cubic
    if flags & ~_INVERSE not in filters or w < 1 or h < 1:
        raise NotRecorded
    if border not in range(_TRANSPARENT):
        raise NotRecorded
    fill = fill_of(record, value) if border == 0 else ()
    values = (w, h, flags, border, _version(), *more.get("matrix", ()), *fill)
    shape = (h, w, *record.shape[2:])
    data = more.get("data")
    return _then(record, call, number, *values, data=data, shape=shape)


def warp_affine(
    record: Record,
    call: Call,
    M: Any,
    dsize: Any,
    *,
    flags: int = 1,
    borderMode: int = 0,
    borderValue: Any = 0,
) -> Record:
    matrix = np.asarray(M, np.float64)
    if matrix.shape != (2, 3):
        raise NotRecorded
    how, numbers = (flags, borderMode, borderValue), matrix.ravel().tolist()
    return warped(record, call, numbers, dsize, how)


def warped(
    record: Record, call: Call, matrix: Any, size: Any, how: Any
) -> Record:
    """By the six numbers of a matrix; how: flags, border, its value."""
    return _warped(record, call, op.CV_WARP_AFFINE, size, how, matrix=matrix)


def warp_perspective(
    record: Record,
    call: Call,
    M: Any,
    dsize: Any,
    *,
    flags: int = 1,
    borderMode: int = 0,
    borderValue: Any = 0,
) -> Record:
    matrix = np.asarray(M, np.float64)
    if matrix.shape != (3, 3):
        raise NotRecorded
    how, data = (flags, borderMode, borderValue), matrix.tobytes()
    return _warped(record, call, op.CV_WARP_PERSPECTIVE, dsize, how, data=data)


def remap(
    record: Record,
    call: Call,
    map1: Any,
    map2: Any = None,
    interpolation: int = -1,
    *,
    borderMode: int = 0,
    borderValue: Any = 0,
) -> Record:
    if map2 is None and map1.ndim == 3 and map1.shape[2] == 2:
        map1, map2 = map1[..., 0], map1[..., 1]
    maps = map1, map2
    if any(type(m) is not np.ndarray or m.dtype != np.float32 for m in maps):
        raise NotRecorded
    if map1.ndim != 2 or map1.shape != map2.shape or interpolation & _INVERSE:
        raise NotRecorded
    how, size = (interpolation, borderMode, borderValue), map1.shape[::-1]
    data = map1.tobytes() + map2.tobytes()
    return _warped(record, call, op.CV_REMAP, size, how, data=data)


def surrounded(record: Record, call: Call, widths: Any, border: int) -> Record:
    """A border that goes round the image, or is reflected more than once: as
    by a warp that moves pixels as they are. widths: (before, after) of rows,
    and of columns."""
    (top, bottom), (left, right) = widths
    if border not in (2, _WRAP, _REFLECT_101):
        raise NotRecorded
    if min(top, bottom, left, right) < 0:
        raise NotRecorded
    w, h = record.side("w") + left + right, record.side("h") + top + bottom
    matrix = 1.0, 0.0, -float(left), 0.0, 1.0, -float(top)
    values = w, h, _INVERSE, border, _version(), *matrix
    new = _then(record, call, op.CV_WARP_AFFINE, *values)
    return new.but(shape=(h, w, *record.shape[2:]))


def fill_of(record: Record, value: Any) -> Tuple[int, ...]:
    """Bytes of what OpenCV makes of a number or of up to four: what is not
    given is 0."""
    n = record.side("c")
    try:
        return _bytes_of_fill(n, value)
    except TypeError:  # a list, an array
        return _bytes_of_fill(n, tuple(value))


@functools.lru_cache(64)
def _bytes_of_fill(n: int, value: Any) -> Tuple[int, ...]:
    numbers = (value,) if type(value) in (int, float) else tuple(value)
    numbers = (*numbers, 0, 0, 0, 0)[:n]
    whole = tuple(map(int, numbers))
    if whole != numbers or min(whole) < 0 or max(whole) > 255:
        raise NotRecorded  # OpenCV rounds and saturates
    return whole


# ---- Histograms, kernels ----------------------------------------------------


def equalize(record: Record, call: Call) -> Record:
    if record.axes != "hw":
        raise NotRecorded
    return _then(record, call, op.CV_EQUALIZE, 0)


class Clahe:
    """What createCLAHE() gives while a sample is recorded."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def apply(self, src: Any, *args: Any, **kwargs: Any) -> Any:
        record = recorded_array(src) if type(src) is DeferredArray else None
        if record is not None and not args and not kwargs:
            try:
                return DeferredArray(self._applied(record))
            except NotRecorded:
                pass
        args, kwargs = real_arrays((src, *args)), real_arrays(kwargs)
        return self._original.apply(*args, **kwargs)

    def _applied(self, record: Record) -> Record:
        if record.axes != "hw":
            raise NotRecorded
        limit = self._original.getClipLimit()
        tiles = self._original.getTilesGridSize()
        call = Call(record.call, _clahe, 0, (limit, tiles))
        new = _then(record, call, op.CV_CLAHE, 0, limit, *tiles)
        return new.but(strides=dense(new.shape))


def _clahe(array: Any, limit: float, tiles: Any) -> Any:
    create = sys.modules["cv2"].createCLAHE
    return getattr(create, "__wrapped__", create)(limit, tiles).apply(array)


_MOST_OF_KERNEL = 11  # a side
# OpenCV casts the second for bytes, too.
_KERNELS = tuple(map(np.dtype, (np.float32, np.float64)))


def filter_2d(
    record: Record,
    call: Call,
    ddepth: int,
    kernel: Any,
    *,
    borderType: int = _REFLECT_101,
) -> Record:
    if ddepth != -1 or type(kernel) is not np.ndarray or kernel.ndim != 2:
        raise NotRecorded
    h, w = kernel.shape
    if kernel.dtype not in _KERNELS or w % 2 == 0 or h % 2 == 0:
        raise NotRecorded
    if max(w, h) > _MOST_OF_KERNEL:
        raise NotRecorded
    data = _floats(kernel)
    values = w, h, _version(), *_border(borderType)
    return _then(record, call, op.CV_FILTER2D, *values, data=data)


def _floats(*kernels: Any) -> bytes:
    """Sums beyond 32 bits are what the processor makes of them."""
    with np.errstate(all="ignore"):
        every = [kernel.astype(np.float32) for kernel in kernels]
        sums = [np.abs(one).sum(dtype=np.float64) for one in every]
        if not 255 * (np.prod(sums) + 1) < 2**31 - 1:
            raise NotRecorded
    return b"".join([one.tobytes() for one in every])


_MOST_OF_SEPARABLE = 127


def sep_filter_2d(
    record: Record,
    call: Call,
    ddepth: int,
    kernelX: Any,
    kernelY: Any,
    *,
    borderType: int = _REFLECT_101,
) -> Record:
    x, y = _line(kernelX), _line(kernelY)
    alike = x.dtype == y.dtype  # else OpenCV refuses them
    if ddepth != -1 or borderType not in _BORDERS or not alike:
        raise NotRecorded
    if not np.array_equal(y, y[::-1]) or (_in_parts(x) and _in_parts(y)):
        raise NotRecorded
    values = len(x), len(y), borderType, _version()
    data = _floats(x, y)
    return _then(record, call, op.CV_SEP_FILTER2D, *values, data=data)


def _line(kernel: Any) -> Any:
    if type(kernel) is not np.ndarray or kernel.dtype.kind != "f":
        raise NotRecorded
    n = kernel.size
    if kernel.shape not in ((n,), (n, 1), (1, n)):
        raise NotRecorded
    if n % 2 == 0 or n > _MOST_OF_SEPARABLE:
        raise NotRecorded
    return kernel.reshape(-1)


def _in_parts(kernel: Any) -> bool:
    """Whether it may be to OpenCV whole parts of 1 / 256, which it sums as
    integers."""
    parts = kernel.astype(np.float64) * 256
    return bool(np.abs(parts - np.rint(parts)).max() < 1e-3)


# ---- Colours ----------------------------------------------------------------

# Those that the engine computes, of bytes: to gray, which is one channel; to
# and from YCrCb, HSV, Lab and HLS.
_TO_GRAY = (6, 7)
_OTHERS = "36 37 38 39 40 41 44 45 52 53 54 55 56 57 60 61 66 67"
COMPUTED = frozenset((*_TO_GRAY, *map(int, _OTHERS.split())))
# To HLS, and from HSV: these are rounded otherwise without AVX2.
ON_AVX2 = (52, 53, 54, 55)


def color(record: Record, call: Call, code: int) -> Record:
    if record.axes != "hwc" or record.side("c") != 3:
        raise NotRecorded
    new = _then(record, call, op.CV_COLOUR, code)
    if code not in _TO_GRAY:
        return new
    return new.but(mode="L", axes="hw", shape=new.shape[:2])
