# SPDX-License-Identifier: Apache-2.0
"""What apply() of albumentations' transforms records, at once.

Each function gets (the transform, the record of an array, the parameters that
the transform has drawn), and gives the record that its apply() of that array
ends with; or raises NotRecorded, and then apply() itself runs, and each of the
functions that it calls is recorded.

Of what changes each value alone there is nothing to be known: apply() gets an
image of all values, and what it makes of them is the table.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Tuple

import numpy as np

from . import array_views as views
from . import opencv_steps as made
from . import steps as op
from .array import DeferredArray
from .array_views import NotRecorded
from .opencv_functions import bordered
from .record import Call, Record, as_pixels, as_table, dense
from .remembered import keep

Params = Dict[str, Any]
# Raises NotRecorded.
Move = Callable[[Any, Record, Params], Record]
# The tensor of an array and its record.
Ending = Callable[[Any, Record], Any]

_BYTES = np.dtype(np.uint8)


def _call(record: Record, function: Any, *args: Any, **kwargs: Any) -> Call:
    return Call(record.call, function, 0, args, kwargs)


def _cv(array: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """OpenCV's function of that name."""
    return getattr(sys.modules["cv2"], name)(array, *args, **kwargs)


# ---- Pixels that move -------------------------------------------------------


def _flip(code: int, number: int) -> Move:
    """code: of cv2.flip(); number: of the step TRANSPOSE."""

    def flip(transform: Any, record: Record, params: Params) -> Record:
        if record.erased:
            raise NotRecorded
        steps = (*record.steps, (op.TRANSPOSE, (number,), None))
        call = _call(record, _cv, "flip", code)
        return views.moved(record, call, steps=steps)

    return flip


def _part(record: Record, coords: Tuple[int, int, int, int]) -> Record:
    """Of the image, as an array of its own."""
    left, top, right, bottom = coords
    h, w = record.shape[:2]
    inside = 0 <= left < right <= w and 0 <= top < bottom <= h
    # Of whole rows it would be a view, which keeps the memory.
    if not inside or right - left == w or record.erased:
        raise NotRecorded
    steps = (*record.steps, (op.CROP, (left, top, right, bottom), None))
    shape = (bottom - top, right - left, *record.shape[2:])
    call = _call(record, _cut, left, top, right, bottom)
    return views.moved(
        record, call, steps=steps, shape=shape, strides=dense(shape)
    )


def _cut(array: Any, left: int, top: int, right: int, bottom: int) -> Any:
    return array[top:bottom, left:right].copy()


def _crop(transform: Any, record: Record, params: Params) -> Record:
    return _part(record, params["crop_coords"])


def _padded_crop(transform: Any, record: Record, params: Params) -> Record:
    if params.get("pad_params") is not None:
        raise NotRecorded
    return _part(record, params["crop_coords"])


def _sized_crop(target: str) -> Move:
    def crop(transform: Any, record: Record, params: Params) -> Record:
        left, top, right, bottom = params["crop_coords"]
        shape = bottom - top, right - left
        h, w = transform.size
        if shape == (h, w):
            raise NotRecorded
        how = transform._get_interpolation_for_resize(shape, target)
        if shape != record.shape[:2]:
            record = _part(record, params["crop_coords"])
        return _resized(record, w, h, how)

    return crop


def _resized(record: Record, w: int, h: int, how: int) -> Record:
    call = _call(record, _cv, "resize", (w, h), interpolation=how)
    new = made.resize(record, call, (w, h), interpolation=how)
    new.strides = dense(new.shape)
    return new


_AREA = 3  # INTER_AREA
# Which transforms of images, and of masks, take the area where they shrink.
_SHRINKING = {"image": ("image", "image_mask"), "mask": ("image_mask",)}


def _resize(target: str) -> Move:
    """To a size, or by a scale that was drawn."""
    filters = "interpolation" if target == "image" else "mask_interpolation"

    def resize(transform: Any, record: Record, params: Params) -> Record:
        height, width = record.shape[:2]
        scale = params.get("scale")
        if scale is None:
            h, w = transform.height, transform.width
            shrinks = h < height or w < width
        else:
            h, w = (max(1, round(side * scale)) for side in (height, width))
            shrinks = scale < 1
        if (h, w) == (height, width) or type(h) is not int:
            raise NotRecorded
        how = getattr(transform, filters)
        if shrinks and transform.area_for_downscale in _SHRINKING[target]:
            how = _AREA
        return _resized(record, w, h, how)

    return resize


