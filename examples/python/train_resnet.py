# SPDX-License-Identifier: Apache-2.0
"""A ResNet on one GPU, or on the CPU where there is none.

    python train_resnet.py --data FOLDER [--epochs 2] [--batch-size 256]
    python train_resnet.py --steps 10          generated images, in seconds

FOLDER has one folder of images per class. Everything is as it would be with
torch's DataLoader, but for the import and `device=`: batches are made on the
GPU. At the end the loader says how fast it was and what it waited for.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import tempfile
import time
from typing import Any

import torch
import torchvision
from torch import nn
from torchvision import transforms

from feedline.torch import DataLoader

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    gpu = torch.cuda.is_available()
    parser.add_argument("--data", help="a folder of images per class")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, help="end after so many")
    parser.add_argument("--batch-size", type=int, default=256 if gpu else 16)
    parser.add_argument("--size", type=int, default=224 if gpu else 64)
    parser.add_argument("--workers", default="auto", help="a number, or auto")
    return parser.parse_args()


def make_loader(
    args: argparse.Namespace, folder: str, device: torch.device
) -> DataLoader[Any]:
    dataset = torchvision.datasets.ImageFolder(
        folder,
        transforms.Compose(
            [
                transforms.RandomResizedCrop(args.size),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        ),
    )
    workers = args.workers if args.workers == "auto" else int(args.workers)
    return DataLoader(
        dataset,
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=workers,
        drop_last=len(dataset) >= args.batch_size,
        device=device if device.type == "cuda" else None,
        on_error="skip",
    )


class Training:
    """A network, its optimizer and what makes a step of them."""

    def __init__(self, classes: int, device: torch.device) -> None:
        self.device = device
        self.gpu = device.type == "cuda"
        network = torchvision.models.resnet18(num_classes=classes)
        layout = torch.channels_last if self.gpu else torch.contiguous_format
        self.layout = layout
        self.network = network.to(device, memory_format=layout)
        self.optimizer = torch.optim.SGD(
            network.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4
        )
        self.loss_of = nn.CrossEntropyLoss()

    def precision(self) -> contextlib.AbstractContextManager[Any]:
        """bfloat16 where a GPU has it; it needs no scaling of gradients."""
        if self.gpu and torch.cuda.is_bf16_supported():
            return torch.autocast("cuda", dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        images = images.contiguous(memory_format=self.layout)
        self.optimizer.zero_grad(set_to_none=True)
        with self.precision():
            loss = self.loss_of(self.network(images), labels)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(args: argparse.Namespace, folder: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = make_loader(args, folder, device)
    training = Training(len(loader.dataset.classes), device)
    epochs = itertools.count() if args.steps else range(args.epochs)
    steps, images_seen, began = 0, 0, time.perf_counter()
    for epoch in epochs:
        for images, labels in loader:
            loss = training.step(images, labels)
            steps, images_seen = steps + 1, images_seen + len(labels)
            if steps == args.steps:
                break
        print("epoch %d: %d steps, loss %.3f" % (epoch, steps, loss.item()))
        if steps == args.steps:
            break
    seconds = time.perf_counter() - began
    print("%.0f images/s on %s" % (images_seen / seconds, device))
    if loader.native:
        print(loader.explain())
    else:
        print("torch's own loader ran: %s" % loader.fallback_reason)


def main() -> None:
    args = arguments()
    if args.data:
        train(args, args.data)
        return
    from sample_images import make_folder

    with tempfile.TemporaryDirectory() as folder:
        train(args, make_folder(folder))


if __name__ == "__main__":
    main()
