# SPDX-License-Identifier: Apache-2.0
"""Faces in MXNet's RecordIO, read by hand, to (x - 127.5) / 127.5.

Made as arcface_torch of deepinsight/insightface, without mxnet.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need

MAGIC = 0xCED7230A


def write(path: Path, images: List[str]) -> List[int]:
    """A record file; where each record begins."""
    offsets = []
    with open(path, "wb") as f:
        for i, image in enumerate(images):
            data = struct.pack("<IfQQ", 0, i % 7, i, 0)
            data += Path(image).read_bytes()
            offsets.append(f.tell())
            f.write(struct.pack("<II", MAGIC, len(data)) + data)
            f.write(b"\0" * (-len(data) % 4))
    return offsets


class Faces(Dataset):
    def __init__(self, path: str, offsets: List[int]) -> None:
        self.path, self.offsets = path, offsets

    def __len__(self) -> int:
        return len(self.offsets)

    def record(self, index: int) -> Tuple[float, bytes]:
        with open(self.path, "rb") as f:
            f.seek(self.offsets[index])
            magic, length = struct.unpack("<II", f.read(8))
            assert magic == MAGIC
            data = f.read(length & ((1 << 29) - 1))
        _, label, _, _ = struct.unpack("<IfQQ", data[:24])
        return label, data[24:]

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        label, data = self.record(index)
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        image = cv2.resize(image, (56, 56))
        if random.random() > 0.5:
            image = np.fliplr(image)
        image = image.transpose(2, 0, 1).astype(np.float32)
        image -= 127.5
        image /= 127.5
        return torch.from_numpy(image), torch.tensor(int(label))


def make(files: Files) -> Program:
    need("cv2")
    record = files.root / "train.rec"
    offsets = write(record, files.photos())
    data = Faces(str(record), offsets)
    return Program(data, dict(batch_size=5, shuffle=True))
