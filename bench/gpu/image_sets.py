# SPDX-License-Identifier: Apache-2.0
"""The JPEG files that step_images.py made, as torch's data sets."""
import os
import shutil

import torchvision.transforms as T
from torch.utils.data import Subset
from torchvision.datasets import ImageFolder

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def folder(step):
    return step.path("images")


def plain(step, side, count, as_bytes=False):
    """The first `count` images. Nothing is drawn; f32 and normalised, or u8."""
    chain = [T.Resize((side, side))]
    chain += [T.PILToTensor()] if as_bytes else [T.ToTensor(),
                                                 T.Normalize(MEAN, STD)]
    images = ImageFolder(folder(step), T.Compose(chain))
    return Subset(images, range(min(count, len(images))))


def training(step, side):
    """What ResNet is trained with."""
    return ImageFolder(folder(step), T.Compose([
        T.RandomResizedCrop(side), T.RandomHorizontalFlip(), T.ToTensor(),
        T.Normalize(MEAN, STD)]))


def damaged(step, side):
    """A few of the files, some of them cut off."""
    to = step.path("damaged")
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(os.path.join(to, "all"))
    files = sorted(path for path, _ in ImageFolder(folder(step)).samples)[:16]
    for n, path in enumerate(files):
        with open(path, "rb") as f:
            data = f.read()
        with open(os.path.join(to, "all", "%03d.jpg" % n), "wb") as f:
            f.write(data[:100] if n % 5 == 2 else data)
    return ImageFolder(to, T.Compose([T.Resize((side, side)), T.ToTensor()]))
