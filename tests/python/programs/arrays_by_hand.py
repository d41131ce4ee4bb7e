# SPDX-License-Identifier: Apache-2.0
"""Segmentation by hand: arrays, `/ 255`, transposed; the mask by its values."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program


class ByHand(Dataset):
    def __init__(self, images: List[str], masks: List[str]) -> None:
        self.images, self.masks = images, masks
        self.values = [0, 1, 2, 3]

    def __len__(self) -> int:
        return len(self.images)

    @staticmethod
    def prepare(values: List[int], img: Any, is_mask: bool) -> Any:
        size = (64, 48)
        filter_of = Image.NEAREST if is_mask else Image.BICUBIC
        img = np.asarray(img.resize(size, resample=filter_of))
        if is_mask:
            mask = np.zeros((size[1], size[0]), dtype=np.int64)
            for i, v in enumerate(values):
                mask[img == v] = i
            return mask
        if img.ndim == 2:
            img = img[np.newaxis, ...]
        else:
            img = img.transpose((2, 0, 1))
        if (img > 1).any():
            img = img / 255.0
        return img

    def __getitem__(self, idx: int) -> Dict[str, Any]:
        img = Image.open(self.images[idx]).convert("RGB")
        mask = Image.open(self.masks[idx])
        assert img.size == mask.size
        img = self.prepare(self.values, img, is_mask=False)
        mask = self.prepare(self.values, mask, is_mask=True)
        return {
            "image": torch.as_tensor(img.copy()).float().contiguous(),
            "mask": torch.as_tensor(mask.copy()).long().contiguous(),
        }


def make(files: Files) -> Program:
    data = ByHand(files.photos(), files.masks("L"))
    return Program(data, dict(batch_size=4, shuffle=True, drop_last=True))
