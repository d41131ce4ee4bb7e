# SPDX-License-Identifier: Apache-2.0
"""ImageFolder and torchvision's usual chain, as most scripts begin."""

from __future__ import annotations

from torchvision import transforms
from torchvision.datasets import ImageFolder

from programs.program_files import Files, Program


def make(files: Files) -> Program:
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(56),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    data = ImageFolder(files.classes(), chain)
    return Program(data, dict(batch_size=6, shuffle=True))
