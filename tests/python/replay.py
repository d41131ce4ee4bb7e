# SPDX-License-Identifier: Apache-2.0
"""What the engine drew for a sample (Loader.draws), done again by torchvision.

From the original image, transform by transform, with torchvision's functions
and the transforms' own attributes; transforms that draw nothing are called. All
of it has to be equal to the bit.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np

# First, as it skips where there is no torch.
from torch_cases import T, engine_of, epoch_of, torch, v2
import feedline
from feedline.torch.folders import ImageList
from feedline.torch.native import Plan, plan
from images import Image

F = T.functional
Mode = T.InterpolationMode
SEED = 17
EPOCHS = 4  # of 6 images each, so 24 draws a chain
SIZES = [(80, 60), (61, 83), (45, 45), (67, 31), (36, 100), (52, 64)]

# ---- Images -----------------------------------------------------------------


def pixels_of(number: int, width: int, height: int) -> Any:
    """Smooth, noisy, and saturated."""
    rng = np.random.default_rng(number)
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        128 + 120 * np.sin(x / (4 + 3 * c) + y / (9 - c)) for c in (0, 1, 2)
    ]
    pixels = np.stack(waves, -1)
    pixels += rng.normal(0, 15 + 25 * (number % 3), pixels.shape)
    if number == 2:
        pixels = rng.integers(0, 2, pixels.shape) * 255
    return np.clip(pixels, 0, 255).astype(np.uint8)


def make_samples(folder: Path) -> List[Tuple[str, int]]:
    """Files of every kind that the engine reads, of sizes of their own."""
    found = []
    for number, (width, height) in enumerate(SIZES):
        image = Image.fromarray(pixels_of(number, width, height))
        path = folder / f"{number}.{'png' if number == 1 else 'jpg'}"
        if number == 3:
            image = image.convert("L")
        if number == 4:
            image = image.convert("CMYK")
        if number == 1:
            image = image.convert("P")
        image.save(path, **({} if number == 1 else {"quality": 92}))
        found.append((str(path), 10 + number))
    return found


# ---- Transforms -------------------------------------------------------------


def crop_with_border(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    """RandomCrop at a place that is counted from the image without border."""
    height, width = t.size
    padding = [0, 0, 0, 0]
    if t.padding is not None:
        p = t.padding
        if type(t).__module__.startswith("torchvision.transforms.v2"):
            padding = [p[0], p[2], p[1], p[3]]
        else:
            p = [p] if isinstance(p, int) else list(p)
            padding = {1: p * 4, 2: p * 2, 4: p}[len(p)]
    if any(padding):
        image = F.pad(image, padding, t.fill, t.padding_mode)
    left, top = padding[:2]
    if t.pad_if_needed and image.width < width:
        more = width - image.width
        left += more
        image = F.pad(image, [more, 0], t.fill, t.padding_mode)
    if t.pad_if_needed and image.height < height:
        more = height - image.height
        top += more
        image = F.pad(image, [0, more], t.fill, t.padding_mode)
    return F.crop(image, d["y"] + top, d["x"] + left, height, width)


def jitter(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    for name in d["order"]:
        image = getattr(F, "adjust_" + name)(image, d[name])
    return image


def erase(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    if "ops" in d:  # timm's, several and black
        for box in d["ops"]:
            image = F.erase(
                image, box["y"], box["x"], box["height"], box["width"], 0.0
            )
        return image
    if not d["erases"]:
        return image
    value = t.value if isinstance(t.value, (list, tuple)) else [t.value]
    v = torch.tensor([float(one) for one in value])[:, None, None]
    return F.erase(image, d["y"], d["x"], d["height"], d["width"], v)


def certain(key: str) -> Any:
    """A transform that is done or not, as this of what was drawn says."""

    def run(t: Any, image: Any, d: Dict[str, Any]) -> Any:
        t = copy.copy(t)
        t.p = float(d[key])
        return t(image)

    return run


def permute(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    if "permutation" not in d or F.get_image_num_channels(image) == 1:
        return image
    return v2.functional.permute_channels(image, d["permutation"])


def distort(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    return permute(t, jitter(t, image, d), d)


def perspective(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    """With the engine's coefficients: torchvision's least squares may differ in
    the last bit of some."""
    if not d["done"]:
        return image
    filters = Image.Resampling
    mode = filters[mode_of(t).name]
    return F.F_pil.perspective(image, d["coefficients"], mode, t.fill)


def shortest_size(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    t = copy.copy(t)
    t.min_size = [d["min_size"]]
    return t(image)


def random_resize(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    t = copy.copy(t)
    t.min_size, t.max_size = d["size"], d["size"] + 1
    return t(image)


def scale_jitter(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    t = copy.copy(t)
    t.scale_range = d["scale"], d["scale"]
    return t(image)


def zoom_out(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    if not d["done"]:
        return image
    right = d["width"] + d["x"] - image.width
    bottom = d["height"] + d["y"] - image.height
    return F.pad(image, [-d["x"], -d["y"], right, bottom], t.fill)


def keep_ratio(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    high, wide = image.height / t.size[0], image.width / t.size[1]
    ratio = max(high, wide) * t.longest + min(high, wide) * (1 - t.longest)
    size = [
        round(image.height * d["height_factor"] / ratio),
        round(image.width * d["width_factor"] / ratio),
    ]
    drawn = "interpolation" in d
    return F.resize(
        image, size, Mode(d["interpolation"]) if drawn else mode_of(t)
    )


def crop_or_pad(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    from timm.data import transforms

    return transforms.crop_or_pad(
        image, d["y"], d["x"], *t.size, t.fill, t.padding_mode
    )


# Class of a transform: operation that draws for it, what it does.
DRAWN = {
    "RandomResizedCrop": (
        "random_resized_crop",
        lambda t, i, d: F.resized_crop(
            i,
            d["y"],
            d["x"],
            d["height"],
            d["width"],
            t.size,
            Mode(d["interpolation"]) if "interpolation" in d else mode_of(t),
        ),
    ),
    "RandomHorizontalFlip": ("horizontal_flip", certain("flip")),
    "RandomVerticalFlip": ("vertical_flip", certain("flip")),
    "RandomCrop": ("random_crop", crop_with_border),
    "ScaleJitter": ("scale_jitter", scale_jitter),
    "RandomShortestSize": ("random_shortest_size", shortest_size),
    "RandomResize": ("random_resize", random_resize),
    "RandomZoomOut": ("random_zoom_out", zoom_out),
    "ResizeKeepRatio": ("resize_keep_ratio", keep_ratio),
    "RandomCropOrPad": ("random_crop_or_pad", crop_or_pad),
    "RandomRotation": (
        "random_rotation",
        lambda t, i, d: F.rotate(
            i, d["angle"], mode_of(t), center=t.center, fill=t.fill
        ),
    ),
    "RandomAffine": (
        "random_affine",
        lambda t, i, d: F.affine(
            i,
            d["angle"],
            [int(d["translate_x"]), int(d["translate_y"])],
            d["scale"],
            [d["shear_x"], d["shear_y"]],
            mode_of(t),
            t.fill,
            center=t.center,
        ),
    ),
    "RandomPerspective": ("random_perspective", perspective),
    "ColorJitter": ("color_jitter", jitter),
    "RandomGrayscale": ("random_grayscale", certain("gray")),
    "RandomInvert": ("random_invert", certain("done")),
    "RandomPosterize": ("random_posterize", certain("done")),
    "RandomSolarize": ("random_solarize", certain("done")),
    "RandomAutocontrast": ("random_autocontrast", certain("done")),
    "RandomEqualize": ("random_equalize", certain("done")),
    "RandomAdjustSharpness": ("random_adjust_sharpness", certain("done")),
    "RandomChannelPermutation": ("random_channel_permutation", permute),
    "RandomPhotometricDistort": ("random_photometric_distort", distort),
    "RandomErasing": ("random_erasing", erase),
    "GaussianBlur": (  # test_torch_gates.py
        "gaussian_blur",
        lambda t, i, d: F.gaussian_blur(i, t.kernel_size, [d["sigma"]] * 2),
    ),
}
DRAWN["RandomResizedCropAndInterpolation"] = DRAWN["RandomResizedCrop"]
GATES = {
    "RandomApply": "random_apply",
    "RandomChoice": "random_choice",
    "RandomOrder": "random_order",
}


def mode_of(t: Any) -> Any:
    return Mode(getattr(t.interpolation, "value", t.interpolation))


def taken(left: List[Dict[str, Any]], op: str) -> Any:
    """The first that this operation has drawn, which is done with then."""
    found = next((d for d in left if d["op"] == op), None)
    if found is not None:
        left.remove(found)
    return found


def through_gate(t: Any, image: Any, drawn: Dict[str, Any], table: Any) -> Any:
    """One of torchvision's Random... that decide about other transforms."""
    inner = list(drawn["operations"])
    if "done" in drawn:
        for one in t.transforms if drawn["done"] else []:
            image = again(one, image, inner, table)
        return image
    for place in drawn.get("order", [drawn.get("choice")]):
        one, of_it = t.transforms[place], inner.pop(0)
        several = type(one).__name__ == "Compose"
        own = of_it["operations"] if several else [of_it]
        image = again(one, image, own, table)
    return image


