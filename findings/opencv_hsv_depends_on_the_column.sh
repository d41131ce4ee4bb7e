#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenCV 5.0.0 (and 4.10.0), x86-64: cvtColor from HSV to RGB or BGR of uint8 makes two
# colours of one. Columns are done 32 at a time and truncated; those that are left over
# at the right, where the width is no multiple of 32, are rounded. Seven colours of ten
# are a level brighter there. So hue and saturation jitter by OpenCV (albumentations,
# YOLO's and MMDetection's) leaves a seam that says how wide an image was, flipping
# before it is not flipping behind it, and a crop before it has other pixels than the
# same crop behind it: a batch of 224 x 224 has none of it, one of 300 x 300 has.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages opencv-python-headless==5.0.0.93 numpy==2.4.6

observed <<'PROGRAM'
import cv2
import numpy as np

colors = np.random.default_rng(0).integers(0, [180, 256, 256], (1000, 3)).astype(np.uint8)
for width in 32, 33, 40, 64, 100, 224, 300:
    rows = np.repeat(colors[:, None], width, axis=1)  # one colour a row
    made = cv2.cvtColor(rows, cv2.COLOR_HSV2RGB).astype(int)
    apart = made - made[:, :1]
    columns = np.flatnonzero(apart.any(axis=(0, 2)))
    print("width %3d: %d of 1000 rows have two colours, %s apart, columns %s" % (
        width, apart.any(axis=(1, 2)).sum(), np.abs(apart).max(),
        "%d to %d" % (columns[0], columns[-1]) if len(columns) else "none"))
image = np.random.default_rng(1).integers(0, 180, (64, 100, 3)).astype(np.uint8)
flipped = cv2.cvtColor(image[:, ::-1], cv2.COLOR_HSV2RGB)[:, ::-1]
same = (flipped == cv2.cvtColor(image, cv2.COLOR_HSV2RGB)).all(axis=(0, 2))
print("flip, convert, flip back: other pixels in columns",
      " ".join(map(str, np.flatnonzero(~same))))
PROGRAM

expected <<'SEEN'
width  32: 0 of 1000 rows have two colours, 0 apart, columns none
width  33: 719 of 1000 rows have two colours, 1 apart, columns 32 to 32
width  40: 719 of 1000 rows have two colours, 1 apart, columns 32 to 39
width  64: 0 of 1000 rows have two colours, 0 apart, columns none
width 100: 719 of 1000 rows have two colours, 1 apart, columns 96 to 99
width 224: 0 of 1000 rows have two colours, 0 apart, columns none
width 300: 719 of 1000 rows have two colours, 1 apart, columns 288 to 299
flip, convert, flip back: other pixels in columns 0 1 2 3 96 97 98 99
SEEN
