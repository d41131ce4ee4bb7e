# SPDX-License-Identifier: Apache-2.0
"""Super-resolution: pairs of patches of PNG in LMDB.

Made as the paired data set of XPixelGroup/BasicSR, with its LMDB.
"""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need

SCALE, PATCH = 4, 48


@lru_cache(maxsize=None)
def opened(path: str) -> Any:
    """A process may open a database once only."""
    kind = dict(readonly=True, lock=False, readahead=False, meminit=False)
    return need("lmdb").open(path, **kind)


def store(path: Path, images: List[str]) -> str:
    """A database with the files by their number."""
    lmdb = need("lmdb")
    if not path.exists():
        with lmdb.open(str(path), map_size=1 << 32) as base:
            with base.begin(write=True) as txn:
                for i, image in enumerate(images):
                    txn.put(b"%04d" % i, Path(image).read_bytes())
    return str(path)


class Patches(Dataset):
    def __init__(
        self, sharp: str, small: str, count: int, patch: int = PATCH
    ) -> None:
        self.paths, self.count, self.patch = (sharp, small), count, patch

    def __len__(self) -> int:
        return self.count

    def image(self, which: int, index: int) -> Any:
        cv2 = need("cv2")
        with opened(self.paths[which]).begin(write=False) as txn:
            data = txn.get(b"%04d" % index)
        data = np.frombuffer(data, np.uint8)
        return cv2.imdecode(data, cv2.IMREAD_COLOR).astype(np.float32) / 255.0

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        gt, lq = self.image(0, index), self.image(1, index)
        small = self.patch // SCALE
        h, w = lq.shape[:2]
        top, left = random.randint(0, h - small), random.randint(0, w - small)
        lq = lq[top : top + small, left : left + small, ...]
        top, left = int(top * SCALE), int(left * SCALE)
        gt = gt[top : top + self.patch, left : left + self.patch, ...]
        across, down = random.random() < 0.5, random.random() < 0.5
        turned = random.random() < 0.5
        found = []
        for image in (gt, lq):
            if across:
                cv2.flip(image, 1, image)
            if down:
                cv2.flip(image, 0, image)
            if turned:
                image = image.transpose(1, 0, 2)
            image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
            found.append(torch.from_numpy(image.transpose(2, 0, 1)).float())
        return {"lq": found[1], "gt": found[0], "gt_path": str(index)}


def make(files: Files) -> Program:
    need("cv2")
    sharp, small = files.color_pngs(), files.color_pngs(shrink=SCALE)
    data = Patches(
        store(files.root / "gt.lmdb", sharp),
        store(files.root / "lq.lmdb", small),
        len(sharp),
    )
    return Program(data, dict(batch_size=4, shuffle=True))
