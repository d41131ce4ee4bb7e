# SPDX-License-Identifier: Apache-2.0
"""torchvision's v2 looks up a function by the class of its argument.

In its table are the originals of functions that are replaced elsewhere, and
here it gets some for deferred tensors of bytes: resizes, and colours, which it
computes in float.
"""

from __future__ import annotations

from typing import Any, Dict

import torch
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional
from torchvision.transforms.v2.functional import _geometry, _utils

from .. import replaced
from . import steps as op
from .image import PLAIN
from .pillow_hooks import put
from .record import Call, dense, is_plain
from .tensor import POSSIBLE, DeferredTensor, recorded, wrap
from .vision_hooks import pairs

# Beyond it, how a sum is rounded depends on torch's threads.
MOST_SUMMED = 65793

_COLORS: Dict[str, int] = {
    "adjust_brightness": op.TENSOR_BRIGHTNESS,
    "adjust_contrast": op.TENSOR_CONTRAST,
    "adjust_saturation": op.TENSOR_SATURATION,
    "adjust_hue": op.TENSOR_HUE,
    "adjust_sharpness": op.TENSOR_SHARPNESS,
    "rgb_to_grayscale": op.TENSOR_GRAYSCALE,
    "autocontrast": op.TENSOR_AUTOCONTRAST,
}


def install() -> None:
    registry: Any = getattr(_utils, "_KERNEL_REGISTRY", {})
    exact = POSSIBLE and _as_with_avx2()
    if exact:
        put(pairs, _geometry, "resize_image", _resize)
        replaced.replace(pairs)
    for kernels in registry.values():
        for kind, kernel in list(kernels.items()):
            if id(kernel) in pairs:
                kernels[kind] = pairs[id(kernel)][1]
    if not exact:
        return
    for name, number in _COLORS.items():
        kernels = registry.get(getattr(functional, name, None), {})
        if torch.Tensor in kernels:
            ours = _kernel(kernels[torch.Tensor], number)
            kernels[torch.Tensor] = ours
            _put_of_kind(kernels, ours)
    kernels = registry.get(functional.resize, {})
    if torch.Tensor in kernels:
        _put_of_kind(kernels, kernels[torch.Tensor])


def _as_with_avx2() -> bool:
    """The engine computes colours as torch does there."""
    ask = getattr(torch.backends.cpu, "get_cpu_capability", None)
    return ask is not None and "AVX" in ask()


def _put_of_kind(kernels: Any, function: Any) -> None:
    """A function of plain tensors for deferred ones of torchvision's class,
    which a dict takes for that class."""
    original = kernels.get(tv_tensors.Image)
    if original is None:
        return

    def kernel(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inpt, DeferredTensor):
            return original(inpt, *args, **kwargs)
        kind = inpt._kind
        made = function(inpt.as_subclass(torch.Tensor), *args, **kwargs)
        return made.as_subclass(kind)

    kernels[tv_tensors.Image] = kernel


def _kernel(original: Any, number: int) -> Any:
    def kernel(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        found = _colored(inpt, number, (*args, *kwargs.values()))
        if found is None:
            return original(inpt, *args, **kwargs)
        found.call = Call(found.call, original, 0, args, kwargs)
        return wrap(found)

    return kernel


_METHODS: Dict[Any, int] = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
}


def _resize(original: Any) -> Any:
    def resize_image(
        image: Any,
        size: Any,
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: Any = None,
        antialias: Any = True,
    ) -> Any:
        try:
            known = _geometry._check_interpolation(interpolation)
        except (AttributeError, TypeError, ValueError):
            known = None
        method = _METHODS.get(known, -1)
        record = recorded(image) if isinstance(image, DeferredTensor) else None
        if (
            record is not None
            and is_plain(record)
            and record.axes == "chw"
            and record.mode in PLAIN
            and (method == 0 or (method > 0 and antialias is True))
        ):
            c, *before = record.shape
            compute: Any = _geometry._compute_resized_output_size
            h, w = compute(tuple(before), size=size, max_size=max_size)
            if [h, w] == before:
                return image
            if isinstance(size, (list, tuple)):
                size = list(size)
            given = size, interpolation, max_size, antialias
            step = (op.TENSOR_RESIZE, (w, h, method), None)
            return wrap(
                record.but(
                    steps=(*record.steps, step),
                    shape=(c, h, w),
                    strides=dense((c, h, w)),
                    call=Call(record.call, original, 0, given),
                )
            )
        return original(image, size, interpolation, max_size, antialias)

    return resize_image


def _colored(tensor: Any, number: int, values: Any) -> Any:
    """The record of the result; None if torchvision has to make it."""
    record = recorded(tensor) if isinstance(tensor, DeferredTensor) else None
    if record is None or record.mode not in PLAIN or record.axes != "chw":
        return None
    if not is_plain(record):
        return None
    if not all(type(value) in (int, float) for value in values):
        return None
    c, h, w = record.shape
    mode = record.mode
    if number == op.TENSOR_GRAYSCALE:
        values = values or (1,)
        if len(values) != 1 or values[0] not in (1, 3) or c != 3:
            return None
        c, mode = values[0], op.MODE_OF[values[0]]
    elif number == op.TENSOR_AUTOCONTRAST:
        if values:
            return None
    elif len(values) != 1 or not _is_factor(number, values[0]):
        return None
    if number == op.TENSOR_CONTRAST and h * w > MOST_SUMMED:
        return None
    shape = (c, h, w)
    return record.but(
        steps=(*record.steps, (number, values, None)),
        mode=mode,
        shape=shape,
        strides=(h * w, w, 1),
    )


def _is_factor(number: int, value: float) -> bool:
    if number == op.TENSOR_HUE:
        return -0.5 <= value <= 0.5
    return value >= 0
