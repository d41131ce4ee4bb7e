# SPDX-License-Identifier: Apache-2.0
"""Few photos of one subject: the turn of EXIF, a prompt, own collate."""

from __future__ import annotations

from typing import Any, Dict, List

import torch
from PIL import Image
from PIL.ImageOps import exif_transpose
from torch.utils.data import Dataset
from torchvision import transforms

from programs.image_and_text import tokenize
from programs.program_files import Files, Program


class Subject(Dataset):
    def __init__(self, subject: List[str], others: List[str]) -> None:
        self.subject, self.others = subject, others
        self.transform = transforms.Compose(
            [
                transforms.Resize(64, transforms.InterpolationMode.BILINEAR),
                transforms.RandomCrop(64),
                transforms.ToTensor(),
                transforms.Normalize([0.5], [0.5]),
            ]
        )

    def __len__(self) -> int:
        return max(len(self.subject), len(self.others))

    def read(self, path: str) -> Any:
        image = exif_transpose(Image.open(path))
        if not image.mode == "RGB":
            image = image.convert("RGB")
        return self.transform(image)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        example = {}
        example["instance"] = self.read(self.subject[index % len(self.subject)])
        example["instance_ids"] = tokenize("a photo of one harbour")
        example["prior"] = self.read(self.others[index % len(self.others)])
        example["prior_ids"] = tokenize("a photo of the house")
        return example


def collate(examples: Any) -> Dict[str, torch.Tensor]:
    ids = [e["instance_ids"] for e in examples]
    ids += [e["prior_ids"] for e in examples]
    pixels = [e["instance"] for e in examples] + [e["prior"] for e in examples]
    stacked = torch.stack(pixels)
    stacked = stacked.to(memory_format=torch.contiguous_format).float()
    ids = torch.cat([row.unsqueeze(0) for row in ids], dim=0)
    return {"input_ids": ids, "pixel_values": stacked}


def make(files: Files) -> Program:
    data = Subject(files.turned()[:8], files.photos())
    return Program(data, dict(batch_size=2, shuffle=True, collate_fn=collate))
