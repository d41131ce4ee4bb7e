# SPDX-License-Identifier: Apache-2.0
"""The first example of the README, with enough images for a verdict.

    python first_epochs.py [FOLDER] [--epochs 20]

FOLDER has one folder of images per class; where it is not there, `loaderbench
gen` makes 512 photos in it. The number of threads is tuned while the epochs
run; at the end the loader says what was waited for, and how fast it was.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

from torchvision import transforms
from torchvision.datasets import ImageFolder

from feedline.torch import DataLoader  # was: from torch.utils.data import ...


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="photos")
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    if not Path(args.folder).is_dir():
        command = ["loaderbench", "gen", args.folder]
        subprocess.run(
            [*command, "--images", "512", "--classes", "4"], check=True
        )

    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    train = ImageFolder(args.folder, transform)
    loader = DataLoader(train, batch_size=16, shuffle=True)
    seen, began = 0, time.perf_counter()
    for _ in range(args.epochs):
        for images, labels in loader:
            seen += len(labels)  # train with images and labels here
    seconds = time.perf_counter() - began
    print(loader.explain())
    print("%.0f images/s" % (seen / seconds))


if __name__ == "__main__":
    main()
