#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far quality=fast is from exact: the table of docs/pixels.md.

    quality_report.py RENDER [--write PAGE] [--seed N] FOLDER...

Draws crops as random_resized_crop does, renders each to several sizes both
ways, and compares those for which fast decodes a smaller image. Each FOLDER of
JPEGs (looked through to any depth) is a line of the table; so are photos of 12
megapixels that are generated here. RENDER is the helper built from render.c.
"""
import argparse
import math
import pathlib
import random
import tempfile

import numpy as np
from PIL import Image

from pillow_parity import Renderer, shift_of

SIZES = (224, 128, 64)
DRAWS = 3
BEGIN, END = "<!-- fast: begin -->", "<!-- fast: end -->"


def draw_box(rng, width, height):
    """torchvision's RandomResizedCrop with its defaults."""
    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return rng.randint(0, width - w), rng.randint(0, height - h), w, h
    return 0, 0, width, height


def photo(seed, width, height, grain):
    """Octaves of noise, each half as strong as the one that is four times as
    coarse (so edges and surfaces are as in nature), and a sensor's grain, which
    decides how many bytes the file takes."""
    noise = np.random.default_rng(seed)
    pixels = np.full((height, width, 3), 128, np.float32)
    strength = 60 / 128
    for cells in (4, 16, 64, 250, 1000):
        coarse = noise.integers(
            0, 256, (cells * height // width + 1, cells, 3), np.uint8)
        fine = Image.fromarray(coarse).resize((width, height), Image.BICUBIC)
        pixels += (np.asarray(fine, np.float32) - 128) * strength
        strength /= 2
    pixels += noise.normal(0, grain, (height, width, 1)).astype(np.float32)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


class Errors:
    """Of one scale of one set."""

    def __init__(self):
        self.crops, self.values, self.most = 0, 0, 0
        self.sum, self.squares = 0, 0

    def add(self, a, b):
        d = np.abs(a.astype(np.int64) - b)
        self.crops += 1
        self.values += d.size
        self.most = max(self.most, int(d.max()))
        self.sum += int(d.sum())
        self.squares += int((d * d).sum())

    def row(self, name, shift):
        psnr = 10 * math.log10(255 ** 2 * self.values / max(self.squares, 1))
        return (f"| {name} | 1/{1 << shift} | {self.crops} | "
                f"{self.sum / self.values:.2f} | {self.most} | {psnr:.1f} dB |")


def measure(exact, fast, paths, rng):
    """Errors per scale, and how many crops there were in all."""
    errors, crops = {}, 0
    for path in paths:
        with Image.open(path) as image:
            size = image.size
        for _ in range(DRAWS):
            box = draw_box(rng, *size)
            for side in SIZES:
                g = {"box": box, "resize": (side, side),
                     "window": (0, 0, side, side), "flips": 0, "filter": 0}
                crops += 1
                shift = shift_of(g)
                if shift == 0:
                    continue
                (bad, a), (worse, b) = exact(path, g), fast(path, g)
                if bad or worse:
                    raise SystemExit(f"{path}: {a if bad else b}")
                errors.setdefault(shift, Errors()).add(a, b)
    return errors, crops


def table(sets, render, rng):
    exact = Renderer(render, "avx512")
    fast = Renderer(render, "avx512", ["0", "0", "1"])
    lines = ["| images | scale | crops | mean | maximum | PSNR |",
             "|---|---|---|---|---|---|"]
    for name, paths in sets:
        errors, crops = measure(exact, fast, paths, rng)
        lines += [errors[shift].row(name, shift) for shift in sorted(errors)]
        same = crops - sum(e.crops for e in errors.values())
        lines.append(f"| {name} | 1/1 | {same} | 0 | 0 | equal |")
    exact.close()
    fast.close()
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("render")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_intermixed_args()
    sets = [(folder.name, sorted(p for p in folder.glob("**/*")
                                 if p.suffix.lower() in (".jpg", ".jpeg")))
            for folder in args.folders]
    with tempfile.TemporaryDirectory() as folder:
        for grain in (2, 7):
            photos = [pathlib.Path(folder) / f"{grain}_{i}.jpg"
                      for i in range(4)]
            for i, path in enumerate(photos):
                photo(i, 4000, 3000, grain).save(path, quality=90,
                                                 subsampling=2)
            size = sum(path.stat().st_size for path in photos) / 4e6
            sets.append((f"generated, 12 MP, {size:.1f} MB", photos))
        lines = table(sets, args.render, random.Random(args.seed))
    print("\n".join(lines))
    if args.write:
        page = args.write.read_text()
        head, rest = page.split(BEGIN)
        tail = rest.split(END)[1]
        args.write.write_text(
            head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + tail)


if __name__ == "__main__":
    main()
