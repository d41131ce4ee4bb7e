# SPDX-License-Identifier: Apache-2.0
"""Readers of torchvision.transforms, and of what v2 has in common with it.

On Pillow images v2 calls the same functions with the same meaning, so a reader
serves both wherever the attributes have the same names. Differences found by
reading torchvision 0.14 to 0.29:

- On Pillow images `antialias` is ignored: resampling always has it.
- v2 resizes uint8 tensors in integers, v1 as floats.
- v1 keeps RandomCrop's padding as it was given; v2 keeps it as left, right,
  top, bottom.
- v1 interpolation is an InterpolationMode; v2 also takes names and Pillow's
  numbers.
- ToTensor gives torch's default floating type.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from . import _compat
from .chain import PILLOW_FIRST, Builder, Stage, reads

# By Pillow's numbers.
_FILTERS = "nearest lanczos bilinear bicubic box hamming".split()


def filter_of(b: Builder, value: Any) -> str:
    """The name of an interpolation."""
    if isinstance(value, int) and 0 <= value < len(_FILTERS):
        return _FILTERS[value]
    name = getattr(value, "value", value)
    if name == "nearest-exact":
        return "nearest"  # the same to Pillow
    if name in _FILTERS:
        return str(name)
    b.fail(f"interpolation={value!r} is not one that feedline has")


def float_is_float32() -> bool:
    """torch's default floating type is that of the engine."""
    import torch

    return torch.get_default_dtype() == torch.float32


# ---- Containers -------------------------------------------------------------


@reads("v1 v2", "Compose", "transforms")
def compose(b: Builder, t: Any) -> None:
    b.read_chain(t.transforms)


@reads("nn", "Sequential")
def sequential(b: Builder, t: Any) -> None:
    b.read_chain(list(t))


@reads("nn v2", "Identity")
def identity(b: Builder, t: Any) -> None:
    pass


@reads("v1 v2", "Lambda", "lambd types")
def lambda_(b: Builder, t: Any) -> None:
    b.expect("types", (object,))
    b.call(t.lambd)


@reads(
    "preset",
    "ImageClassification",
    "crop_size resize_size mean std interpolation antialias",
)
def image_classification(b: Builder, t: Any) -> None:
    """What torchvision's pretrained weights come with, as one transform."""
    b.resamples()
    size = b.integers("resize_size", t.resize_size)
    if len(size) != 1 or size[0] < 1:
        b.fail(f"resize_size={t.resize_size!r} is not supported natively")
    b.add("resize", size=size[0], interpolation=filter_of(b, t.interpolation))
    if b.size is not None:
        b.size = shorter_side(b.size, size[0])
    b.add_center_crop(*b.side_pair("crop_size", t.crop_size))
    b.to_bytes()
    b.to_unit()
    b.normalize(b.numbers("mean", t.mean), b.numbers("std", t.std))


# ---- Those that draw what is done of others ---------------------------------

_WEIGHTS = 4  # that the engine takes


@reads("v1 v2", "RandomApply", "transforms p")
def random_apply(b: Builder, t: Any) -> None:
    b.decide("random_apply", [list(t.transforms)], p=b.number("p", t.p))


@reads("v1 v2", "RandomOrder", "transforms")
def random_order(b: Builder, t: Any) -> None:
    parts = [[one] for one in t.transforms]
    if parts:
        b.decide("random_order", parts)


@reads("v1 v2", "RandomChoice", "transforms p")
def random_choice(b: Builder, t: Any) -> None:
    parts = [[one] for one in t.transforms]
    if not parts:
        b.fail("it has nothing to choose from")
    weights = [1.0] if t.p is None else b.numbers("p", t.p)
    if len(weights) not in (1, len(parts)):
        b.fail(f"p={t.p!r} for {len(parts)} transforms")
    if len(set(weights)) == 1:
        b.decide("random_choice", parts)
    elif len(weights) > _WEIGHTS:
        b.fail(
            f"p has {len(weights)} different weights, and the engine takes "
            f"{_WEIGHTS}; nest one RandomChoice in another"
        )
    else:
        b.decide("random_choice", parts, weights=tuple(weights))


