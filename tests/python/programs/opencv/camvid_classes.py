# SPDX-License-Identifier: Apache-2.0
"""Segmentation of chosen classes: a stack of masks by comparison.

Made as the CamVid example of qubvel-org/segmentation_models.pytorch.
"""

from __future__ import annotations

import os
from typing import Any, List, Tuple

import numpy as np
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Street(Dataset):
    CLASSES = (1, 3)

    def __init__(self, images: List[str], masks: List[str], chain: Any) -> None:
        self.images, self.masks, self.chain = images, masks, chain

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        image = cv2.imread(self.images[i])
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.masks[i], 0)
        masks = [(mask == value) for value in self.CLASSES]
        mask = np.stack(masks, axis=-1).astype("float")
        sample = self.chain(image=image, mask=mask)
        image, mask = sample["image"], sample["mask"]
        image = image / 255.0 - np.array([0.485, 0.456, 0.406])
        image = image / np.array([0.229, 0.224, 0.225])
        image = image.transpose(2, 0, 1).astype("float32")
        return image, mask.transpose(2, 0, 1).astype("float32")


def make(files: Files) -> Program:
    need("cv2")
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    A = need("albumentations")
    chain = A.Compose(
        [
            A.HorizontalFlip(p=0.5),
            A.PadIfNeeded(min_height=96, min_width=96, border_mode=0),
            A.RandomCrop(height=64, width=64),
        ],
        seed=3,
    )
    data = Street(files.photos(), files.masks("L"), chain)
    return Program(data, dict(batch_size=4, shuffle=True))