def _pad(fill: str) -> Move:
    def pad(transform: Any, record: Record, params: Params) -> Record:
        top, bottom, left, right = (
            params["pad_" + side] for side in ("top", "bottom", "left", "right")
        )
        value, mode = getattr(transform, fill), transform.border_mode
        if not (top or bottom or left or right):
            raise NotRecorded
        if type(value) is float:
            value = [value] * record.side("c")
        sides = top, bottom, left, right, mode
        call = _call(record, _cv, "copyMakeBorder", *sides, value=value)
        new = bordered(
            record, call, top, bottom, left, right, mode, value=value
        )
        new.strides = dense(new.shape)
        return new

    return pad


def _turned(filters: str, fill: str) -> Move:
    """As a warp, on a canvas of the image's own size."""
    warp = _warp(filters, fill)

    def turned(transform: Any, record: Record, params: Params) -> Record:
        if transform.crop_border:
            raise NotRecorded
        return warp(
            transform, record, {**params, "output_shape": params["shape"]}
        )

    return turned


def _warp(filters: str, fill: str) -> Move:
    """By the transform's attributes of these names."""

    def warp(transform: Any, record: Record, params: Params) -> Record:
        h, w = params["output_shape"][:2]
        numbers = params["matrix"].tolist()
        if type(h) is not int or type(w) is not int or _is_near_one(numbers):
            raise NotRecorded
        if not made.as_on_avx2():
            raise NotRecorded
        value = getattr(transform, fill)
        if type(value) in (int, float):
            value = (value,) * record.side("c")
        how = getattr(transform, filters), transform.border_mode, value
        matrix = *numbers[0], *numbers[1]
        call = _call(record, _warp_again, matrix, (w, h), *how)
        new = made.warped(record, call, matrix, (w, h), how)
        new.strides = dense(new.shape)
        return new

    return warp


def _warp_again(
    array: Any, matrix: Any, size: Any, flags: int, border: int, value: Any
) -> Any:
    rows = np.array(matrix).reshape(2, 3)
    more = {"flags": flags, "borderMode": border, "borderValue": value}
    return _cv(array, "warpAffine", rows, size, **more)


def _is_near_one(matrix: Any) -> bool:
    """What the library may take for a matrix that moves nothing."""
    (a, b, c), (d, e, f), _ = matrix
    most = max(abs(a - 1), abs(b), abs(c), abs(d), abs(e - 1), abs(f))
    return not most > 1e-4


# ---- Values that change -----------------------------------------------------


def _pointwise(transform: Any, record: Record, params: Params) -> Record:
    """What apply() makes of a value depends on nothing else."""
    return _by_table(record, _table_by(transform, record, params))


def _table_by(transform: Any, record: Record, params: Params) -> Any:
    if record.dtype != _BYTES:
        raise NotRecorded
    every = as_pixels(_every(record.side("c")), record).copy()
    made = type(transform).apply(transform, every, **params)
    if type(made) is not np.ndarray or made.shape != every.shape:
        raise NotRecorded
    return as_table(made, record)


def _every(channels: int) -> Any:
    every = _bytes.get(channels)
    if every is None:
        row = np.arange(256, dtype=np.uint8)
        every = _bytes[channels] = np.repeat(row[None], channels, axis=0)
    return every


_bytes: Dict[int, Any] = {}


_ROWS = np.arange(4)[:, None]


def _by_table(record: Record, table: Any) -> Record:
    """table: what becomes of bytes, in each channel."""
    call = _call(record, _look_up, table, record.axes)
    if record.table is not None:
        table = table[_ROWS[: len(table)], record.table]
    return record.but(
        table=table,
        scaled=False,
        dtype=table.dtype,
        erased=tuple((at, _one(call, v)) for at, v in record.erased),
        call=call,
    )


def _one(call: Call, values: Any) -> Any:
    """Of values that stand in place of pixels."""
    return np.stack([t[v] for t, v in zip(call.args[0], values)])


def _look_up(array: Any, table: Any, axes: str) -> Any:
    if axes == "hw":
        return table[0][array]
    return np.stack(
        [row[array[:, :, n]] for n, row in enumerate(table)], axis=2
    )


_known: Dict[Any, Any] = {}


def _normalize(transform: Any, record: Record, params: Params) -> Record:
    """The same for all images, mostly."""
    if transform.normalization != "standard":
        raise NotRecorded
    numbers = transform.mean_np, transform.denominator
    key: Any = type(transform).apply, record.axes, record.side("c")
    for array in numbers:
        key += array.dtype, array.shape, array.tobytes()
    table = _known.get(key)
    if table is None or record.dtype != _BYTES:
        table = _table_by(transform, record, params)
        if len(_known) >= 64:
            _known.clear()
        _known[key] = table
    keep(table)
    return _by_table(record, table)


