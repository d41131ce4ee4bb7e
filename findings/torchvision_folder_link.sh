#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# torchvision 0.29.2: ImageFolder lists each image of a class 41 times if the class's
# folder has a link to itself. `ln -s /data/cat link` leaves one behind when it is run
# twice: the second link lands in the folder. ImageFolder follows it until the kernel
# refuses the path (40 links on Linux), finds the same files at each step, and says
# nothing. So one class of two equal ones becomes 98 % of the epoch, and random_split
# puts every image of it into both halves: the validation is on what was trained with.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 torchvision==0.29.2 pillow==13.0.0

observed <<'PROGRAM'
import collections
import os
import subprocess
import warnings

import torch
from PIL import Image
from torchvision.datasets import ImageFolder

for name in ("cat", "dog"):
    os.makedirs("set/" + name)
    for i in range(10):
        Image.new("RGB", (8, 8), (i, 0, 0)).save("set/%s/%d.png" % (name, i))


def look(what):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        images = ImageFolder("set")
    counts = collections.Counter(images.classes[label] for label in images.targets)
    files = [os.path.realpath(path) for path, _ in images.samples]
    torch.manual_seed(0)
    halves = torch.utils.data.random_split(images, [0.8, 0.2])
    train, test = ({files[i] for i in half.indices} for half in halves)
    print("%-10s %s  in both halves: %d of %d files  warnings: %d"
          % (what, dict(counts), len(train & test), len(set(files)), len(said)))


look("no link")
for _ in range(2):
    subprocess.run(["ln", "-s", os.path.realpath("set/cat"), "link"], check=True)
look("a link")
PROGRAM

expected <<'SEEN'
no link    {'cat': 10, 'dog': 10}  in both halves: 0 of 20 files  warnings: 0
a link     {'cat': 410, 'dog': 10}  in both halves: 10 of 20 files  warnings: 0
SEEN
