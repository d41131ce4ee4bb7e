#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenCV 5.0.0, x86-64: the same wheel makes other pixels on a processor without AVX2,
# and after cv2.setUseOptimized(False), which shows it here: vectors of AVX2 fuse
# products and sums, other code rounds twice. HSV to RGB has another level in one value
# of a hundred, brightness and contrast by convertScaleAbs in one of 270, warps, HLS,
# filter2D and sepFilter2D in a few of a million. So hashes of augmented images, or
# a validation set that was made on one machine, are not what another one makes.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages opencv-python-headless==5.0.0.93 numpy==2.4.6

observed <<'PROGRAM'
import sys

import cv2
import numpy as np

if not cv2.checkHardwareSupport(11):
    sys.exit("this processor has no AVX2")
image = np.random.default_rng(0).integers(0, 256, (375, 500, 3)).astype(np.uint8)
image = cv2.GaussianBlur(image, (9, 9), 2)
turn = cv2.getRotationMatrix2D((250, 187), 20, 1.1)
kernel = cv2.getGaussianKernel(9, 1.7, cv2.CV_32F)
steps = {
    "HSV to RGB": lambda: cv2.cvtColor(image, cv2.COLOR_HSV2RGB),
    "warpAffine, linear": lambda: cv2.warpAffine(image, turn, (500, 375)),
    "convertScaleAbs": lambda: cv2.convertScaleAbs(image, alpha=1.3, beta=-7.7),
    "sepFilter2D": lambda: cv2.sepFilter2D(image, -1, kernel, kernel),
    "RGB to HSV": lambda: cv2.cvtColor(image, cv2.COLOR_RGB2HSV),
    "resize, linear": lambda: cv2.resize(image, (300, 224)),
    "GaussianBlur": lambda: cv2.GaussianBlur(image, (5, 5), 1.3),
}
for name, step in steps.items():
    made = []
    for optimized in True, False:
        cv2.setUseOptimized(optimized)
        made.append(step().astype(int))
    apart = np.abs(made[0] - made[1])
    print("%s: %.3f %% of the values, by up to %d" % (
        name, 100 * (apart > 0).mean(), apart.max()))
PROGRAM

expected <<'SEEN'
HSV to RGB: 1.059 % of the values, by up to 1
warpAffine, linear: 0.002 % of the values, by up to 1
convertScaleAbs: 0.370 % of the values, by up to 1
sepFilter2D: 0.001 % of the values, by up to 1
RGB to HSV: 0.000 % of the values, by up to 0
resize, linear: 0.000 % of the values, by up to 0
GaussianBlur: 0.000 % of the values, by up to 0
SEEN
