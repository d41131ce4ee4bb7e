# SPDX-License-Identifier: Apache-2.0
"""feedline among packages that bring a libjpeg of their own, in any order.

Pillow, torchvision and OpenCV each have their own copies of libjpeg, libpng
and libwebp in one process with ours. Whoever comes first must not lend its
functions to the others. Each package decodes the same files alone, and then
after imports in the orders below: the pixels must stay the same, and nobody may
crash.

torch and torchvision take seconds to import, so feedline is tried at every
place of two orders of the others; with FEEDLINE_TEST_ALL_ORDERS=1, of all.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

import pytest
from import_tree import HEIGHT, WIDTH

TIME_LIMIT_S = 600  # ends what hangs
HELPER = Path(__file__).with_name("import_tree.py")
OTHERS = [
    name
    for name in ("torch", "torchvision", "PIL", "cv2")
    if importlib.util.find_spec(name)
]


def all_orders() -> List[str]:
    """torchvision imports torch, so behind it torch would come for nothing."""
    found = itertools.permutations(["feedline"] + OTHERS)
    return [
        ",".join(order)
        for order in found
        if "torchvision" not in order
        or order.index("torch") < order.index("torchvision")
    ]


def some_orders() -> List[str]:
    """feedline at each place of two orders of the others."""
    rows = [OTHERS, [n for n in ("cv2", "PIL", "torch") if n in OTHERS]]
    return [
        ",".join(row[:at] + ["feedline"] + row[at:])
        for row in rows
        for at in range(len(row) + 1)
    ]


def each_alone() -> List[str]:
    """Orders without feedline, and it without the others."""
    needs = {"torchvision": "torch,torchvision"}
    return ["feedline"] + [needs.get(name, name) for name in OTHERS]


def orders() -> List[str]:
    every = os.environ.get("FEEDLINE_TEST_ALL_ORDERS") == "1"
    return list(dict.fromkeys(all_orders() if every else some_orders()))


def decoded(folder: Path, chosen: List[str]) -> Dict[str, Dict[str, str]]:
    """What import_tree.py says of each order: package and file -> digest."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HELPER), str(folder), *chosen],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["order"]: row["pixels"] for row in rows}


@pytest.fixture(scope="module")
def two_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JPEG with subsampled chroma and a PNG of the same photo-like image."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("files")
    pixels = bytes(
        (x * (c + 2) + y * (5 - c) + (x * y) % 7) % 256
        for y in range(HEIGHT)
        for x in range(WIDTH)
        for c in range(3)
    )
    picture = image.frombytes("RGB", (WIDTH, HEIGHT), pixels)
    picture.save(folder / "a.jpg", quality=85, subsampling=2)
    picture.save(folder / "b.png")
    return folder


def test_pixels_are_the_same_after_imports_in_any_order(
    two_files: Path,
) -> None:
    chosen = orders()
    found = decoded(two_files, chosen + each_alone())
    assert sorted(found) == sorted(set(chosen + each_alone()))
    alone: Dict[str, str] = {}
    for order in each_alone():
        alone.update(found[order])
    assert len(alone) == 2 * (1 + len(OTHERS))
    for name in {what.split()[0] for what in alone} - {"torch"}:
        jpeg, png = alone[name + " a.jpg"], alone[name + " b.png"]
        assert jpeg != png, name + " reads the files"
    for name in (" a.jpg", " b.png"):  # by two libjpegs of one process
        assert alone["feedline" + name] == alone["PIL" + name]
    for order in chosen:
        for what, digest in found[order].items():
            assert digest == alone[what], "%s after %s" % (what, order)
