# SPDX-License-Identifier: Apache-2.0
"""Detection: keep the ratio, flip, normalize in place, pad to a multiple.

Made as the pipeline for Faster R-CNN of open-mmlab/mmdetection.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need

MEAN = np.array([123.675, 116.28, 103.53], dtype=np.float32)
STD = np.array([58.395, 57.12, 57.375], dtype=np.float32)


def load(found: Dict[str, Any]) -> None:
    cv2 = need("cv2")
    data = np.frombuffer(Path(found["path"]).read_bytes(), np.uint8)
    found["img"] = cv2.imdecode(data, cv2.IMREAD_COLOR)


def resize(found: Dict[str, Any]) -> None:
    cv2 = need("cv2")
    h, w = found["img"].shape[:2]
    long, short = random.choice([(120, 80), (150, 90)])
    factor = min(long / max(h, w), short / min(h, w))
    size = int(w * factor + 0.5), int(h * factor + 0.5)
    found["img"] = cv2.resize(
        found["img"], size, dst=None, interpolation=cv2.INTER_LINEAR
    )
    scale = np.array([size[0] / w, size[1] / h] * 2, dtype=np.float32)
    found["boxes"] = found["boxes"] * scale


def flip(found: Dict[str, Any]) -> None:
    if np.random.random() < 0.5:
        found["img"] = np.flip(found["img"], axis=1)
        boxes, w = found["boxes"], found["img"].shape[1]
        left = w - boxes[:, 2]
        boxes[:, 2], boxes[:, 0] = w - boxes[:, 0], left


def normalize(found: Dict[str, Any]) -> None:
    cv2 = need("cv2")
    img = found["img"].copy().astype(np.float32)
    mean = np.float64(MEAN.reshape(1, -1))
    factor = 1 / np.float64(STD.reshape(1, -1))
    cv2.cvtColor(img, cv2.COLOR_BGR2RGB, img)
    cv2.subtract(img, mean, img)
    cv2.multiply(img, factor, img)
    found["img"] = img


def pad(found: Dict[str, Any]) -> None:
    cv2 = need("cv2")
    h, w = found["img"].shape[:2]
    plain, (down, right) = cv2.BORDER_CONSTANT, (-h % 32, -w % 32)
    found["img"] = cv2.copyMakeBorder(
        found["img"], 0, down, 0, right, plain, value=0
    )


def pack(found: Dict[str, Any]) -> None:
    img = found["img"]
    if img.flags.c_contiguous:
        img = torch.from_numpy(img).permute(2, 0, 1).contiguous()
    else:
        img = torch.from_numpy(np.ascontiguousarray(img.transpose(2, 0, 1)))
    found["img"] = img


class Boxes(Dataset):
    STEPS = (load, resize, flip, normalize, pad, pack)

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        boxes = np.array([[4, 5, 30, 40], [9, 2, 50, 44]], dtype=np.float32)
        found: Dict[str, Any] = {"path": self.paths[index], "boxes": boxes}
        for step in self.STEPS:
            step(found)
        return {"inputs": found["img"], "boxes": found["boxes"]}


def listed(samples: Any) -> Any:
    return {key: [sample[key] for sample in samples] for key in samples[0]}


def make(files: Files) -> Program:
    need("cv2")
    arguments = dict(batch_size=3, shuffle=True, collate_fn=listed)
    return Program(Boxes(files.photos()), arguments)
