# SPDX-License-Identifier: Apache-2.0
"""Random chains of torchvision's transforms, of either family.

Not all of them are native: some stand where the engine cannot do them.
"""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np

from torch_cases import T, torch
from feedline.transforms import Python

Mode = T.InterpolationMode
FILTERS = (Mode.NEAREST, Mode.BILINEAR, Mode.BICUBIC, Mode.BOX, Mode.LANCZOS)
BORDERS = ("constant", "edge", "reflect", "symmetric")


def invert(pixels: Any) -> None:
    np.subtract(255, pixels, out=pixels)


class Chains:
    """certain: they leave nothing to chance, be it a flip with p=1."""

    def __init__(self, T: Any, draw: random.Random, certain: bool) -> None:
        self.T, self.draw, self.certain = T, draw, certain

    def chance(self) -> float:
        draw = self.draw
        return draw.choice((0.0, 1.0)) if self.certain else draw.random()

    def between(self, low: float, high: float) -> Tuple[float, float]:
        first, last = sorted(self.draw.uniform(low, high) for _ in range(2))
        return (first, first) if self.certain else (first, last)

    def of_maps(self, *filters: Any) -> Any:
        return {
            "interpolation": self.draw.choice(filters),
            "fill": self.draw.choice((0, 255)),
        }

    def step(self) -> Any:
        T, draw = self.T, self.draw
        size, wide = draw.randint(1, 60), draw.randint(1, 60)
        flips = (T.RandomHorizontalFlip, T.RandomVerticalFlip)
        change = draw.choice(("brightness", "contrast", "saturation"))
        steps = [
            lambda: T.CenterCrop((size, wide)),
            lambda: T.Pad(
                draw.randint(0, 9), draw.choice((0, 200)), draw.choice(BORDERS)
            ),
            lambda: T.Pad((3, 1, 0, 5), (1, 2, 3)),
            lambda: draw.choice(flips)(self.chance()),
            lambda: T.ColorJitter(**{change: self.between(0, 2)}),
            lambda: T.ColorJitter(hue=self.between(-0.5, 0.5)),
            lambda: T.Grayscale(draw.choice((1, 3))),
            lambda: T.RandomGrayscale(self.chance()),
            lambda: T.RandomEqualize(self.chance()),
            lambda: T.RandomSolarize(draw.randint(0, 256), self.chance()),
            lambda: T.RandomAdjustSharpness(3 * draw.random(), self.chance()),
            lambda: T.RandomRotation(
                draw.choice(((0, 0), (90, 90), self.between(-180, 180))),
                **self.of_maps(Mode.NEAREST, Mode.BILINEAR),
            ),
            lambda: T.RandomAffine(
                draw.choice(((0, 0), self.between(-40, 40))),
                scale=self.between(0.5, 2),
                shear=self.between(-40, 40),
                **self.of_maps(Mode.NEAREST, Mode.BICUBIC),
            ),
            lambda: Python(invert),
        ]
        if not self.certain:
            steps.append(
                lambda: T.RandomCrop(
                    size, draw.randint(0, 9), pad_if_needed=True, fill=wide
                )
            )
        return draw.choice(steps)()

    def head(self) -> Any:
        """What gives all images one size."""
        T, draw = self.T, self.draw
        sizes = draw.randint(1, 90), draw.randint(1, 90)
        heads = [
            lambda: T.Resize(sizes, draw.choice(FILTERS)),
            lambda: T.CenterCrop(sizes),
        ]
        if not self.certain:
            heads.append(lambda: T.RandomResizedCrop(sizes))
        return draw.choice(heads)()

    def tail(self) -> List[Any]:
        T, draw = self.T, self.draw
        bytes_of, floats_of = [T.PILToTensor()], [T.ToTensor()]
        if hasattr(T, "ToImage"):
            bytes_of = [T.ToImage()]
            floats_of = [T.ToImage(), T.ToDtype(torch.float32, True)]
        scaled = bytes_of + [T.ConvertImageDtype(torch.float32)]
        normal = floats_of + [T.Normalize([0.4], [0.3])]
        found = draw.choice((bytes_of, floats_of, scaled, normal))
        last = [[], [], [], [T.RandomHorizontalFlip(self.chance())]]
        if not self.certain:
            last.append([T.RandomErasing(0.7)])
        return found + draw.choice(last)

    def chain(self) -> Any:
        draw = self.draw
        body = [self.step() for _ in range(draw.randint(0, 3))]
        place = draw.choice((0, 0, len(body)))  # it mostly has to be the first
        body.insert(place, self.head())
        return self.T.Compose(body + self.tail())
