# SPDX-License-Identifier: Apache-2.0
"""A folder of generated JPEG files, for examples that are given no data.

Each class is a colour with noise over it: a network can learn that in a few
steps, and a decoder has something to do. Needs Pillow and numpy.
"""

from __future__ import annotations

from pathlib import Path

import numpy
from PIL import Image

COLOURS = ((200, 60, 60), (60, 180, 60), (60, 80, 200), (190, 180, 50))


def photo(colour: tuple[int, int, int], number: int) -> Image.Image:
    """The number'th picture of a colour, between 160 and 320 pixels a side."""
    random = numpy.random.default_rng((*colour, number))
    width, height = random.integers(160, 320, 2)
    noise = random.normal(0, 40, (height // 8, width // 8, 3))
    blocks = numpy.clip(numpy.asarray(colour) + noise, 0, 255)
    small = Image.fromarray(blocks.astype(numpy.uint8))
    return small.resize((int(width), int(height)), Image.BICUBIC)


def make_folder(folder: str, each: int = 32) -> str:
    """Writes folder/class_0/000.jpg ...: four classes of `each` pictures."""
    for number, colour in enumerate(COLOURS):
        place = Path(folder) / ("class_%d" % number)
        place.mkdir(parents=True, exist_ok=True)
        for i in range(each):
            photo(colour, i).save(place / ("%03d.jpg" % i), quality=90)
    return folder
