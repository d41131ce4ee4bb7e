#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchvision's tensor path: decode_jpeg and transforms on uint8 tensors.

No Pillow: decoded by torchvision's own binding of libjpeg-turbo, and resized
by torch's kernel for uint8 where the version has one.
"""
import torch
import torchvision
from torchvision import io

import peer
from peer_torchvision import data_loader, recipe

try:
    from torchvision.transforms import v2 as transforms
    API = "transforms.v2"
except ImportError:
    from torchvision import transforms
    API = "transforms"

PACKAGES = ("torch", "torchvision")


class Images(torch.utils.data.Dataset):
    def __init__(self, job, transform):
        self.job, self.transform = job, transform
        self.held = None
        if job.form == "bytes":
            self.held = [torch.frombuffer(bytearray(x), dtype=torch.uint8)
                         for x in job.contents()]

    def __len__(self):
        return len(self.job.files)

    def __getitem__(self, i):
        data = (self.held[i] if self.held else
                io.read_file(self.job.files[i]))
        image = io.decode_jpeg(data, mode=io.ImageReadMode.RGB)
        return self.transform(image), self.job.labels[i]


def batches(job):
    torch.set_num_threads(1)
    steps = [transforms.RandomResizedCrop(peer.SIZE, antialias=True),
             transforms.RandomHorizontalFlip(), *recipe(job, transforms)]
    if job.dtype == "f32":
        steps.append(transforms.ToDtype(torch.float32, scale=True)
                     if hasattr(transforms, "ToDtype")
                     else transforms.ConvertImageDtype(torch.float32))
        steps.append(transforms.Normalize(peer.MEAN, peer.STD, inplace=True))
    data = Images(job, torchvision.transforms.Compose(steps))
    for pixels, _labels in data_loader(data, job):
        yield pixels


def settings(job):
    return {"layout": "nchw", "resample": "torch uint8 bilinear, antialiased",
            "idct": "islow", "upsampling": "fancy", "decode": "full image",
            "source": "bytes" if job.form == "bytes" else "the files",
            "api": API}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
