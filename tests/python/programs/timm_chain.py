# SPDX-License-Identifier: Apache-2.0
"""timm's data set and chain: RandAugment, colour, erasing."""

from __future__ import annotations

from programs.program_files import Files, Program, need


def make(files: Files) -> Program:
    timm = need("timm.data")
    chain = timm.create_transform(
        input_size=64,
        is_training=True,
        color_jitter=0.3,
        auto_augment="rand-m7-mstd0.5-inc0",
        interpolation="bicubic",
        re_prob=0.25,
        re_mode="pixel",
    )
    data = timm.ImageDataset(files.classes(), transform=chain)
    return Program(data, dict(batch_size=5, shuffle=True))