# ---- Resampling -------------------------------------------------------------


def resampling(b: Builder, t: Any, interpolation: str) -> Dict[str, str]:
    """How the present transform resamples, as arguments."""
    b.resamples(tensors=True)
    if b.stage == Stage.IMAGE:
        return {"interpolation": interpolation}
    b.expect("antialias", True)
    if interpolation not in ("bilinear", "bicubic", "lanczos"):
        b.fail(
            f"interpolation={interpolation} on a tensor is not supported "
            "natively; use bilinear or bicubic, or put ToImage after it"
        )
    if not _compat.resizes_bytes(interpolation):
        b.fail(
            "this torchvision, or torch on this processor, resizes tensors as "
            "floats; put ToImage after it"
        )
    return {"interpolation": interpolation, "pixels": "tensor"}


@reads("v1 v2", "Resize", "size max_size interpolation antialias")
def resize(b: Builder, t: Any) -> None:
    how = resampling(b, t, filter_of(b, t.interpolation))
    b.expect("max_size", None)
    if t.size is None:
        b.fail("size=None is not supported natively; give a size")
    found = b.integers("size", t.size)
    if len(found) == 2:
        width, height = b.side_pair("size", found)
        b.add("resize", width=width, height=height, **how)
        b.size = width, height
    elif len(found) == 1 and found[0] > 0:
        b.add("resize", size=found[0], **how)
        if b.size is not None:
            b.size = shorter_side(b.size, found[0])
    else:
        b.fail(f"size={t.size!r} is not a size")


def shorter_side(size: Tuple[int, int], target: int) -> Tuple[int, int]:
    """Width and height when the shorter side becomes `target`."""
    width, height = size
    if width <= height:
        return target, int(target * height / width)
    return int(target * width / height), target


def add_drawn_size(b: Builder, t: Any, op: str, **arguments: Any) -> None:
    """A resampling to a size that is drawn."""
    how = resampling(b, t, filter_of(b, t.interpolation))
    b.draws()
    b.add(op, **arguments, **how)
    b.size = None


@reads("v2", "ScaleJitter", "target_size scale_range interpolation antialias")
def scale_jitter(b: Builder, t: Any) -> None:
    height, width = b.side_pair("target_size", t.target_size)
    scale = b.pair("scale_range", t.scale_range)
    add_drawn_size(
        b, t, "scale_jitter", width=width, height=height, scale=scale
    )


@reads("v2", "RandomShortestSize", "min_size max_size interpolation antialias")
def random_shortest_size(b: Builder, t: Any) -> None:
    sizes = b.integers("min_size", t.min_size)
    if len(sizes) > 16:
        b.fail(f"min_size has {len(sizes)} sizes; the engine takes 16")
    longest = b.integers("max_size", t.max_size or 0)[0]
    add_drawn_size(
        b, t, "random_shortest_size", min_size=sizes, max_size=longest
    )


@reads("v2", "RandomResize", "min_size max_size interpolation antialias")
def random_resize(b: Builder, t: Any) -> None:
    sizes = b.integers("size", (t.min_size, t.max_size))
    add_drawn_size(b, t, "random_resize", min_size=sizes[0], max_size=sizes[1])


@reads("v1 v2", "RandomResizedCrop", "size scale ratio interpolation antialias")
def random_resized_crop(b: Builder, t: Any) -> None:
    b.draws()
    add_random_resized_crop(b, t, filter_of(b, t.interpolation))


def add_random_resized_crop(b: Builder, t: Any, interpolation: str) -> None:
    how = resampling(b, t, interpolation)
    width, height = b.side_pair("size", t.size)
    b.add(
        "random_resized_crop",
        width=width,
        height=height,
        scale=b.pair("scale", t.scale),
        ratio=b.pair("ratio", t.ratio),
        **how,
    )
    b.size = width, height


