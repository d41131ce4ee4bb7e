#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pillow 13.0.0: Image.resize(size, filter, box) with the size that the image has, and
# a box that is all of it. With a tuple (0, 0, w, h) the image is copied. With a list
# [0, 0, w, h], as a box from JSON or from an array's tolist() is one, the comparison
# with the whole never holds: an image with alpha is multiplied by it and divided
# again, so colours change where it is nearly transparent, and are gone where it is
# transparent. A crop that happens to be the whole image is another image than the
# file, for one of two ways to write the same box.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages pillow==13.0.0 numpy==2.4.6

observed <<'PROGRAM'
import numpy
from PIL import Image

rng = numpy.random.default_rng(0)
for mode in ("RGB", "RGBA", "LA"):
    channels = len(mode)
    pixels = rng.integers(0, 256, (40, 60, channels), "u1")
    image = Image.fromarray(pixels, mode)
    for box in ((0, 0, 60, 40), [0, 0, 60, 40]):
        out = numpy.asarray(image.resize((60, 40), Image.Resampling.BILINEAR, box))
        far = abs(out.astype(int) - pixels).reshape(40, 60, channels)
        print("%-4s %-5s %4d of %d pixels differ, by %3d at most" % (
            mode, type(box).__name__, (far.max(2) > 0).sum(), 40 * 60, far.max()))
PROGRAM

expected <<'SEEN'
RGB  tuple    0 of 2400 pixels differ, by   0 at most
RGB  list     0 of 2400 pixels differ, by   0 at most
RGBA tuple    0 of 2400 pixels differ, by   0 at most
RGBA list  2190 of 2400 pixels differ, by 244 at most
LA   tuple    0 of 2400 pixels differ, by   0 at most
LA   list  1523 of 2400 pixels differ, by 232 at most
SEEN
