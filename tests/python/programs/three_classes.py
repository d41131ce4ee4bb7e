# SPDX-License-Identifier: Apache-2.0
"""Segmentation in arrays: the trimap's values joined, then resized, CHW."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program


class Pets(Dataset):
    def __init__(self, images: List[str], trimaps: List[str]) -> None:
        self.images, self.trimaps = images, trimaps

    def __len__(self) -> int:
        return len(self.images)

    @staticmethod
    def joined(mask: Any) -> Any:
        mask = mask.astype(np.float32)
        mask[mask == 2.0] = 0.0
        mask[(mask == 1.0) | (mask == 3.0)] = 1.0
        return mask

    def __getitem__(self, idx: int) -> Dict[str, Any]:
        image = np.array(Image.open(self.images[idx]).convert("RGB"))
        mask = self.joined(np.array(Image.open(self.trimaps[idx])))
        small = Image.fromarray(image).resize((64, 64), Image.BILINEAR)
        mask = Image.fromarray(mask).resize((64, 64), Image.NEAREST)
        return {
            "image": np.moveaxis(np.array(small), -1, 0),
            "mask": np.expand_dims(np.array(mask), 0),
        }


def make(files: Files) -> Program:
    data = Pets(files.photos(), files.masks("L"))
    return Program(data, dict(batch_size=4, shuffle=True))
