#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenCV 5.0.0: cv2.imread of a file and cv2.imdecode of that file's bytes give two
# different images, with every flag, where the file is an animated PNG whose still
# image is no part of the animation, as the format permits: imread gives the still
# image, as Pillow does, imdecode the first frame of the animation. So a data set
# changes when its files are packed into shards, or read ahead into memory.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages opencv-python-headless==5.0.0.93 pillow==13.0.0 numpy==2.4.6

observed <<'PROGRAM'
import cv2
import numpy as np
from PIL import Image

still, *frames = (Image.new("RGB", (8, 8), color) for color in ("red", "lime", "blue"))
still.save("a.png", save_all=True, append_images=frames, default_image=True)
still.save("b.png", save_all=True, append_images=frames)
still.save("c.png")
NAMES = {(255, 0, 0): "the still image", (0, 255, 0): "the animation's first frame"}


def name_of(bgr):
    return NAMES[tuple(int(x) for x in bgr[0, 0, 2::-1])]


for file, what in (("a.png", "animated, still image apart"),
                   ("b.png", "animated, still image first"), ("c.png", "not animated")):
    data = np.fromfile(file, np.uint8)
    print("%s (%s)" % (file, what))
    print("    Pillow                         %s" % NAMES[
        Image.open(file).convert("RGB").getpixel((0, 0))])
    for flag in "IMREAD_COLOR", "IMREAD_UNCHANGED":
        number = getattr(cv2, flag)
        print("    cv2.imread,   %-16s %s" % (flag, name_of(cv2.imread(file, number))))
        print("    cv2.imdecode, %-16s %s" % (flag, name_of(cv2.imdecode(data, number))))
PROGRAM

expected <<'SEEN'
a.png (animated, still image apart)
    Pillow                         the still image
    cv2.imread,   IMREAD_COLOR     the still image
    cv2.imdecode, IMREAD_COLOR     the animation's first frame
    cv2.imread,   IMREAD_UNCHANGED the still image
    cv2.imdecode, IMREAD_UNCHANGED the animation's first frame
b.png (animated, still image first)
    Pillow                         the still image
    cv2.imread,   IMREAD_COLOR     the still image
    cv2.imdecode, IMREAD_COLOR     the still image
    cv2.imread,   IMREAD_UNCHANGED the still image
    cv2.imdecode, IMREAD_UNCHANGED the still image
c.png (not animated)
    Pillow                         the still image
    cv2.imread,   IMREAD_COLOR     the still image
    cv2.imdecode, IMREAD_COLOR     the still image
    cv2.imread,   IMREAD_UNCHANGED the still image
    cv2.imdecode, IMREAD_UNCHANGED the still image
SEEN