# COLOR_RGB2HSV and back.
_TO_HSV, _FROM_HSV = 41, 55


def _shift_hsv(transform: Any, record: Record, params: Params) -> Record:
    hue, saturation, value = (
        params[name] for name in ("hue_shift", "sat_shift", "val_shift")
    )
    if record.axes != "hwc" or record.side("c") != 3 or 0 in (hue, saturation):
        raise NotRecorded
    if not value or not made.as_on_avx2():
        raise NotRecorded
    table = np.empty((3, 256), np.uint8)
    degrees, every = np.arange(256, dtype=np.int16), _every(1)[0]
    table[0] = np.mod(degrees + hue, 180).astype(np.uint8)
    add = sys.modules["albucore.functions"].add_constant
    for row, shift in ((1, saturation), (2, value)):
        column = every.reshape(256, 1).copy()
        table[row] = add(column, shift, inplace=True)[:, 0]
    table[1, 0] = 0  # gray stays gray
    new = made.color(record, _call(record, _cv, "cvtColor", _TO_HSV), _TO_HSV)
    new = _by_table(new, table)
    call = _call(new, _cv, "cvtColor", _FROM_HSV)
    return made.color(new, call, _FROM_HSV)


# ---- The table --------------------------------------------------------------

# In albumentations' modules: (class, method): what it records.
MOVES: Dict[str, Dict[Tuple[str, str], Move]] = {
    "augmentations.crops.transforms": {
        ("BaseCrop", "apply"): _crop,
        ("BaseCropAndPad", "apply"): _padded_crop,
        ("BaseCropAndPad", "apply_to_mask"): _padded_crop,
        ("_BaseRandomSizedCrop", "apply"): _sized_crop("image"),
        ("_BaseRandomSizedCrop", "apply_to_mask"): _sized_crop("mask"),
    },
    "augmentations.geometric.flip": {
        ("HorizontalFlip", "apply"): _flip(1, 0),
        ("VerticalFlip", "apply"): _flip(0, 1),
    },
    "augmentations.geometric.pad": {
        ("Pad", "apply"): _pad("fill"),
        ("Pad", "apply_to_mask"): _pad("fill_mask"),
    },
    "augmentations.geometric.resize": {
        ("MaxSizeTransform", "apply"): _resize("image"),
        ("MaxSizeTransform", "apply_to_mask"): _resize("mask"),
        ("Resize", "apply"): _resize("image"),
        ("Resize", "apply_to_mask"): _resize("mask"),
    },
    "augmentations.geometric.rotate": {
        ("Rotate", "apply"): _turned("interpolation", "fill"),
        ("Rotate", "apply_to_mask"): _turned("mask_interpolation", "fill_mask"),
    },
    "augmentations.geometric.transforms": {
        ("Affine", "apply"): _warp("interpolation", "fill"),
        ("Affine", "apply_to_mask"): _warp("mask_interpolation", "fill_mask"),
    },
    "augmentations.pixel.transforms": {
        ("HueSaturationValue", "apply"): _shift_hsv,
        ("Normalize", "apply"): _normalize,
        ("RandomBrightnessContrast", "apply"): _pointwise,
        ("RandomGamma", "apply"): _pointwise,
    },
}


def _as_tensor(array: Any, record: Record) -> Any:
    """Of an image: its channels come first."""
    if record.axes != "hwc":
        raise NotRecorded
    (h, w, c), (down, right, deep) = record.shape, record.strides
    call = _call(record, np.ndarray.transpose, 2, 0, 1)
    view = record.but(
        call=call, axes="chw", shape=(c, h, w), strides=(deep, down, right)
    )
    return _tensor_of(DeferredArray(view, array))


def _mask_as_tensor(array: Any, record: Record) -> Any:
    if record.axes != "hw":
        raise NotRecorded
    return _tensor_of(array)


def _tensor_of(array: Any) -> Any:
    return sys.modules["torch"].from_numpy(array)


ENDINGS: Dict[str, Dict[Tuple[str, str], Ending]] = {
    "pytorch.transforms": {
        ("ToTensorV2", "apply"): _as_tensor,
        ("ToTensorV2", "apply_to_mask"): _mask_as_tensor,
    },
}
# Those of the classes that pass a mask on to apply().
PASSED_ON = ("core.transforms_interface", "DualTransform", "apply_to_mask")
