# SPDX-License-Identifier: Apache-2.0
"""Style transfer: ImageFolder, and a lambda that brings pixels to 0 to 255."""

from __future__ import annotations

from torchvision import datasets, transforms

from programs.program_files import Files, Program


def make(files: Files) -> Program:
    chain = transforms.Compose(
        [
            transforms.Resize(64),
            transforms.CenterCrop(64),
            transforms.ToTensor(),
            transforms.Lambda(lambda x: x.mul(255)),
        ]
    )
    data = datasets.ImageFolder(files.classes(), chain)
    return Program(data, dict(batch_size=4, shuffle=True))
