# SPDX-License-Identifier: Apache-2.0
"""A U-Net's masks, one file for each class, stacked in depth.

Made as 4uiiurz1/pytorch-nested-unet.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Tuple

import numpy as np
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Nuclei(Dataset):
    def __init__(self, images: List[str], masks: List[str], chain: Any) -> None:
        self.images, self.masks, self.chain = images, masks, chain

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Tuple[Any, Any, Dict[str, str]]:
        cv2 = need("cv2")
        img = cv2.imread(self.images[i])
        masks = []
        for path in (self.masks[i],):
            masks.append(cv2.imread(path, cv2.IMREAD_GRAYSCALE)[..., None])
        mask = np.dstack(masks)
        made = self.chain(image=img, mask=mask)
        img, mask = made["image"], made["mask"]
        img = img.astype("float32") / 255
        img = img.transpose(2, 0, 1)
        mask = mask.astype("float32") / 255
        mask = mask.transpose(2, 0, 1)
        return img, mask, {"img_id": self.images[i]}


def make(files: Files) -> Program:
    need("cv2")
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    A = need("albumentations")
    chain = A.Compose(
        [
            A.RandomRotate90(),
            A.HorizontalFlip(p=0.5),
            A.OneOf([A.HueSaturationValue(), A.RandomBrightnessContrast()]),
            A.Resize(64, 64),
            A.Normalize(),
        ],
        seed=6,
    )
    data = Nuclei(files.photos(), files.masks("L"), chain)
    return Program(data, dict(batch_size=4, shuffle=True, drop_last=True))
