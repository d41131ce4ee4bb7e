#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A data set of one's own: feedline beside the native path and torch's loader.

    bench/own_set_cost.py PHOTOS [--rounds N] [--samples N] [--parts PART ...]

PHOTOS is a folder of JPEG files, in any depth. The chain is RandomResizedCrop,
RandomHorizontalFlip, ToTensor, Normalize. Loaders take turns, an epoch each,
--rounds times. The parts:

photos    one core: the files as a list that is native, as a data set of one's
          own with its Compose, with its transforms called one by one, with
          torch's draws, and with a collate_fn of its own; torch with 0 to 2
          workers, and with that collate_fn
masks     one core: an image and its mask (a PNG of full size), cropped and
          flipped alike
fallback  two cores: pixels touched in Python, so that torch's workers load the
          samples behind either loader, with 0, 1 and 2 of them
recording Python alone: what recording a sample takes, whole and one by one
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE / "peers")]

import numpy as np
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image
from turns_of_loaders import (
    in_turn,
    least_us,
    pin,
    print_held_against,
    print_table,
)

import feedline.torch
from feedline.torch.recorded_batch import Batch
from feedline.torch.recorded_draws import SeededDraws
from feedline.torch.recorded_run import RecordedSet

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def chain():
    return T.Compose(
        [
            T.RandomResizedCrop(224),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize(MEAN, STD),
        ]
    )


class Photos(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files, self.chain = files, chain()

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.chain(Image.open(self.files[index]).convert("RGB")), index


class OneByOne(Photos):
    def __getitem__(self, index):
        image = Image.open(self.files[index]).convert("RGB")
        for transform in self.chain.transforms:
            image = transform(image)
        return image, index


class Touched(Photos):
    """What it adds to its pixels is known in Python only."""

    def __getitem__(self, index):
        image = np.array(Image.open(self.files[index]).convert("RGB"))
        image[:8, :8] = image.sum() % 251
        return self.chain(Image.fromarray(image)), index


class Masks(Photos):
    def __getitem__(self, index):
        image = Image.open(self.files[index]).convert("RGB")
        mask = Image.open(self.files[index][:-3] + "png")
        crop = T.RandomResizedCrop.get_params(image, (0.3, 1.0), (0.75, 1.33))
        image = F.resized_crop(image, *crop, [224, 224])
        mask = F.resized_crop(
            mask, *crop, [224, 224], interpolation=T.InterpolationMode.NEAREST
        )
        if torch.rand(1) < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        image = F.normalize(F.to_tensor(image), MEAN, STD)
        return image, F.pil_to_tensor(mask)[0].long()


def stacked(samples):
    images, labels = zip(*samples)
    return torch.stack(images), torch.tensor(labels)


def make_pairs(files, folder):
    for i, file in enumerate(files):
        image = Image.open(file).convert("RGB")
        image.save("%s/%04d.jpg" % (folder, i), quality=90)
        small = image.convert("L").resize(
            (image.width // 16 + 1, image.height // 16 + 1)
        )
        classes = np.array(small.resize(image.size, Image.BICUBIC)) // 50
        Image.fromarray(classes).save("%s/%04d.png" % (folder, i))
    return sorted(map(str, Path(folder).glob("*.jpg")))


def ours(data, workers=1, **more):
    return feedline.torch.DataLoader(data, **arguments(workers, more))


def torchs(data, workers, **more):
    return torch.utils.data.DataLoader(data, **arguments(workers, more))


def arguments(workers, more):
    return {
        "batch_size": 64,
        "shuffle": True,
        "num_workers": workers,
        "persistent_workers": workers > 0,
        **more,
    }


def photos(files, rounds):
    pin(1)
    own = Photos(files)
    found = in_turn(
        {
            "native": ours(
                feedline.torch.ImageList([(f, 0) for f in files], chain())
            ),
            "own": ours(own),
            "one by one": ours(OneByOne(files)),
            "draws=torch": ours(own, draws="torch"),
            "collate_fn": ours(OneByOne(files), collate_fn=stacked),
            "torch, 0": torchs(own, 0),
            "torch, 1": torchs(own, 1),
            "torch, 2": torchs(own, 2),
            "torch, 0, c.": torchs(own, 0, collate_fn=stacked),
            "torch, 1, c.": torchs(own, 1, collate_fn=stacked),
        },
        rounds,
    )
    print_table(found)
    for name in ("own", "one by one", "draws=torch"):
        print_held_against(found, name, ["native"], "the native list")
    torchs_own = ["torch, 0", "torch, 1", "torch, 2"]
    print_held_against(found, "own", torchs_own, "torch's best")
    with_collate = ["torch, 0, c.", "torch, 1, c."]
    print_held_against(found, "collate_fn", with_collate, "torch's best")


def masks(files, rounds):
    pin(1)
    with tempfile.TemporaryDirectory() as folder:
        data = Masks(make_pairs(files[:300], folder))
        found = in_turn(
            {
                "masks": ours(data),
                "torch, 0": torchs(data, 0),
                "torch, 1": torchs(data, 1),
            },
            rounds,
        )
        print_table(found)
        print_held_against(
            found, "masks", ["torch, 0", "torch, 1"], "torch's best"
        )


def fallback(files, rounds):
    pin(2)
    data = Touched(files[:300])
    for workers in (0, 1, 2):
        name = "fallback, %d" % workers
        beside = "torch, %d" % workers
        found = in_turn(
            {name: ours(data, workers), beside: torchs(data, workers)}, rounds
        )
        print_table(found)
        print_held_against(found, name, [beside], "torch's own")


def recording(files, _rounds):
    pin(1)
    for name, kind in (("whole", Photos), ("one by one", OneByOne)):
        recorded = RecordedSet(len(files), "measured")
        recorded.chains.on = kind is Photos
        run = recorded.begin(kind(files), SeededDraws(1, 0, None), None)
        indices = list(range(64))
        batches = [Batch(indices, [0] * 64) for _ in range(300)]
        us = least_us(lambda i: run.record_all(batches.pop()), 1, len(batches))
        print("%-12s %6.1f us of CPU a sample" % (name, us / len(indices)))


PARTS = {f.__name__: f for f in (photos, masks, fallback, recording)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS)
    )
    chosen = parser.parse_args()
    files = sorted(str(p) for p in Path(chosen.photos).rglob("*.JPEG"))
    files = (files * (chosen.samples // len(files) + 1))[: chosen.samples]
    for part in chosen.parts:
        print("%s:" % part)
        PARTS[part](files, chosen.rounds)


if __name__ == "__main__":
    main()
