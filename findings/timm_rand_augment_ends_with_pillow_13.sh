#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# timm 1.0.31 with Pillow 13.0.0: auto_augment="rand-m9-mstd0.5-inc1", which timm's
# own recipes use, ends training after some hundred images. Its magnitude is drawn
# around 9; where that comes to 10, Posterize is asked for 0 bits, which gave a black
# image up to Pillow 12 and raises a ValueError in 13. It is one image in 600, so a
# short trial passes and the first epoch does not. Who catches the error and goes on
# trains without those samples; who stays with an older Pillow, with black images under
# their labels.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages pillow==13.0.0 timm==1.0.31 numpy==2.4.6

observed <<'PROGRAM'
import collections
import random
import numpy
from PIL import Image
from timm.data.auto_augment import rand_augment_transform

transform = rand_augment_transform("rand-m9-mstd0.5-inc1", {})
image = Image.new("RGB", (32, 32), (200, 100, 50))
random.seed(0)
numpy.random.seed(0)
ended = collections.Counter()
first = None
for i in range(20000):
    try:
        transform(image)
    except ValueError as error:
        ended[str(error)] += 1
        first = first if first is not None else i
print("of 20000 images:", dict(ended))
print("the first one is number", first)
PROGRAM

expected <<'SEEN'
of 20000 images: {'bits must be between or equal to 1 and 8': 31}
the first one is number 218
SEEN
