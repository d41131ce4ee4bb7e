# SPDX-License-Identifier: Apache-2.0
"""Text recognition: gray, 32 rows, the rest of the width filled.

Made as PaddlePaddle/PaddleOCR and meijieru/crnn.pytorch.
"""

from __future__ import annotations

import math
from typing import Any, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Words(Dataset):
    HIGH, WIDE = 32, 100

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, str, float]:
        cv2 = need("cv2")
        image = cv2.imread(self.paths[index])
        image = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        h, w = image.shape
        wide = min(self.WIDE, math.ceil(self.HIGH * w / h))
        size, rest = (wide, self.HIGH), self.WIDE - wide
        image = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
        plain = cv2.BORDER_CONSTANT
        image = cv2.copyMakeBorder(image, 0, 0, 0, rest, plain, value=127)
        image = image.astype(np.float32)
        image = image[np.newaxis, :] / 255
        image -= 0.5
        image /= 0.5
        return torch.from_numpy(image), "w%d" % index, wide / self.WIDE


def make(files: Files) -> Program:
    need("cv2")
    return Program(Words(files.photos()), dict(batch_size=5, shuffle=True))
