#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchvision with Pillow: ImageFolder, transforms, DataLoader.

What most training scripts do. One worker is the DataLoader without worker
processes, for one process on one core is never helped by a second.
"""
import torch
import torchvision
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
    return torch.utils.data.DataLoader(
        dataset, batch_size=job.batch_size, sampler=Endless(job),
        num_workers=0 if job.workers == 1 else job.workers)


def transform(job):
    torch.set_num_threads(1)
    steps = [transforms.RandomResizedCrop(peer.SIZE),
             transforms.RandomHorizontalFlip()]
    if job.dtype == "f32":
        steps += [transforms.ToTensor(),
                  transforms.Normalize(peer.MEAN, peer.STD)]
    else:
        steps += [transforms.PILToTensor()]
    return transforms.Compose(steps)


def batches(job):
    data = torchvision.datasets.ImageFolder(job.folder, transform(job))
    for pixels, _labels in data_loader(data, job):
        yield pixels


def settings(_job):
    return {"layout": "nchw", "resample": "Pillow bilinear, antialiased",
            "idct": "islow", "upsampling": "fancy", "decode": "full image",
            "source": "the files"}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
