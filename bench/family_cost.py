#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time per image of augmentation recipes: the library's own, and ours.

    PYTHONPATH=python bench/family_cost.py FOLDER [--images N] [--rounds N]

FOLDER: of class folders. Each chain decodes, crops at random to 224, flips,
augments, and normalises; a step alone is the difference to the one without it.
In turns, one thread each; medians of the rounds, in milliseconds of CPU time
of the whole process, which other processes disturb least.
"""
import argparse
import statistics
import time
import warnings

import torch
from timm.data import create_transform
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from feedline.torch import DataLoader

BILINEAR = v1.InterpolationMode.BILINEAR
TIMM = {"is_training": True, "interpolation": "bicubic", "color_jitter": None}


def chain(augmentation):
    return v1.Compose([
        v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(),
        *([augmentation] if augmentation else []), v1.ToTensor(),
        v1.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


CHAINS = {
    "torchvision, no augmentation": chain(None),
    "TrivialAugmentWide, nearest": chain(v1.TrivialAugmentWide()),
    "TrivialAugmentWide, bilinear":
        chain(v1.TrivialAugmentWide(interpolation=BILINEAR)),
    "v2.TrivialAugmentWide, bilinear":
        chain(v2.TrivialAugmentWide(interpolation=BILINEAR)),
    "RandAugment, nearest": chain(v1.RandAugment()),
    "RandAugment, bilinear": chain(v1.RandAugment(interpolation=BILINEAR)),
    "AutoAugment, bilinear": chain(v1.AutoAugment(interpolation=BILINEAR)),
    "timm, no augmentation": create_transform(224, **TIMM),
    "timm A1, rand-m7-mstd0.5-inc1":
        create_transform(224, auto_augment="rand-m7-mstd0.5-inc1", **TIMM),
    "timm, original": create_transform(224, auto_augment="original", **TIMM),
}


def theirs(dataset):
    begin = time.process_time()
    for i in range(len(dataset)):
        dataset[i]
    return (time.process_time() - begin) / len(dataset)


def ours(loader):
    begin = time.process_time()
    images = sum(len(x) for x, _ in loader)
    return (time.process_time() - begin) / images


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    times = {name: ([], []) for name in CHAINS}
    sets = {name: ImageFolder(args.folder, t) for name, t in CHAINS.items()}
    for dataset in sets.values():
        dataset.samples = dataset.samples[:args.images]
    loaders = {name: DataLoader(dataset, batch_size=20, num_workers=1)
               for name, dataset in sets.items()}
    for loader in loaders.values():
        ours(loader)
        assert loader.fallback_reason is None, loader.fallback_reason
    for _ in range(args.rounds):
        for name, dataset in sets.items():
            times[name][0].append(theirs(dataset))
            times[name][1].append(ours(loaders[name]))
    print("| chain | the library, ms | feedline, ms | ratio "
          "| the step alone, ms | | ratio |\n|---|---|---|---|---|---|---|")
    for name, (a, b) in times.items():
        a, b = 1e3 * statistics.median(a), 1e3 * statistics.median(b)
        row = f"| {name} | {a:.2f} | {b:.2f} | {a / b:.1f} |"
        if "no augmentation" in name:
            without = a, b
            print(row + " | | |")
            continue
        a, b = a - without[0], b - without[1]
        print(f"{row} {a:.2f} | {b:.3f} | {a / b:.1f} |")


if __name__ == "__main__":
    main()