# ---- Crops, borders ---------------------------------------------------------


@reads("v1 v2", "CenterCrop", "size")
def center_crop(b: Builder, t: Any) -> None:
    width, height = b.side_pair("size", t.size)
    if b.stage == Stage.NORMAL and b.is_smaller(width, height):
        b.fail("after Normalize it may add a border of 0; put it before")
    b.add_center_crop(width, height)


def margins(b: Builder, value: Any) -> Tuple[int, int, int, int]:
    """torchvision's padding as left, top, right, bottom."""
    found = b.integers("padding", value)
    if len(found) == 1:
        found = found * 4
    elif len(found) == 2:
        found = found * 2
    if len(found) != 4 or min(found) < 0:
        b.fail(f"padding={value!r} is not supported natively")
    return found[0], found[1], found[2], found[3]


def border(
    b: Builder, t: Any, padding: Sequence[int], always: bool
) -> Tuple[Tuple[int, ...], str]:
    """Fill and mode of a border, if `padding` or `always` asks for one."""
    fill, mode = b.fill(t), t.padding_mode
    if mode not in ("constant", "edge", "reflect", "symmetric"):
        b.fail(f"padding_mode={mode!r} is not supported natively")
    if mode != "constant" and (len(fill) > 1 or not b.on_bytes()):
        b.need_image()
    if any(padding) or always:
        b.need_black(fill, "it adds a border to the values")
    return fill, mode


@reads("v1 v2", "Pad", "padding fill padding_mode")
def pad(b: Builder, t: Any) -> None:
    padding = margins(b, t.padding)
    fill, mode = border(b, t, padding, False)
    b.add("pad", padding=padding, fill=fill, padding_mode=mode)
    if b.size is not None:
        left, top, right, bottom = padding
        b.size = b.size[0] + left + right, b.size[1] + top + bottom


@reads("v2", "RandomZoomOut", "fill side_range p")
def random_zoom_out(b: Builder, t: Any) -> None:
    b.draws()
    fill = b.fill(t)
    b.need_black(fill, "it adds a border to the values")
    sides = b.pair("side_range", t.side_range)
    b.add("random_zoom_out", fill=fill, side_range=sides, p=b.number("p", t.p))
    b.size = None


def add_random_crop(b: Builder, t: Any, padding: Sequence[int]) -> None:
    """RandomCrop with its border as left, top, right, bottom."""
    b.draws()
    width, height = b.side_pair("size", t.size)
    wide = bool(t.pad_if_needed)
    fill, mode = border(b, t, padding, wide)
    if not wide and b.size is not None:
        whole = (
            b.size[0] + padding[0] + padding[2],
            b.size[1] + padding[1] + padding[3],
        )
        if whole[0] < width or whole[1] < height:
            b.fail(
                f"a crop of {width}x{height} pixels does not fit into images "
                f"of {whole[0]}x{whole[1]}"
            )
    b.add(
        "random_crop",
        width=width,
        height=height,
        padding=tuple(padding),
        pad_if_needed=wide,
        fill=fill,
        padding_mode=mode,
    )
    b.size = width, height


@reads("v1", "RandomCrop", "size padding pad_if_needed fill padding_mode")
def random_crop(b: Builder, t: Any) -> None:
    none = (0, 0, 0, 0)
    add_random_crop(b, t, none if t.padding is None else margins(b, t.padding))


# ---- Maps -------------------------------------------------------------------


def add_map(b: Builder, t: Any, op: str, **arguments: Any) -> None:
    """An operation that looks pixels up through an affine or other map."""
    b.need_image()
    name = filter_of(b, t.interpolation)
    if name not in ("nearest", "bilinear", "bicubic"):
        b.fail(f"Pillow has no interpolation={name!r} for it")
    center = getattr(t, "center", None)
    if center is not None:
        arguments["center"] = b.numbers("center", center)
    b.add(op, **arguments, interpolation=name, fill=b.fill(t))


