#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenCV 5.0.0, its wheel for x86-64: cv2.resize by INTER_CUBIC is not OpenCV's but that
# of Intel's IPP, which is inside of the wheel. Where IPP is not used (OPENCV_IPP=disabled,
# as here; builds of Debian and conda; ARM), one value in twenty or so is another one, by
# a level. So features, caches and hashes of resized images made on one machine do not
# match those of another with the same version of OpenCV. INTER_LINEAR, AREA and LANCZOS4
# of bytes are the same either way; of float32 INTER_LINEAR is IPP's, too, and nearly no
# value is the same.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages opencv-python-headless==5.0.0.93 numpy==2.4.6

observed <<'PROGRAM'
import os
import subprocess
import sys

MAKE = """
import sys
import cv2
import numpy as np
image = np.random.default_rng(0).integers(0, 256, (375, 500, 3)).astype(np.uint8)
names = "INTER_NEAREST", "INTER_LINEAR", "INTER_CUBIC", "INTER_AREA", "INTER_LANCZOS4"
np.savez(sys.argv[1], **{
    kind + " " + name: cv2.resize(
        image.astype(kind), (224, 224), interpolation=getattr(cv2, name))
    for kind in ("uint8", "float32") for name in names
})
"""
for file, more in ("with.npz", {}), ("without.npz", {"OPENCV_IPP": "disabled"}):
    subprocess.run([sys.executable, "-c", MAKE, file], check=True,
                   stderr=subprocess.DEVNULL, env={**os.environ, **more})

import numpy as np

a, b = np.load("with.npz"), np.load("without.npz")
for name in a:
    apart = np.abs(a[name].astype(float) - b[name])
    print("%-22s %6d of %d values differ, by %.2g at most" % (
        name, (apart > 0).sum(), apart.size, apart.max()))
PROGRAM

expected <<'SEEN'
uint8 INTER_NEAREST         0 of 150528 values differ, by 0 at most
uint8 INTER_LINEAR          0 of 150528 values differ, by 0 at most
uint8 INTER_CUBIC        6452 of 150528 values differ, by 1 at most
uint8 INTER_AREA            0 of 150528 values differ, by 0 at most
uint8 INTER_LANCZOS4        0 of 150528 values differ, by 0 at most
float32 INTER_NEAREST       0 of 150528 values differ, by 0 at most
float32 INTER_LINEAR   145224 of 150528 values differ, by 0.0051 at most
float32 INTER_CUBIC    146778 of 150528 values differ, by 0.0061 at most
float32 INTER_AREA          0 of 150528 values differ, by 0 at most
float32 INTER_LANCZOS4      0 of 150528 values differ, by 0 at most
SEEN
