#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""albumentations in a data set of one's own: feedline beside torch's workers.

    bench/albumentations_cost.py PHOTOS [--rounds N] [--samples N]

PHOTOS is a folder of images, in any depth. Of these pairs are made in a
temporary folder, a JPEG and a mask as a PNG: 500x375 as PASCAL VOC has them,
and 1632x1224 (2 megapixels). A sample reads both with OpenCV and runs the usual
chain of a segmentation: RandomResizedCrop to 256, flip, ShiftScaleRotate,
HueSaturationValue, RandomBrightnessContrast, Normalize, ToTensorV2.

On one core: feedline with one worker, torch with 0, 1 and 2, one epoch each in
turn, --rounds times. Printed are microseconds of CPU a sample, workers included
(the least of all rounds: what other processes do only adds to it), images/s by
the clock (medians), and for each round feedline's images/s over the best of
torch's. Then where feedline's Python goes: recording a sample; and the
library's own choosing and drawing, on apply() functions that do nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
warnings.filterwarnings("ignore", category=UserWarning)
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE / "peers")]

import albumentations as A
import cv2
import numpy as np
import torch
from albumentations.pytorch import ToTensorV2
from PIL import Image
from turns_of_loaders import (
    in_turn,
    least_us,
    pin,
    print_held_against,
    print_table,
)

import feedline.torch
from feedline.deferred import Recorder

SIZES = {"500x375": (500, 375), "1632x1224": (1632, 1224)}


def make_pairs(photos, folder, size, n):
    files = sorted(p for p in Path(photos).rglob("*.*") if p.is_file())
    for i in range(n):
        image = Image.open(files[i % len(files)]).convert("RGB")
        image = image.resize(size, Image.BICUBIC)
        image.save("%s/%04d.jpg" % (folder, i), quality=90)
        small = image.convert("L").resize((size[0] // 16, size[1] // 16))
        classes = np.array(small.resize(size, Image.BICUBIC)) // 50
        Image.fromarray(classes).save("%s/%04d.png" % (folder, i))


def chain():
    return A.Compose(
        [
            A.RandomResizedCrop((256, 256)),
            A.HorizontalFlip(),
            A.ShiftScaleRotate(),
            A.HueSaturationValue(),
            A.RandomBrightnessContrast(),
            A.Normalize(),
            ToTensorV2(),
        ],
        seed=4,
    )


class Pairs(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.files = sorted(map(str, Path(folder).glob("*.jpg")))
        self.chain = chain()

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        file = self.files[index]
        image = cv2.cvtColor(cv2.imread(file), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(file[:-3] + "png", cv2.IMREAD_GRAYSCALE)
        made = self.chain(image=image, mask=mask)
        return made["image"], made["mask"].long()


def loaders(folder):
    common = {"batch_size": 32, "shuffle": True}
    yield "feedline", feedline.torch.DataLoader(
        Pairs(folder), num_workers=1, persistent_workers=True, **common
    )
    for n in (0, 1, 2):
        yield "torch, %d" % n, torch.utils.data.DataLoader(
            Pairs(folder), num_workers=n, persistent_workers=n > 0, **common
        )


def compare(folder, rounds):
    found = in_turn(dict(loaders(folder)), rounds)
    print_table(found)
    theirs = [name for name in found if name != "feedline"]
    print_held_against(found, "feedline", theirs, "torch's best")


def parts(folder):
    data, recorder = Pairs(folder), Recorder()
    recorded = least_us(lambda i: recorder.run(data.__getitem__, i), 32)
    size = Image.open(data.files[0]).size[::-1]
    image, mask = np.zeros((*size, 3), np.uint8), np.zeros(size, np.uint8)
    own = chain()
    for transform in own.transforms:
        for key in transform._key2func:
            transform._key2func[key] = lambda array, **params: array
    itself = least_us(lambda i: own(image=image, mask=mask), 256)
    print("recording %.0f us, the library itself %.0f us" % (recorded, itself))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=320)
    arguments = parser.parse_args()
    pin(1)
    cv2.setNumThreads(0)
    for name, size in SIZES.items():
        n = arguments.samples if size[0] < 1000 else arguments.samples // 4
        with tempfile.TemporaryDirectory() as folder:
            make_pairs(arguments.photos, folder, size, n)
            print("%s, %d pairs:" % (name, n))
            compare(folder, arguments.rounds)
            parts(folder)


if __name__ == "__main__":
    main()