@reads(
    "v1 v2",
    "RandomRotation",
    "degrees interpolation expand center fill resample",
)
def random_rotation(b: Builder, t: Any) -> None:
    b.draws()
    b.expect("expand", False)
    add_map(b, t, "random_rotation", degrees=b.pair("degrees", t.degrees))


@reads(
    "v1 v2",
    "RandomAffine",
    "degrees translate scale shear interpolation fill center resample "
    "fillcolor",
)
def random_affine(b: Builder, t: Any) -> None:
    b.draws()
    arguments: Dict[str, Any] = {"degrees": b.pair("degrees", t.degrees)}
    for name in ("translate", "scale", "shear"):
        if getattr(t, name) is not None:
            arguments[name] = b.numbers(name, getattr(t, name))
    add_map(b, t, "random_affine", **arguments)


@reads("v1 v2", "RandomPerspective", "distortion_scale p interpolation fill")
def random_perspective(b: Builder, t: Any) -> None:
    b.draws()
    scale = b.number("distortion_scale", t.distortion_scale)
    p = b.number("p", t.p)
    add_map(b, t, "random_perspective", distortion_scale=scale, p=p)


# ---- Colours, flips ---------------------------------------------------------


def arithmetic(b: Builder) -> Dict[str, str]:
    """Whose the present transform is, as arguments: torch has its own for
    tensors, with the fused operations of its vectors."""
    if b.stage == Stage.IMAGE:
        return {}
    if not (b.on_bytes() and _compat.resizes_bytes("bilinear")):
        b.need_image()
    return {"pixels": "tensor"}


@reads("v1 v2", "ColorJitter", "brightness contrast saturation hue")
def color_jitter(b: Builder, t: Any) -> None:
    how = arithmetic(b)
    b.draws()
    ranges = {
        name: b.pair(name, getattr(t, name))
        for name in ("brightness", "contrast", "saturation", "hue")
        if getattr(t, name) is not None
    }
    if ranges:
        b.add("color_jitter", **ranges, **how)


@reads("v1 v2", "Grayscale", "num_output_channels")
def grayscale(b: Builder, t: Any) -> None:
    if b.on_bytes() and t.num_output_channels == 3 == b.channels:
        b.add("grayscale", **arithmetic(b))
    else:
        b.to_gray(t.num_output_channels)


def whole_bits(b: Builder, name: str, value: Any) -> int:
    if value not in range(9):
        b.fail(f"bits={value!r}; it takes 0 to 8")
    return int(value)


def of_bytes(b: Builder, name: str, value: Any) -> float:
    return min(max(b.number(name, value), 0), 256)


def sometimes(
    cls: str,
    op: str,
    attribute: str = "",
    value: Callable[[Builder, str, Any], float] = Builder.number,
    torch_s: bool = False,
    moves: bool = False,
) -> None:
    """Registers a function of Pillow's, or the same on bytes, that is done with
    the probability p. attribute: of the transform, beside p, and what is made
    of its value. torch_s: on bytes it has an arithmetic of torch's. moves: it
    only moves pixels, of any type."""

    @reads("v1 v2", cls, f"{attribute} p")
    def read(b: Builder, t: Any) -> None:
        how = {} if moves else arithmetic(b)
        b.draws()
        arguments: Dict[str, Any] = {"p": b.number("p", t.p)}
        if attribute:
            arguments[attribute] = value(b, attribute, getattr(t, attribute))
        b.add(op, **arguments, **(how if torch_s else {}))