def again(
    t: Any, image: Any, left: List[Dict[str, Any]], table: Any = DRAWN
) -> Any:
    """A transform with what was drawn for it, which is taken from `left`."""
    name = type(t).__name__
    if name in GATES:
        return through_gate(t, image, taken(left, GATES[name]), table)
    if hasattr(t, "transforms"):
        for one in t.transforms:
            image = again(one, image, left, table)
        return image
    if name not in table:
        return t(image)
    op, run = table[name]
    drawn = taken(left, op)
    return image if drawn is None else run(t, image, drawn)


def replay(transform: Any, image: Any, drawn: List[Dict[str, Any]]) -> Any:
    left = list(drawn)
    image = again(transform, image, left)
    kinds = {*dict(DRAWN.values()), *GATES.values()}
    assert not [d for d in left if d["op"] in kinds]
    return torch.as_tensor(np.asarray(image))


# ---- The engine -------------------------------------------------------------


def images_of(engine: feedline.Loader, epoch: int, count: int) -> Any:
    return epoch_of(engine, epoch, range(count), SEED)[0]


def open_image(path: str) -> Any:
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


def check(samples: Any, transform: Any, epochs: int = EPOCHS) -> Plan:
    """Every sample of some epochs."""
    found = plan(ImageList(samples, transform))
    engine = engine_of(found)
    for epoch in range(epochs if found.random else 1):
        images = images_of(engine, epoch, len(samples))
        for index, (path, _) in enumerate(samples):
            image = open_image(path)
            drawn = engine.draws(epoch, index, image.width, image.height)
            wanted = replay(transform, image, drawn["operations"])
            compare(images[index], wanted, (path, drawn))
    engine.close()
    return found


def compare(got: Any, wanted: Any, where: Any) -> None:
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, where
    assert torch.equal(got, wanted), where
