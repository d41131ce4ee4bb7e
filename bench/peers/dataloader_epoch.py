#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One data loader over an image folder, measured; a line of JSON at the end.

    dataloader_epoch.py FOLDER --loader torch --workers 2
    dataloader_epoch.py FOLDER --loader feedline --workers auto

The two sides differ in one import. Both give [float32 B x 3 x 224 x 224, int64
B] in a new order each epoch: random resized crop to 224, horizontal flip, to
tensor, normalise. torch's worker processes stay from epoch to epoch. The first
epoch is not counted: files come to the page cache, workers start.

Measured are images per second of wall clock, and of CPU time with that of
worker processes.
"""
import argparse
import json
import time

import torch
import torchvision
from torchvision import transforms

from peer import cpu_seconds


def chain():
    return transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])


def make_loader(arguments):
    workers = arguments.workers
    workers = workers if workers == "auto" else int(workers)
    common = {"batch_size": arguments.batch_size, "shuffle": True,
              "num_workers": workers}
    data = torchvision.datasets.ImageFolder(arguments.folder, chain())
    if arguments.loader == "feedline":
        import feedline.torch
        loader = feedline.torch.DataLoader(data, **common)
    else:
        loader = torch.utils.data.DataLoader(
            data, persistent_workers=bool(workers), **common)
    return loader


def epoch(loader):
    n = 0
    for images, labels in loader:
        n += len(labels)
    return n


def measure(loader, arguments):
    epoch(loader)
    cpu, begin = cpu_seconds(), time.perf_counter()
    n = sum(epoch(loader) for _ in range(arguments.epochs))
    seconds = time.perf_counter() - begin
    cpu = cpu_seconds() - cpu
    return {"images": n, "seconds": seconds,
            "images_per_second": n / seconds,
            "images_per_cpu_second": n / cpu}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="images, one folder per class")
    parser.add_argument("--loader", choices=("torch", "feedline"),
                        default="feedline")
    parser.add_argument("--workers", default="2", metavar="N",
                        help="a number, or for feedline auto [%(default)s]")
    parser.add_argument("--epochs", type=int, default=5, metavar="E",
                        help="that count [%(default)s]")
    parser.add_argument("--batch-size", type=int, default=64, metavar="B",
                        help="samples in a batch [%(default)s]")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    loader = make_loader(arguments)
    out = measure(loader, arguments)
    out["versions"] = {"torch": torch.__version__,
                       "torchvision": torchvision.__version__}
    if arguments.loader == "feedline":
        import feedline
        out["versions"]["feedline"] = feedline.__version__
        out["native"] = loader.native
        out["reason"] = loader.fallback_reason
    print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