sometimes("RandomHorizontalFlip", "horizontal_flip", moves=True)
sometimes("RandomVerticalFlip", "vertical_flip", moves=True)
sometimes("RandomGrayscale", "random_grayscale", torch_s=True)
sometimes("RandomInvert", "random_invert")
sometimes("RandomAutocontrast", "random_autocontrast", torch_s=True)
sometimes("RandomEqualize", "random_equalize")
sometimes("RandomPosterize", "random_posterize", "bits", whole_bits)
sometimes("RandomSolarize", "random_solarize", "threshold", of_bytes)
sometimes(
    "RandomAdjustSharpness",
    "random_adjust_sharpness",
    "sharpness_factor",
    torch_s=True,
)


# ---- Blur -------------------------------------------------------------------

_KERNEL, _SIGMA = 255, (0.01, 1000)  # its largest, and its range


@reads("v1 v2", "GaussianBlur", "kernel_size sigma")
def gaussian_blur(b: Builder, t: Any) -> None:
    """On tensors of bytes it is what it is on images."""
    if b.stage > Stage.BYTES:
        b.fail(PILLOW_FIRST)
    b.draws()
    width, height = b.integers("kernel_size", t.kernel_size)
    if max(width, height) > _KERNEL:
        b.fail(f"kernel_size={t.kernel_size!r}; the engine has up to {_KERNEL}")
    if b.size and (b.size[0] <= width // 2 or b.size[1] <= height // 2):
        b.fail(f"images of {b.size[0]}x{b.size[1]} are too small for it")
    sigma = b.pair("sigma", t.sigma)
    if sigma[0] < _SIGMA[0] or sigma[1] > _SIGMA[1]:
        b.fail(f"sigma={t.sigma!r}; the engine has {_SIGMA[0]} to {_SIGMA[1]}")
    b.add("gaussian_blur", kernel_size=(width, height), sigma=sigma)


# ---- Tensors ----------------------------------------------------------------


def to_tensor_from_image(b: Builder) -> None:
    """ToTensor on a Pillow image, of either family."""
    if not float_is_float32():
        b.fail(
            "it gives torch's default floating type, which is not float32; "
            "call torch.set_default_dtype(torch.float32)"
        )
    b.to_unit()


@reads("v1", "ToTensor")
def to_tensor(b: Builder, t: Any) -> None:
    if b.stage != Stage.IMAGE:
        b.fail("it takes images, and this is a tensor already; leave it out")
    to_tensor_from_image(b)


@reads("v1", "PILToTensor")
@reads("timm", "MaybePILToTensor")
def pil_to_tensor(b: Builder, t: Any) -> None:
    if b.stage != Stage.IMAGE:
        b.fail("it takes images, and this is a tensor already; leave it out")
    b.to_bytes()


def to_dtype(b: Builder, dtype: Any, rounding: str = "divide") -> None:
    """Scales a tensor to another type."""
    name = str(dtype)
    if b.stage == Stage.BYTES and name == "torch.float32":
        b.to_unit(rounding)
    elif b.stage == Stage.BYTES and name == "torch.uint8":
        pass
    elif name in ("torch.float16", "torch.bfloat16") and b.stage:
        if b.stage == Stage.BYTES:
            b.to_unit(rounding)
        b.to_half(name.partition(".")[2])
    elif b.stage > Stage.BYTES and name == "torch.float32" and not b.half:
        pass
    elif b.stage == Stage.IMAGE:
        b.fail("it needs a tensor; put PILToTensor() before it")
    else:
        b.fail(
            f"dtype={name} is not supported natively; use torch.float32, "
            "and let the model's autocast do the rest"
        )


@reads("v1", "ConvertImageDtype", "dtype")
def convert_image_dtype(b: Builder, t: Any) -> None:
    to_dtype(b, t.dtype)


@reads("v1 v2", "Normalize", "mean std inplace")
def normalize(b: Builder, t: Any) -> None:
    b.normalize(b.numbers("mean", t.mean), b.numbers("std", t.std))


@reads("v1 v2", "RandomErasing", "p scale ratio value inplace")
def random_erasing(b: Builder, t: Any) -> None:
    b.draws()
    arguments = {
        "p": b.number("p", t.p),
        "scale": b.pair("scale", t.scale),
        "ratio": b.pair("ratio", t.ratio),
    }
    values = erased_values(b, t.value)
    if values is None:
        b.erase(noise=True, **arguments)
    else:
        b.erase(value=values, **arguments)


def erased_values(b: Builder, value: Any) -> Optional[Tuple[float, ...]]:
    """What is written; None: noise."""
    if value is None or isinstance(value, str):
        if b.stage == Stage.BYTES:
            b.fail(
                "value='random' on a tensor of bytes is not defined; put "
                "ToTensor() before it"
            )
        if value not in (None, "random"):
            b.fail(f"value={value!r} is not supported natively")
        return None
    found = b.numbers("value", value)
    if len(found) not in (1, b.channels):
        b.fail(f"value={value!r} for images of {b.channels} channels")
    whole = all(v == int(v) and 0 <= v <= 255 for v in found)
    if b.stage == Stage.BYTES and not whole:
        b.fail(f"value={value!r} on a tensor of bytes; use 0 to 255")
    return found


# ---- v2 alone ---------------------------------------------------------------
#
# v2 dispatches on the type of its input and passes on what a transform is not
# for: ToDtype leaves a Pillow image alone, and PILToTensor a tensor.


@reads("v2", "RandomCrop", "size padding pad_if_needed fill padding_mode")
def random_crop_v2(b: Builder, t: Any) -> None:
    if t.padding is None:
        add_random_crop(b, t, (0, 0, 0, 0))
        return
    found = b.integers("padding", t.padding)
    if len(found) != 4 or min(found) < 0:
        b.fail(f"padding={t.padding!r} is not supported natively")
    left, right, top, bottom = found
    add_random_crop(b, t, (left, top, right, bottom))


@reads("v2", "RandomChannelPermutation")
def random_channel_permutation(b: Builder, t: Any) -> None:
    arithmetic(b)
    b.draws()
    b.add("random_channel_permutation")


@reads("v2", "RandomPhotometricDistort", "brightness contrast saturation hue p")
def random_photometric_distort(b: Builder, t: Any) -> None:
    how = arithmetic(b)
    b.draws()
    names = ("brightness", "contrast", "saturation", "hue")
    ranges = {name: b.pair(name, getattr(t, name)) for name in names}
    b.add("random_photometric_distort", p=b.number("p", t.p), **ranges, **how)


@reads("v2", "RGB")
def rgb(b: Builder, t: Any) -> None:
    if b.stage == Stage.IMAGE or b.channels == 1:
        b.to_rgb()


@reads("v2", "ToTensor")
def to_tensor_v2(b: Builder, t: Any) -> None:
    if b.stage == Stage.IMAGE:
        to_tensor_from_image(b)


@reads("v2", "PILToTensor")
@reads("v2", "ToImage")
@reads("v2", "ToImageTensor")
def to_image(b: Builder, t: Any) -> None:
    if type(t).__name__ != "PILToTensor":
        b.tv_tensor = True
    if b.stage == Stage.IMAGE:
        b.to_bytes()


@reads("v2", "ToPureTensor")
def to_pure_tensor(b: Builder, t: Any) -> None:
    b.tv_tensor = b.typed = False


@reads("v2", "ToDtype", "dtype scale")
def to_dtype_v2(b: Builder, t: Any) -> None:
    dtype = b.of_image("dtype", t.dtype)
    if b.stage == Stage.IMAGE or dtype is None:
        return
    if b.stage == Stage.BYTES and not t.scale and str(dtype) != "torch.uint8":
        b.fail("it keeps values of 0 to 255; set scale=True")
    to_dtype(b, dtype, "multiply")


@reads("v2", "ConvertImageDtype", "dtype")
def convert_image_dtype_v2(b: Builder, t: Any) -> None:
    to_dtype(b, t.dtype, "multiply")
