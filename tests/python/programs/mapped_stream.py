# SPDX-License-Identifier: Apache-2.0
"""A mapper over an endless order of dicts: arrays, one resize, moved boxes."""

from __future__ import annotations

import copy
from typing import Any, Dict, Iterator, List

import numpy as np
import torch
from PIL import Image
from torch.utils.data import IterableDataset

from programs.program_files import Files, Program


def mapper(record: Dict[str, Any]) -> Dict[str, Any]:
    record = copy.deepcopy(record)
    image = np.asarray(Image.open(record["file_name"]).convert("RGB"))
    short = int(np.random.choice([40, 48, 56]))
    h, w = image.shape[:2]
    scale = short / min(h, w)
    size = int(w * scale + 0.5), int(h * scale + 0.5)
    image = np.asarray(Image.fromarray(image).resize(size, Image.BILINEAR))
    boxes = np.array(record.pop("boxes"), dtype=np.float64)
    boxes *= [size[0] / w, size[1] / h] * 2
    if np.random.uniform() < 0.5:
        image = image[:, ::-1]
        boxes[:, [0, 2]] = size[0] - boxes[:, [2, 0]]
    chw = np.ascontiguousarray(image.transpose(2, 0, 1))
    record["image"] = torch.as_tensor(chw)
    record["boxes"] = torch.as_tensor(boxes.astype(np.float32))
    return record


class Mapped(IterableDataset):
    def __init__(self, records: List[Dict[str, Any]], seed: int = 4) -> None:
        self.records, self.seed = records, seed

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        order = np.random.RandomState(self.seed).permutation(len(self.records))
        for i in order:
            yield mapper(self.records[i])


def collate(batch: Any) -> Any:
    return batch


def make(files: Files) -> Program:
    records = [
        {"file_name": path, "image_id": i, "boxes": [[2, 3, 20 + i, 30]]}
        for i, path in enumerate(files.photos())
    ]
    return Program(Mapped(records), dict(batch_size=3, collate_fn=collate))
