#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchvision with Pillow: ImageFolder, transforms, DataLoader.

What most training scripts do. One worker is the DataLoader without worker
processes, for one process on one core is never helped by a second.
"""
import io

import torch
import torchvision
from PIL import Image
from torchvision import transforms

import peer

PACKAGES = ("torch", "torchvision", "pillow")


class Endless(torch.utils.data.Sampler):
    """DataLoader starts anew with each epoch; this one never ends."""

    def __init__(self, job):
        self.job = job

    def __iter__(self):
        return self.job.order()


def data_loader(dataset, job):
    if job.first:
        return torch.utils.data.DataLoader(
            dataset, batch_size=job.batch_size, shuffle=True)
    return torch.utils.data.DataLoader(
        dataset, batch_size=job.batch_size, sampler=Endless(job),
        num_workers=0 if job.workers == 1 else job.workers)


def recipe(job, module):
    """By transforms of v1 or v2."""
    if job.recipe == "color":
        blur = module.GaussianBlur(peer.BLUR_SIZE, peer.BLUR_SIGMA)
        return [module.ColorJitter(*peer.JITTER),
                module.RandomGrayscale(peer.GRAY),
                module.RandomApply([blur], peer.BLUR)]
    if job.recipe == "rand_augment":
        return [module.RandAugment(*peer.RAND_AUGMENT)]
    return []


def transform(job):
    torch.set_num_threads(1)
    steps = [transforms.RandomResizedCrop(peer.SIZE),
             transforms.RandomHorizontalFlip(),
             *recipe(job, transforms)]
    if job.dtype == "f32":
        steps += [transforms.ToTensor(),
                  transforms.Normalize(peer.MEAN, peer.STD)]
    else:
        steps += [transforms.PILToTensor()]
    return transforms.Compose(steps)


class Samples(torch.utils.data.Dataset):
    """Of a list of paths, or of bytes in memory."""

    def __init__(self, job, chain):
        self.images = job.contents() if job.form == "bytes" else job.files
        self.labels, self.chain = job.labels, chain

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        if isinstance(image, bytes):
            image = io.BytesIO(image)
        return self.chain(Image.open(image).convert("RGB")), self.labels[i]


def batches(job):
    if job.list or job.form == "bytes":
        data = Samples(job, transform(job))
    else:
        data = torchvision.datasets.ImageFolder(job.folder, transform(job))
    for pixels, _labels in data_loader(data, job):
        yield pixels


def settings(job):
    return {"layout": "nchw", "resample": "Pillow bilinear, antialiased",
            "idct": "islow", "upsampling": "fancy", "decode": "full image",
            "source": "bytes" if job.form == "bytes" else "the files"}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
