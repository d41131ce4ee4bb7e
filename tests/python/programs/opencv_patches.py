# SPDX-License-Identifier: Apache-2.0
"""Pairs read by OpenCV from bytes: patches, flips, BGR to RGB by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need

SCALE, PATCH = 2, 24


class CvPairs(Dataset):
    def __init__(self, sharp: List[str], small: List[str]) -> None:
        self.sharp, self.small = sharp, small

    def __len__(self) -> int:
        return len(self.sharp)

    @staticmethod
    def read(path: str) -> Any:
        cv2 = need("cv2")
        data = np.frombuffer(Path(path).read_bytes(), np.uint8)
        img = cv2.imdecode(data, cv2.IMREAD_COLOR)
        return img.astype(np.float32) / 255.0

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        gt, lq = self.read(self.sharp[index]), self.read(self.small[index])
        h, w, _ = lq.shape
        top, left = random.randint(0, h - PATCH), random.randint(0, w - PATCH)
        lq = lq[top : top + PATCH, left : left + PATCH, ...]
        t, l, big = top * SCALE, left * SCALE, PATCH * SCALE
        gt = gt[t : t + big, l : l + big, ...]
        if random.random() < 0.5:
            gt, lq = cv2.flip(gt, 1), cv2.flip(lq, 1)
        if random.random() < 0.5:
            gt, lq = gt.transpose(1, 0, 2), lq.transpose(1, 0, 2)
        pair = []
        for img in (gt, lq):
            img = cv2.cvtColor(np.ascontiguousarray(img), cv2.COLOR_BGR2RGB)
            pair.append(torch.from_numpy(img.transpose(2, 0, 1)).float())
        return {"gt": pair[0], "lq": pair[1], "gt_path": self.sharp[index]}


def make(files: Files) -> Program:
    need("cv2")
    data = CvPairs(files.color_pngs(), files.color_pngs(shrink=SCALE))
    return Program(data, dict(batch_size=5, shuffle=True))
