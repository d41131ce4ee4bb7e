# SPDX-License-Identifier: Apache-2.0
"""Low light: pairs cut and turned alike, the dark one also equalized.

Made as the data set of wyf0912/LLFlow.
"""

from __future__ import annotations

import random
from typing import Any, Dict, List

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Lights(Dataset):
    SIDE = 48

    def __init__(self, dark: List[str], bright: List[str]) -> None:
        self.dark, self.bright = dark, bright

    def __len__(self) -> int:
        return len(self.bright)

    @staticmethod
    def equalized(image: Any) -> Any:
        cv2 = need("cv2")
        return cv2.merge([cv2.equalizeHist(c) for c in cv2.split(image)])

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        images = []
        for path in (self.dark[index], self.bright[index]):
            images.append(cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB))
        images.append(self.equalized(images[0]))
        h, w, _ = images[0].shape
        top = random.randint(0, h - self.SIDE)
        left = random.randint(0, w - self.SIDE)
        box = np.s_[top : top + self.SIDE, left : left + self.SIDE, :]
        images = [image[box] for image in images]
        if np.random.choice([True, False]):
            images = [np.flip(image, axis=1).copy() for image in images]
        turns = random.randint(0, 3)
        images = [np.rot90(image, turns, axes=(0, 1)) for image in images]
        images = [image.astype(np.float32) / 255.0 for image in images]
        images = [np.ascontiguousarray(x.transpose(2, 0, 1)) for x in images]
        low, high, equal = map(torch.from_numpy, images)
        return {"LQ": low, "GT": high, "his": equal}


def make(files: Files) -> Program:
    need("cv2")
    folder, dark = files.folder("dark"), []
    bright = files.color_pngs()
    for i, path in enumerate(bright):
        dark.append(str(folder / ("%04d.png" % i)))
        with Image.open(path) as image:
            image.point(lambda v: v // 6).save(dark[-1])
    return Program(Lights(dark, bright), dict(batch_size=4, shuffle=True))
