# SPDX-License-Identifier: Apache-2.0
"""Segmentation by OpenCV and albumentations."""

from __future__ import annotations

import os
from typing import Any, List, Tuple

from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Street(Dataset):
    def __init__(self, images: List[str], masks: List[str], chain: Any) -> None:
        self.images, self.masks, self.chain = images, masks, chain

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        image = cv2.cvtColor(cv2.imread(self.images[i]), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.masks[i], 0)
        sample = self.chain(image=image, mask=mask)
        image = sample["image"].transpose(2, 0, 1).astype("float32")
        return image, sample["mask"].astype("int64")


def make(files: Files) -> Program:
    need("cv2")
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # looks for no newer
    A = need("albumentations")
    chain = A.Compose(
        [
            A.HorizontalFlip(p=0.5),
            A.PadIfNeeded(min_height=64, min_width=64),
            A.RandomCrop(height=64, width=64),
            A.Normalize(),
        ],
        seed=3,
    )
    data = Street(files.photos(), files.masks("L"), chain)
    return Program(data, dict(batch_size=4, shuffle=True))
