# SPDX-License-Identifier: Apache-2.0
"""Records with a header and an image, decoded by OpenCV, PIL in the chain."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path
from typing import Any, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program, need
from programs.seeded_workers import init_worker


class Records(Dataset):
    def __init__(self, path: str, offsets: List[int]) -> None:
        self.path, self.offsets = path, offsets
        self.transform = transforms.Compose(
            [
                transforms.ToPILImage(),
                transforms.Resize((56, 56)),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(mean=[0.5] * 3, std=[0.5] * 3),
            ]
        )

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        with open(self.path, "rb") as f:
            f.seek(self.offsets[index])
            label, size = struct.unpack("<fI", f.read(8))
            data = np.frombuffer(f.read(size), np.uint8)
        sample = cv2.cvtColor(cv2.imdecode(data, 1), cv2.COLOR_BGR2RGB)
        return self.transform(sample), torch.tensor(label).long()


def make(files: Files) -> Program:
    need("cv2")
    record, offsets = files.root / "train.rec", []
    with open(record, "wb") as f:
        for i, path in enumerate(files.photos()):
            data = Path(path).read_bytes()
            offsets.append(f.tell())
            f.write(struct.pack("<fI", i % 7, len(data)) + data)
    init = partial(init_worker, num_workers=1, rank=0, seed=5)
    return Program(
        Records(str(record), offsets),
        dict(batch_size=5, shuffle=True, worker_init_fn=init),
    )
