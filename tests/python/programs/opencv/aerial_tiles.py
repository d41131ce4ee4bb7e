# SPDX-License-Identifier: Apache-2.0
"""Tiles from the air: sizes that vary, turns by quarters, masks of classes.

Made as WangLibo1995/GeoSeg, with OpenCV in place of Pillow.
"""

from __future__ import annotations

import os
import random
from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Tiles(Dataset):
    SIDE = 64

    def __init__(self, tiles: List[str], masks: List[str]) -> None:
        os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
        A = need("albumentations")
        self.tiles, self.masks = tiles, masks
        self.chain = A.Compose(
            [
                A.HorizontalFlip(p=0.5),
                A.VerticalFlip(p=0.5),
                A.RandomRotate90(p=0.5),
                A.RandomBrightnessContrast(0.25, 0.25, p=0.25),
                A.Normalize(),
            ],
            seed=9,
        )

    def __len__(self) -> int:
        return len(self.tiles)

    def cut(self, image: Any, mask: Any) -> Any:
        cv2 = need("cv2")
        factor = random.choice([0.75, 1.0, 1.25, 1.5])
        h, w = (max(self.SIDE, int(s * factor)) for s in image.shape[:2])
        image = cv2.resize(image, (w, h), interpolation=cv2.INTER_AREA)
        mask = cv2.resize(mask, (w, h), interpolation=cv2.INTER_NEAREST)
        y, x = random.randint(0, h - self.SIDE), random.randint(
            0, w - self.SIDE
        )
        box = np.s_[y : y + self.SIDE, x : x + self.SIDE]
        return image[box], mask[box]

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        image = cv2.imread(self.tiles[index], cv2.IMREAD_COLOR)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.masks[index], cv2.IMREAD_GRAYSCALE)
        mask = mask - 1  # 0, which is nothing, becomes 255
        image, mask = self.cut(image, mask)
        made = self.chain(image=image, mask=mask)
        image = torch.from_numpy(made["image"]).permute(2, 0, 1).float()
        mask = torch.from_numpy(made["mask"]).long()
        return {"img": image, "gt_semantic_seg": mask, "img_id": str(index)}


def make(files: Files) -> Program:
    need("cv2")
    data = Tiles(files.photos(), files.masks("L"))
    return Program(data, dict(batch_size=4, shuffle=True, drop_last=True))
