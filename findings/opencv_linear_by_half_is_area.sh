#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenCV 5.0.0 (and 4.10.0): cv2.resize by INTER_LINEAR does not smooth what it shrinks,
# except where both sides become exactly half: then it is INTER_AREA, without a word. So
# a data set of photos of many sizes, resized to one, has a few images in it that are
# smooth while all others alias, and a model that is tested on 2x images sees another
# kind of picture than at 1.99x.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages opencv-python-headless==5.0.0.93 numpy==2.4.6

observed <<'PROGRAM'
import cv2
import numpy as np

noise = np.random.default_rng(0).integers(0, 256, (448, 448, 3)).astype(np.uint8)
for width, height in (448, 448), (224, 224), (223, 224), (225, 225), (112, 112), (224, 448):
    linear = cv2.resize(noise, (width, height), interpolation=cv2.INTER_LINEAR)
    area = cv2.resize(noise, (width, height), interpolation=cv2.INTER_AREA)
    print("448x448 to %3dx%3d: standard deviation %2.0f, by INTER_AREA %2.0f%s" % (
        width, height, linear.std(), area.std(),
        ", the same image" if np.array_equal(linear, area) else ""))
PROGRAM

expected <<'SEEN'
448x448 to 448x448: standard deviation 74, by INTER_AREA 74, the same image
448x448 to 224x224: standard deviation 37, by INTER_AREA 37, the same image
448x448 to 223x224: standard deviation 43, by INTER_AREA 34
448x448 to 225x225: standard deviation 49, by INTER_AREA 31
448x448 to 112x112: standard deviation 37, by INTER_AREA 18
448x448 to 224x448: standard deviation 52, by INTER_AREA 52
SEEN
