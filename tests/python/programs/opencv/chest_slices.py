# SPDX-License-Identifier: Apache-2.0
"""Gray slices with more contrast, in three equal channels.

Made as public programs for chest X-rays that call createCLAHE.
"""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need, smooth


class Slices(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        image = cv2.imread(self.paths[index], cv2.IMREAD_GRAYSCALE)
        if image is None:
            raise FileNotFoundError(self.paths[index])
        image = cv2.resize(image, (72, 72), interpolation=cv2.INTER_AREA)
        clahe = cv2.createCLAHE(clipLimit=2.0, tileGridSize=(8, 8))
        image = clahe.apply(image)
        y, x = random.randint(0, 8), random.randint(0, 8)
        image = image[y : y + 64, x : x + 64]
        if random.random() < 0.5:
            image = cv2.flip(image, 1)
        image = np.stack([image] * 3, axis=0).astype(np.float32) / 255.0
        label = np.array([index % 2, index % 3 == 0], np.float32)
        return torch.from_numpy(image), torch.from_numpy(label)


def make(files: Files) -> Program:
    need("cv2")
    folder, paths = files.folder("slices"), []
    for i in range(files.count):
        path = folder / ("%04d.%s" % (i, "jpg" if i % 2 else "png"))
        smooth(files.size(i), 90 + i, "L").save(path)
        paths.append(str(path))
    return Program(Slices(paths), dict(batch_size=4, shuffle=True))
