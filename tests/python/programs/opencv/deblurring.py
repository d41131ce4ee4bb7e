# SPDX-License-Identifier: Apache-2.0
"""Pairs cut and flipped alike by albumentations, one of them corrupted more.

Made as VITA-Group/DeblurGANv2.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List

import numpy as np
from PIL import Image, ImageFilter
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Blurred(Dataset):
    def __init__(self, blurred: List[str], sharp: List[str]) -> None:
        os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
        A = need("albumentations")
        both = {"target": "image"}
        self.moved = A.Compose(
            [
                A.HorizontalFlip(),
                A.ShiftScaleRotate(p=0.3),
                A.PadIfNeeded(64, 64),
                A.RandomCrop(64, 64),
            ],
            additional_targets=both,
            seed=7,
        )
        blurs = [A.MotionBlur(3), A.MedianBlur(3), A.GaussianBlur()]
        self.corrupted = A.Compose(
            [A.OneOf(blurs), A.RandomGamma(p=0.3)], seed=8
        )
        half = A.Normalize(mean=[0.5] * 3, std=[0.5] * 3)
        self.normalized = A.Compose([half], additional_targets=both)
        self.blurred, self.sharp = blurred, sharp

    def __len__(self) -> int:
        return len(self.sharp)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        a, b = cv2.imread(self.blurred[index]), cv2.imread(self.sharp[index])
        pair = self.moved(image=a, target=b)
        a, b = pair["image"], pair["target"]
        a = self.corrupted(image=a)["image"]
        pair = self.normalized(image=a, target=b)
        parts = (pair["image"], pair["target"])
        a, b = (np.transpose(x, (2, 0, 1)) for x in parts)
        return {"a": a, "b": b}


def make(files: Files) -> Program:
    need("cv2")
    blurred, folder = [], files.folder("blurred")
    sharp = files.color_pngs()
    for i, path in enumerate(sharp):
        blurred.append(str(folder / ("%04d.png" % i)))
        with Image.open(path) as image:
            image.filter(ImageFilter.BoxBlur(1)).save(blurred[-1])
    return Program(Blurred(blurred, sharp), dict(batch_size=4, shuffle=True))
