# SPDX-License-Identifier: Apache-2.0
"""timm's operations by name: its own, or the same where it is not installed."""
import importlib

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
