# SPDX-License-Identifier: Apache-2.0
"""16-bit images and TIFF, scaled by numpy with the window of the data."""

from __future__ import annotations

import random
from typing import Any, Dict, List

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program, smooth


class Scans(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        scan = np.array(Image.open(self.paths[index])).astype(np.float32)
        scan = (scan - scan.mean()) / (scan.std() + 1e-6)
        y = random.randint(0, scan.shape[0] - 48)
        x = random.randint(0, scan.shape[1] - 48)
        scan = scan[y : y + 48, x : x + 48]
        return {"image": torch.from_numpy(scan[None]), "index": index}


def make(files: Files) -> Program:
    folder, paths = files.folder("scans"), []
    for i in range(files.count):
        path = folder / ("%04d.%s" % (i, "tif" if i % 2 else "png"))
        gray = np.asarray(smooth(files.size(i), i, "L")).astype(np.uint16)
        Image.fromarray(gray * 257).save(path)
        paths.append(str(path))
    return Program(Scans(paths), dict(batch_size=5, shuffle=True))
