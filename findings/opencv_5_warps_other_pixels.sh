#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenCV 4.10.0 and 5.0.0: warpAffine and warpPerspective of the same uint8 image with
# the same matrix make different images. 4.x looks up places on a grid of 1/32 pixel
# (a shift of 1/100 pixel is none at all), 5.0 computes them. In an image with fine
# structure every twelfth pixel or so is another one. So rotated and scaled training
# images change when pip installs the new version, and test-time augmentation no longer
# repeats what a paper's numbers were made with; nothing warns, and resize, blur and
# cvtColor are the same in both.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages opencv-python-headless==5.0.0.93 numpy==2.4.6

observed <<'PROGRAM'
import subprocess
import sys

IMAGES = """
import sys
if len(sys.argv) > 2:
    sys.path.insert(0, sys.argv[2])
import cv2
import numpy as np
y, x = np.mgrid[0:256, 0:256]
image = np.stack([(3 * x + y) % 256, x * y // 256 % 256, (x + 2 * y) % 256], 2)
image = image.astype(np.uint8)
edge = np.zeros((32, 32), np.uint8)
edge[:, 16:] = 255
turn = cv2.getRotationMatrix2D((128, 128), 17, 1.1)
tilt = np.array([[1.02, 0.03, -4], [0.01, 0.98, 3], [1e-4, -5e-5, 1]])
made = {
    "warpAffine": cv2.warpAffine(image, turn, (256, 256)),
    "warpPerspective": cv2.warpPerspective(image, tilt, (256, 256)),
    "resize": cv2.resize(image, (100, 77)),
    "GaussianBlur": cv2.GaussianBlur(image, (5, 5), 1.5),
    "cvtColor to HSV": cv2.cvtColor(image, cv2.COLOR_BGR2HSV),
    "version": np.array(cv2.__version__),
}
for n in (1, 2, 4, 5):
    shift = np.array([[1, 0, n / 100], [0, 1, 0]])
    made["shift by %d/100 pixel" % n] = cv2.warpAffine(edge, shift, (32, 32))[16]
np.savez(sys.argv[1], **made)
"""
subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                "--disable-pip-version-check", "--target", "old",
                "opencv-python-headless==4.10.0.84"], check=True)
subprocess.run([sys.executable, "-c", IMAGES, "new.npz"], check=True)
subprocess.run([sys.executable, "-c", IMAGES, "old.npz", "old"], check=True)

import numpy as np

old, new = np.load("old.npz"), np.load("new.npz")
print(old["version"], "and", new["version"])
for name in old:
    if name == "version":
        continue
    if name.startswith("shift"):
        print("%s: behind an edge %d and %d" % (name, old[name][16], new[name][16]))
        continue
    apart = np.abs(old[name].astype(int) - new[name]).max(axis=-1)
    print("%s: %.1f %% of the pixels differ, by %d at most" % (
        name, 100 * (apart > 0).mean(), apart.max()))
PROGRAM

expected <<'SEEN'
4.10.0 and 5.0.0
warpAffine: 7.6 % of the pixels differ, by 7 at most
warpPerspective: 8.3 % of the pixels differ, by 7 at most
resize: 0.0 % of the pixels differ, by 0 at most
GaussianBlur: 0.0 % of the pixels differ, by 0 at most
cvtColor to HSV: 0.0 % of the pixels differ, by 0 at most
shift by 1/100 pixel: behind an edge 255 and 252
shift by 2/100 pixel: behind an edge 247 and 250
shift by 4/100 pixel: behind an edge 247 and 245
shift by 5/100 pixel: behind an edge 239 and 242
SEEN
