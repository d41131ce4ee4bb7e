# SPDX-License-Identifier: Apache-2.0
"""Images are written in place: a patch pasted, a box drawn, a pixel set."""

from __future__ import annotations

import random
from typing import Any, List, Tuple

from PIL import Image, ImageDraw
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class Hidden(Dataset):
    """What an eraser hid, beside the whole."""

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.to_tensor = transforms.ToTensor()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        image = Image.open(self.paths[index]).convert("RGB").resize((64, 64))
        whole = self.to_tensor(image)
        x, y = random.randrange(40), random.randrange(40)
        kind = index % 4
        if kind == 0:
            image.paste((128, 128, 128), (x, y, x + 20, y + 16))
        elif kind == 1:
            pen = ImageDraw.Draw(image)
            pen.rectangle([x, y, x + 20, y + 20], fill=(0, 0, 0))
        elif kind == 2:
            for i in range(8):
                image.putpixel((x + i, y + i), (255, 255, 255))
        else:
            whole[:, y : y + 9, x : x + 9] = 0.0
        return self.to_tensor(image), whole


def make(files: Files) -> Program:
    return Program(Hidden(files.photos()), dict(batch_size=4, shuffle=True))
