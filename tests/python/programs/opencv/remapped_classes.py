# SPDX-License-Identifier: Apache-2.0
"""Segmentation whose class values become others in an array like the mask.

Made as the later examples of qubvel-org/segmentation_models.pytorch.
"""

from __future__ import annotations

import os
from typing import Any, List, Tuple

import numpy as np
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Remapped(Dataset):
    NUMBERS = {0: 255, 1: 0, 2: 1, 3: 2}

    def __init__(self, images: List[str], masks: List[str], chain: Any) -> None:
        self.images, self.masks, self.chain = images, masks, chain

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        image = cv2.cvtColor(cv2.imread(self.images[i]), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.masks[i], 0)
        numbers = np.zeros_like(mask)
        for value, number in self.NUMBERS.items():
            numbers[mask == value] = number
        sample = self.chain(image=image, mask=numbers)
        return sample["image"].transpose(2, 0, 1), sample["mask"]


def make(files: Files) -> Program:
    need("cv2")
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    A = need("albumentations")
    chain = A.Compose(
        [
            A.HorizontalFlip(p=0.5),
            A.Affine(scale=(0.8, 1.2), rotate=(-10, 10), p=0.5),
            A.PadIfNeeded(min_height=64, min_width=64),
            A.RandomCrop(height=64, width=64),
            A.RandomBrightnessContrast(p=0.5),
        ],
        seed=4,
    )
    data = Remapped(files.photos(), files.masks("L"), chain)
    return Program(data, dict(batch_size=4, shuffle=True))
