# SPDX-License-Identifier: Apache-2.0
"""Depth: photos with depths of 16 bits, flipped and cut together.

Made as cleinc/bts, with OpenCV in place of Pillow.
"""

from __future__ import annotations

import random
from typing import Any, Dict, List

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need, smooth


class Depths(Dataset):
    HIGH, WIDE = 48, 56

    def __init__(self, photos: List[str], depths: List[str]) -> None:
        self.photos, self.depths = photos, depths

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        image = cv2.imread(self.photos[index])
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB) / 255.0
        depth = cv2.imread(self.depths[index], cv2.IMREAD_ANYDEPTH)
        depth = depth.astype(np.float32) / 256.0
        y = random.randint(0, image.shape[0] - self.HIGH)
        x = random.randint(0, image.shape[1] - self.WIDE)
        image = image[y : y + self.HIGH, x : x + self.WIDE, :]
        depth = depth[y : y + self.HIGH, x : x + self.WIDE]
        if random.random() > 0.5:
            image, depth = image[:, ::-1, :].copy(), depth[:, ::-1].copy()
        image = torch.from_numpy(image.transpose(2, 0, 1)).float()
        return {"image": image, "depth": torch.from_numpy(depth[None])}


def make(files: Files) -> Program:
    need("cv2")
    photos, folder, paths = files.photos(), files.folder("depths"), []
    for i, photo in enumerate(photos):
        path = folder / ("%04d.png" % i)
        with Image.open(photo) as image:
            size = image.size
        gray = np.asarray(smooth(size, 70 + i, "L")).astype(np.uint16)
        Image.fromarray(gray * 100).save(path)
        paths.append(str(path))
    return Program(Depths(photos, paths), dict(batch_size=4, shuffle=True))
