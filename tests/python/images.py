# SPDX-License-Identifier: Apache-2.0
"""Small images for the tests, the same at every run.

Smooth pictures with some noise, as photos are: their JPEGs have what decoders
find in real ones. Needs Pillow; a test that cannot have it is skipped.
"""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any, List, Tuple, Union

import pytest

Image = pytest.importorskip("PIL.Image", reason="no Pillow to make images")


def picture(size: Tuple[int, int], seed: int = 0, mode: str = "RGB") -> Any:
    """A PIL image of size (width, height); mode: "RGB", "L", "RGBA"."""
    rng = random.Random(seed)
    channels = len(mode)
    small = (max(2, size[0] // 8), max(2, size[1] // 8))
    n_bytes = small[0] * small[1] * channels
    noise = bytes(rng.randrange(256) for _ in range(n_bytes))
    return Image.frombytes(mode, small, noise).resize(size, Image.BICUBIC)


def encoded(
    size: Tuple[int, int] = (64, 48),
    seed: int = 0,
    kind: str = "JPEG",
    mode: str = "RGB",
) -> bytes:
    """The bytes of an image file; kind: "JPEG", "PNG", "WEBP"."""
    out = io.BytesIO()
    picture(size, seed, mode).save(out, kind)
    return out.getvalue()


def decoded(data: bytes) -> Any:
    """What Pillow makes of it: RGB, [H, W, 3] of uint8 (numpy)."""
    numpy = pytest.importorskip("numpy")
    with Image.open(io.BytesIO(data)) as found:
        return numpy.asarray(found.convert("RGB")).copy()


def make_folder(
    root: Union[str, Path],
    classes: int = 3,
    per_class: int = 8,
    size: Union[Tuple[int, int], None] = (64, 48),
    seed: int = 0,
    damaged: int = 0,
    gray: bool = False,
    png: bool = False,
) -> Path:
    """A folder per class ("class_0", ...), as ImageFolder reads it.

    size: (width, height) in pixels, or None for sizes of their own between 64
    and 160 a side. damaged: how many files end in the middle, the first ones of
    the last class. gray, png: every third file is gray; every fourth a PNG.
    """
    root = Path(root)
    number = 0
    for label in range(classes):
        folder = root / ("class_%d" % label)
        folder.mkdir(parents=True)
        for i in range(per_class):
            kind = "PNG" if png and i % 4 == 3 else "JPEG"
            mode = "L" if gray and i % 3 == 2 else "RGB"
            data = encoded(_size(size, seed, number), seed + number, kind, mode)
            if label == classes - 1 and i < damaged:
                data = data[: len(data) // 3]
            suffix = "png" if kind == "PNG" else "jpg"
            (folder / ("image_%03d.%s" % (i, suffix))).write_bytes(data)
            number += 1
    return root


def _size(
    size: Union[Tuple[int, int], None], seed: int, number: int
) -> Tuple[int, int]:
    if size is not None:
        return size
    rng = random.Random(seed * 100003 + number)
    return rng.randrange(64, 161), rng.randrange(64, 161)


def paths_of(root: Union[str, Path]) -> List[str]:
    """The files of such a folder in the order of their positions."""
    return sorted(str(p) for p in Path(root).glob("*/*") if p.is_file())
