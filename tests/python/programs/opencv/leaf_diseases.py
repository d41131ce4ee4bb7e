# SPDX-License-Identifier: Apache-2.0
"""Classification as in competitions: albumentations to a tensor.

Made as public notebooks of Kaggle's competition of cassava leaves.
"""

from __future__ import annotations

import os
from typing import Any, List, Tuple

import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Leaves(Dataset):
    def __init__(self, paths: List[str], chain: Any) -> None:
        self.paths, self.chain = paths, chain

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        image = cv2.imread(self.paths[index])
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        image = self.chain(image=image)["image"]
        return image, torch.tensor(index % 5).long()


def make(files: Files) -> Program:
    need("cv2")
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    A = need("albumentations")
    chain = A.Compose(
        [
            A.RandomResizedCrop(size=(64, 64), scale=(0.5, 1.0)),
            A.Transpose(p=0.5),
            A.HorizontalFlip(p=0.5),
            A.VerticalFlip(p=0.5),
            A.ShiftScaleRotate(p=0.5),
            A.HueSaturationValue(20, 30, 20, p=0.5),
            A.RandomBrightnessContrast((-0.1, 0.1), (-0.1, 0.1), p=0.5),
            A.Normalize(),
            A.CoarseDropout(p=0.5),
            need("albumentations.pytorch").ToTensorV2(),
        ],
        seed=5,
    )
    data = Leaves(files.photos(), chain)
    return Program(data, dict(batch_size=4, shuffle=True))
