# SPDX-License-Identifier: Apache-2.0
"""timm's operations by name: its own, or the same where it is not installed."""
import importlib

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps


def moved(image, matrix, **how):
    return image.transform(image.size, Image.Transform.AFFINE, matrix, **how)


TIMM = {
    "AutoContrast": lambda i, **_: ImageOps.autocontrast(i),
    "Equalize": lambda i, **_: ImageOps.equalize(i),
    "Invert": lambda i, **_: ImageOps.invert(i),
    "Rotate": lambda i, m, **how: i.rotate(m, **how),
    "Posterize":
        lambda i, m, **_: i if m >= 8 else ImageOps.posterize(i, m),
    "Solarize": lambda i, m, **_: ImageOps.solarize(i, m),
    "SolarizeAdd": lambda i, m, **_: i.point(
        [min(255, v + m) if v < 128 else v for v in range(256)]
        * len(i.getbands())),
    "Color": lambda i, m, **_: ImageEnhance.Color(i).enhance(m),
    "Contrast": lambda i, m, **_: ImageEnhance.Contrast(i).enhance(m),
    "Brightness": lambda i, m, **_: ImageEnhance.Brightness(i).enhance(m),
    "Sharpness": lambda i, m, **_: ImageEnhance.Sharpness(i).enhance(m),
    "ShearX": lambda i, m, **how: moved(i, (1, m, 0, 0, 1, 0), **how),
    "ShearY": lambda i, m, **how: moved(i, (1, 0, 0, m, 1, 0), **how),
    "TranslateXRel":
        lambda i, m, **how: moved(i, (1, 0, m * i.width, 0, 1, 0), **how),
    "TranslateYRel":
        lambda i, m, **how: moved(i, (1, 0, 0, 0, 1, m * i.height), **how),
    "Desaturate": lambda i, m, **_: ImageEnhance.Color(i).enhance(1 - m),
    "GaussianBlur":
        lambda i, m, **_: i.filter(ImageFilter.GaussianBlur(radius=m)),
}
try:
    TIMM = importlib.import_module("timm.data.auto_augment").NAME_TO_OP
except ImportError:
    pass


def camel(name):
    """torchvision's and timm's name of what draw_json calls so."""
    if name == "autocontrast":
        return "AutoContrast"
    return name.title().replace("_", "")


def timm_again(image, ops, fill):
    """What timm_augment drew; "mix_in" ends a chain of AugMix."""
    original, mixed = image, None
    for op in ops:
        name, m = op["op"], op.get("magnitude")
        if name == "mix_in":
            added = np.float32(op["weight"]) * np.asarray(image, np.float32)
            mixed = added if mixed is None else mixed + added
            image = original
            continue
        if name in ("posterize", "solarize", "solarize_add"):
            m = int(m)
        if name == "posterize" and m <= 0:  # Pillow 13 raises
            image = image.point(lambda v: 0)
            continue
        filter_ = Image.Resampling[op.get("interpolation", "nearest").upper()]
        image = TIMM[camel(name)](image, *(() if m is None else (m,)),
                                  resample=filter_, fillcolor=fill)
    if mixed is None:
        return image
    mixed = Image.fromarray(np.clip(mixed, 0, 255).astype(np.uint8))
    return Image.blend(original, mixed, ops[-1]["share"])
