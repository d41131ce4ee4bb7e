# SPDX-License-Identifier: Apache-2.0
"""PNG in a zip file, as arrays of uint8 in CHW; mirrored by slicing."""

from __future__ import annotations

import zipfile
from typing import Any, List, Tuple

import numpy as np
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program


class Zipped(Dataset):
    def __init__(self, path: str, mirror: bool = True) -> None:
        self.path = path
        self.file: Any = None
        with zipfile.ZipFile(path) as z:
            names = sorted(z.namelist())
        self.names: List[str] = names
        self.mirror = mirror

    def __getstate__(self) -> Any:
        return dict(self.__dict__, file=None)

    def __len__(self) -> int:
        return len(self.names) * (2 if self.mirror else 1)

    def read(self, index: int) -> Any:
        if self.file is None:
            self.file = zipfile.ZipFile(self.path)
        with self.file.open(self.names[index], "r") as f:
            image = np.array(Image.open(f))
        if image.ndim == 2:
            image = image[:, :, np.newaxis]
        return image.transpose(2, 0, 1)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        image = self.read(index % len(self.names))
        if index >= len(self.names):
            image = image[:, :, ::-1]
        return image.copy(), np.zeros([0], dtype=np.float32)


def make(files: Files) -> Program:
    path = files.root / "images.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        for i, png in enumerate(files.photos()):
            name = files.root / "one.png"
            Image.open(png).convert("RGB").resize((64, 64)).save(name)
            z.write(name, "%05d.png" % i)
    return Program(Zipped(str(path)), dict(batch_size=6, shuffle=True))
