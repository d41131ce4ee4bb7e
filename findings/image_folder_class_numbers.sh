#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# timm 1.0.31 and datasets 5.2.0 number the classes of a folder of images in another
# way than torchvision 0.29.2's ImageFolder, so a model that was trained with one and is
# evaluated with another is scored on permuted labels:
# - timm sorts as people do, 1 2 10 and without regard to case; the others sort the
#   characters, 1 10 2 and capitals first.
# - With folders in folders torchvision's class is the outer folder, timm's and
#   datasets' the innermost: cats/young and dogs/young are one class, young.
# - timm leaves out WebP and BMP without a word, datasets hidden files (to the others
#   the ._a.jpg that macOS leaves behind is an image).
# - With one class datasets gives no label at all.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 torchvision==0.29.2 timm==1.0.31 datasets==5.2.0 pillow==13.0.0

observed <<'PROGRAM'
import logging
import os

import datasets
import timm.data
from PIL import Image
from torchvision.datasets import ImageFolder

logging.disable(logging.WARNING)
datasets.disable_progress_bars()
FOLDERS = {
    "numbers": ["1/a.jpg", "2/a.jpg", "10/a.jpg"],
    "case": ["Zebra/a.jpg", "ant/a.jpg", "cat/a.jpg"],
    "nested": ["cats/old/a.jpg", "cats/young/a.jpg", "dogs/old/a.jpg",
               "dogs/young/a.jpg"],
    "types": ["x/a.jpg", "x/b.webp", "x/c.bmp", "y/._a.jpg", "y/d.jpg"],
    "one_class": ["x/a.jpg", "x/b.jpg"],
}


def with_torchvision(root):
    return ImageFolder(root).samples


def with_timm(root):
    data = timm.data.create_dataset("", root)
    return [(data.filename(i, absolute=True), data.reader.samples[i][1])
            for i in range(len(data))]


def with_datasets(root):
    data = datasets.load_dataset("imagefolder", data_dir=root, split="train",
                                 cache_dir="cache")
    data = data.cast_column("image", datasets.Image(decode=False))
    return [(row["image"]["path"], row.get("label")) for row in data]


for name, files in FOLDERS.items():
    for file in files:
        os.makedirs(os.path.dirname(os.path.join(name, file)), exist_ok=True)
        Image.new("RGB", (8, 8)).save(os.path.join(name, file))
    print(name)
    for read in with_torchvision, with_timm, with_datasets:
        label = {os.path.relpath(path, os.path.abspath(name)): number
                 for path, number in read(os.path.abspath(name))}
        print("    %-12s %s" % (read.__name__[5:], "  ".join(
            "%s: %s" % (file, label.get(file, "-")) if file in label
            else "(no %s)" % file for file in files)))
PROGRAM

expected <<'SEEN'
numbers
    torchvision  1/a.jpg: 0  2/a.jpg: 2  10/a.jpg: 1
    timm         1/a.jpg: 0  2/a.jpg: 1  10/a.jpg: 2
    datasets     1/a.jpg: 0  2/a.jpg: 2  10/a.jpg: 1
case
    torchvision  Zebra/a.jpg: 0  ant/a.jpg: 1  cat/a.jpg: 2
    timm         Zebra/a.jpg: 2  ant/a.jpg: 0  cat/a.jpg: 1
    datasets     Zebra/a.jpg: 0  ant/a.jpg: 1  cat/a.jpg: 2
nested
    torchvision  cats/old/a.jpg: 0  cats/young/a.jpg: 0  dogs/old/a.jpg: 1  dogs/young/a.jpg: 1
    timm         cats/old/a.jpg: 0  cats/young/a.jpg: 1  dogs/old/a.jpg: 0  dogs/young/a.jpg: 1
    datasets     cats/old/a.jpg: 0  cats/young/a.jpg: 1  dogs/old/a.jpg: 0  dogs/young/a.jpg: 1
types
    torchvision  x/a.jpg: 0  x/b.webp: 0  x/c.bmp: 0  y/._a.jpg: 1  y/d.jpg: 1
    timm         x/a.jpg: 0  (no x/b.webp)  (no x/c.bmp)  y/._a.jpg: 1  y/d.jpg: 1
    datasets     x/a.jpg: 0  x/b.webp: 0  x/c.bmp: 0  (no y/._a.jpg)  y/d.jpg: 1
one_class
    torchvision  x/a.jpg: 0  x/b.jpg: 0
    timm         x/a.jpg: 0  x/b.jpg: 0
    datasets     x/a.jpg: None  x/b.jpg: None
SEEN
