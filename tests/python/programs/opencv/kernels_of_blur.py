# SPDX-License-Identifier: Apache-2.0
"""Blind super-resolution: a padded crop, and kernels of blurs for later.

Made as the data set of xinntao/Real-ESRGAN.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


def gaussian(side: int) -> Any:
    """A kernel with two widths, turned by some angle."""
    turn = np.random.uniform(-np.pi, np.pi)
    wide, narrow = np.random.uniform(0.6, 3.0, 2)
    at = np.arange(side) - side // 2
    x, y = np.meshgrid(at, at)
    u = x * np.cos(turn) + y * np.sin(turn)
    v = y * np.cos(turn) - x * np.sin(turn)
    kernel = np.exp(-0.5 * ((u / wide) ** 2 + (v / narrow) ** 2))
    return kernel / kernel.sum()


class Blind(Dataset):
    SIDE = 96

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.pulse = torch.zeros(21, 21)
        self.pulse[10, 10] = 1

    def __len__(self) -> int:
        return len(self.paths)

    def kernel(self) -> Any:
        side = random.choice(range(7, 22, 2))
        around = (21 - side) // 2
        return torch.FloatTensor(np.pad(gaussian(side), around))

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        data = np.frombuffer(Path(self.paths[index]).read_bytes(), np.uint8)
        gt = cv2.imdecode(data, cv2.IMREAD_COLOR).astype(np.float32) / 255.0
        if random.random() < 0.5:
            cv2.flip(gt, 1, gt)
        if random.random() < 0.5:
            gt = gt.transpose(1, 0, 2)
        h, w = gt.shape[:2]
        if h < self.SIDE or w < self.SIDE:
            down, right = max(0, self.SIDE - h), max(0, self.SIDE - w)
            mirrored = cv2.BORDER_REFLECT_101
            gt = cv2.copyMakeBorder(gt, 0, down, 0, right, mirrored)
        if gt.shape[0] > self.SIDE or gt.shape[1] > self.SIDE:
            h, w = gt.shape[:2]
            top = random.randint(0, h - self.SIDE)
            left = random.randint(0, w - self.SIDE)
            gt = gt[top : top + self.SIDE, left : left + self.SIDE, ...]
        kernels = self.kernel(), self.kernel()
        last = self.kernel() if np.random.uniform() < 0.8 else self.pulse
        image = cv2.cvtColor(gt, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)
        return {
            "gt": torch.from_numpy(image).float(),
            "kernel1": kernels[0],
            "kernel2": kernels[1],
            "sinc_kernel": last,
        }


def make(files: Files) -> Program:
    need("cv2")
    return Program(Blind(files.color_pngs()), dict(batch_size=4, shuffle=True))
