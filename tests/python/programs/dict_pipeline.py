# SPDX-License-Identifier: Apache-2.0
"""A pipeline of classes over a dict, with OpenCV: crop, flip, packed inputs."""

from __future__ import annotations

import copy
import random
from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Load:
    def __call__(self, results: Dict[str, Any]) -> Dict[str, Any]:
        cv2 = need("cv2")
        with open(results["img_path"], "rb") as f:
            data = np.frombuffer(f.read(), np.uint8)
        results["img"] = cv2.imdecode(data, cv2.IMREAD_COLOR)
        results["ori_shape"] = results["img"].shape[:2]
        return results


class CropAndResize:
    def __call__(self, results: Dict[str, Any]) -> Dict[str, Any]:
        cv2 = need("cv2")
        img = results["img"]
        side = random.randint(32, min(img.shape[:2]))
        y = random.randint(0, img.shape[0] - side)
        x = random.randint(0, img.shape[1] - side)
        img = img[y : y + side, x : x + side]
        img = cv2.resize(img, (56, 56), interpolation=cv2.INTER_LINEAR)
        results["img"] = img
        return results


class Flip:
    def __call__(self, results: Dict[str, Any]) -> Dict[str, Any]:
        if np.random.rand() < 0.5:
            results["img"] = np.flip(results["img"], axis=1)
        return results


class Pack:
    def __call__(self, results: Dict[str, Any]) -> Dict[str, Any]:
        img = np.ascontiguousarray(results["img"].transpose(2, 0, 1))
        about = {k: results[k] for k in ("img_path", "ori_shape", "label")}
        return {"inputs": torch.from_numpy(img), "data_samples": about}


class Piped(Dataset):
    def __init__(self, infos: List[Dict[str, Any]]) -> None:
        self.infos = infos
        self.pipeline = [Load(), CropAndResize(), Flip(), Pack()]

    def __len__(self) -> int:
        return len(self.infos)

    def __getitem__(self, idx: int) -> Dict[str, Any]:
        results = copy.deepcopy(self.infos[idx])
        for step in self.pipeline:
            results = step(results)
        return results


def collate(batch: Any) -> Dict[str, List[Any]]:
    return {key: [sample[key] for sample in batch] for key in batch[0]}


def make(files: Files) -> Program:
    need("cv2")
    infos = [
        {"img_path": path, "label": i % 3}
        for i, path in enumerate(files.photos())
    ]
    return Program(
        Piped(infos), dict(batch_size=4, shuffle=True, collate_fn=collate)
    )
