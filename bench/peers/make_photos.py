#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Photos of 12 megapixels out of smaller ones: enlarged, with a camera's noise.

    bench/peers/make_photos.py FOLDER OUT [COUNT]    24

FOLDER has a folder of images per class. Enlarged pixels alone would be smooth,
and their coefficients all zero; with noise of two levels and quality 90 a file
has 2 to 4 MB, as those of a camera. The same files each time.
"""
import os
import sys

import numpy as np
from PIL import Image

import peer

WIDTH, HEIGHT = 4000, 3000
NOISE, QUALITY = 2.0, 90
CLASSES = 4


def enlarge(path, draw):
    with Image.open(path) as image:
        large = image.convert("RGB").resize((WIDTH, HEIGHT), Image.BICUBIC)
    noise = draw.standard_normal((HEIGHT, WIDTH, 1), np.float32) * NOISE
    pixels = np.asarray(large, np.float32) + noise
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    folder, out = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) == 4 else 24
    files = peer.list_images(folder)[0]
    draw = np.random.default_rng(0)
    for i in range(count):
        target = os.path.join(out, "class%d" % (i % CLASSES))
        os.makedirs(target, exist_ok=True)
        enlarge(files[i * len(files) // count], draw).save(
            os.path.join(target, "%03d.jpg" % i), quality=QUALITY)


if __name__ == "__main__":
    main()
