# SPDX-License-Identifier: Apache-2.0
"""An ImageFolder whose loader has a partial of a function that seeds."""

from __future__ import annotations

from functools import partial

from torchvision import transforms
from torchvision.datasets import ImageFolder

from programs.program_files import Files, Program
from programs.seeded_workers import init_worker


def make(files: Files) -> Program:
    chain = transforms.Compose(
        [
            transforms.Resize((56, 56)),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(mean=[0.5] * 3, std=[0.5] * 3),
        ]
    )
    init = partial(init_worker, num_workers=1, rank=0, seed=7)
    return Program(
        ImageFolder(files.classes(), chain),
        dict(batch_size=5, shuffle=True, worker_init_fn=init, drop_last=True),
    )
