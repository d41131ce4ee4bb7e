#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data sets of one's own with OpenCV's pixels: feedline beside their loaders.

    bench/opencv_sets_cost.py PHOTOS [--rounds N] [--samples N]
                              [--parts PART ...]

PHOTOS is a folder of images, in any depth, of which the files of a part are
made in a temporary folder. The parts:

segmentation  pairs of a JPEG and a mask as a PNG, 500x375 as PASCAL VOC has
              them, and 1632x1224 (2 megapixels). A sample reads both with
              OpenCV and runs the usual chain of albumentations:
              RandomResizedCrop to 256, flip, ShiftScaleRotate,
              HueSaturationValue, RandomBrightnessContrast, Normalize,
              ToTensorV2. Then where feedline's Python goes: recording a
              sample; and the library's own choosing and drawing, on apply()
              functions that do nothing
mosaic        detection: Ultralytics' own data set and augmentations (640
              pixels, its usual arguments), JPEGs of 640 on the longer side
              with 1 to 14 boxes, beside its own loader without workers, and
              torch's with one
patches       super-resolution: BasicSR's pairs of patches of 256 and 64
              pixels from LMDB, of sub-images of 480x480 and their quarter, as
              PNG (compression 3) and as JPEG (quality 95)

On one core: feedline with one worker, the others with 0 and more, one epoch
each in turn, --rounds times. Printed are microseconds of CPU a sample, workers
included (the least of all rounds: what other processes do only adds to it),
images/s by the clock (medians), and for each round feedline's images/s over the
best of the others'. mosaic needs ultralytics, patches needs lmdb.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
warnings.filterwarnings("ignore", category=UserWarning)
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE / "peers")]
sys.path.append(str(HERE.parent / "tests" / "python"))

import cv2
import numpy as np
import torch
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


def compare(loaders, rounds):
    found = in_turn(loaders, rounds)
    print_table(found)
    theirs = [name for name in found if name != "feedline"]
    print_held_against(found, "feedline", theirs, "the others' best")


def torch_loaders(dataset, workers, **common):
    """Of dataset(), which is another one for each."""
    found = {
        "feedline": feedline.torch.DataLoader(
            dataset(), num_workers=1, persistent_workers=True, **common
        )
    }
    for n in workers:
        found["torch, %d" % n] = torch.utils.data.DataLoader(
            dataset(), num_workers=n, persistent_workers=n > 0, **common
        )
    return found


def photos_in(folder):
    return sorted(p for p in Path(folder).rglob("*.*") if p.is_file())


# ---- Segmentation -----------------------------------------------------------

SIZES = {"500x375": (500, 375), "1632x1224": (1632, 1224)}


def make_pairs(photos, folder, size, n):
    files = photos_in(photos)
    for i in range(n):
        image = Image.open(files[i % len(files)]).convert("RGB")
        image = image.resize(size, Image.BICUBIC)
        image.save("%s/%04d.jpg" % (folder, i), quality=90)
        small = image.convert("L").resize((size[0] // 16, size[1] // 16))
        classes = np.array(small.resize(size, Image.BICUBIC)) // 50
        Image.fromarray(classes).save("%s/%04d.png" % (folder, i))


def chain():
    import albumentations as A
    from albumentations.pytorch import ToTensorV2

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


def parts_of_python(folder):
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


def segmentation(photos, rounds, samples):
    for name, size in SIZES.items():
        n = samples if size[0] < 1000 else samples // 4
        with tempfile.TemporaryDirectory() as folder:
            make_pairs(photos, folder, size, n)
            print("segmentation, %s, %d pairs:" % (name, n))
            loaders = torch_loaders(
                lambda: Pairs(folder), (0, 1, 2), batch_size=32, shuffle=True
            )
            compare(loaders, rounds)
            parts_of_python(folder)


# ---- Detection with mosaic --------------------------------------------------

LONGER_SIDE, MOSAIC_BATCH = 640, 16


def make_boxes(photos, folder, n):
    files, draw = photos_in(photos), random.Random(5)
    images, labels = Path(folder, "images"), Path(folder, "labels")
    images.mkdir()
    labels.mkdir()
    for i in range(n):
        image = Image.open(files[i % len(files)]).convert("RGB")
        scale = LONGER_SIDE / max(image.size)
        size = [max(1, round(side * scale)) for side in image.size]
        image = image.resize(size, Image.BICUBIC)
        image.save(images / ("%04d.jpg" % i), quality=92)
        boxes = [any_box(draw) for _ in range(draw.randint(1, 14))]
        text = "".join("%d %f %f %f %f\n" % box for box in boxes)
        (labels / ("%04d.txt" % i)).write_text(text, encoding="ascii")


def any_box(draw):
    w, h = draw.uniform(0.05, 0.5), draw.uniform(0.05, 0.5)
    x, y = (draw.uniform(side / 2, 1 - side / 2) for side in (w, h))
    return draw.randrange(20), x, y, w, h


def of_ultralytics(folder):
    """Its data set, made anew at each call, and what makes its loader."""
    os.environ.setdefault("YOLO_CONFIG_DIR", folder)
    # It would add eight transforms of albumentations, of 1 % each.
    sys.modules["albumentations"] = None
    from ultralytics.cfg import get_cfg
    from ultralytics.data.build import build_dataloader, build_yolo_dataset
    from ultralytics.utils import LOGGER

    LOGGER.setLevel("ERROR")  # it prints what it scans
    data = {"names": {i: str(i) for i in range(20)}, "nc": 20, "channels": 3}
    images = str(Path(folder, "images"))

    def dataset():
        cfg = get_cfg()
        return build_yolo_dataset(cfg, images, MOSAIC_BATCH, data, mode="train")

    return dataset, build_dataloader


def mosaic(photos, rounds, samples):
    with tempfile.TemporaryDirectory() as folder:
        make_boxes(photos, folder, samples)
        dataset, build_dataloader = of_ultralytics(folder)
        ours = dataset()
        loaders = {
            "feedline": feedline.torch.DataLoader(
                ours,
                MOSAIC_BATCH,
                shuffle=True,
                num_workers=1,
                persistent_workers=True,
                draws="torch",
                collate_fn=ours.collate_fn,
            )
        }
        loaders["its own"] = build_dataloader(dataset(), MOSAIC_BATCH, 0)
        # Its own with workers never ends an epoch: they work in others' turns.
        theirs = dataset()
        loaders["torch, 1"] = torch.utils.data.DataLoader(
            theirs,
            MOSAIC_BATCH,
            shuffle=True,
            num_workers=1,
            persistent_workers=True,
            collate_fn=theirs.collate_fn,
        )
        print("mosaic, %d images:" % samples)
        compare(loaders, rounds)


# ---- Patches from LMDB ------------------------------------------------------

SUB_IMAGE, SCALE, PATCH = 480, 4, 256
CODINGS = {
    "PNG": (".png", [cv2.IMWRITE_PNG_COMPRESSION, 3]),
    "JPEG": (".jpg", [cv2.IMWRITE_JPEG_QUALITY, 95]),
}


def sub_images(photos):
    """Cut of the photos that are large enough, as often as is asked for."""
    while True:
        n = 0
        for file in photos_in(photos):
            image = cv2.imread(str(file))
            if image is None:
                continue
            ends = [side - SUB_IMAGE + 1 for side in image.shape[:2]]
            for y in range(0, ends[0], SUB_IMAGE // 2):
                for x in range(0, ends[1], SUB_IMAGE // 2):
                    n += 1
                    yield image[y : y + SUB_IMAGE, x : x + SUB_IMAGE]
        if n == 0:
            sys.exit("no photo has %d pixels on both sides" % SUB_IMAGE)


def make_patches(photos, folder, coding, n):
    """The two databases."""
    from programs.opencv.patches_from_lmdb import store

    ending, how = CODINGS[coding]
    side = SUB_IMAGE // SCALE
    names = ([], [])
    for i, sharp in zip(range(n), sub_images(photos)):
        small = cv2.resize(sharp, (side, side), interpolation=cv2.INTER_AREA)
        for which, image in enumerate((sharp, small)):
            names[which].append("%s/%d_%04d%s" % (folder, which, i, ending))
            cv2.imwrite(names[which][-1], image, how)
    return [
        store(Path(folder, "%d.lmdb" % which), files)
        for which, files in enumerate(names)
    ]


def patches(photos, rounds, samples):
    from programs.opencv.patches_from_lmdb import Patches

    for coding in CODINGS:
        with tempfile.TemporaryDirectory() as folder:
            bases = make_patches(photos, folder, coding, samples)
            print("patches, %s, %d pairs:" % (coding, samples))
            loaders = torch_loaders(
                lambda: Patches(*bases, samples, PATCH),
                (0, 1, 2),
                batch_size=16,
                shuffle=True,
            )
            compare(loaders, rounds)


PARTS = {"segmentation": segmentation, "mosaic": mosaic, "patches": patches}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=320)
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS)
    )
    arguments = parser.parse_args()
    pin(1)
    cv2.setNumThreads(0)
    for name in arguments.parts:
        PARTS[name](arguments.photos, arguments.rounds, arguments.samples)


if __name__ == "__main__":
    main()
