# SPDX-License-Identifier: Apache-2.0
"""import_tree.py FOLDER ORDER...: imports packages in every order asked for.

An ORDER is names with commas between: "torch,feedline,PIL". Orders that begin
alike share that beginning: the process forks where they part, so torch, which
takes seconds, is not imported once for each. At the end of an order every
package decodes each file of FOLDER, and a line says what it made of it:

    {"order": "torch,feedline,PIL", "pixels": {"PIL a.jpg": "5d41402a...", ...}}

What differs from order to order is a clash between the packages' libraries.
"""

from __future__ import annotations

import ctypes
import faulthandler
import hashlib
import importlib
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import forks


STUCK_AFTER_S = 120  # then it says where
WIDTH, HEIGHT = 97, 61  # of all files


def of_feedline(path: Path) -> bytes:
    feedline = sys.modules["feedline"]
    # To the size that they have, which changes no pixel.
    same = feedline.Pipeline().add("resize", width=WIDTH, height=HEIGHT)
    options = dict(batch_size=1, workers=1, dtype="u8", layout="nhwc")
    with feedline.Dataset.paths([str(path)]) as dataset:
        with feedline.Loader(dataset, same, **options) as loader:
            return pixels_of(next(iter(loader)).images)


def pixels_of(tensor: Any) -> bytes:
    """The bytes of a batch in host memory, without numpy."""
    where, _ = tensor.__array_interface__["data"]
    return ctypes.string_at(where, math.prod(tensor.shape))


def of_pillow(path: Path) -> bytes:
    from PIL import Image

    with Image.open(path) as image:
        return image.convert("RGB").tobytes()


def of_torch(path: Path) -> bytes:
    """torch itself decodes nothing: a product, by its own threads."""
    torch = sys.modules["torch"]
    square = torch.arange(4096.0).reshape(64, 64)
    return bytes((square @ square).sum(0).long().tolist().__repr__(), "ascii")


def of_torchvision(path: Path) -> bytes:
    from torchvision.io import ImageReadMode, read_image

    image: Any = read_image(str(path), ImageReadMode.RGB)
    return bytes(image.flatten().tolist())


def of_opencv(path: Path) -> bytes:
    image: Any = sys.modules["cv2"].imread(str(path))
    return bytes(image.tobytes())


DECODERS: Dict[str, Callable[[Path], bytes]] = {
    "feedline": of_feedline,
    "PIL": of_pillow,
    "torch": of_torch,
    "torchvision": of_torchvision,
    "cv2": of_opencv,
}


def decode_all(folder: Path, order: List[str]) -> None:
    faulthandler.dump_traceback_later(STUCK_AFTER_S, exit=True)
    pixels = {
        "%s %s"
        % (name, path.name): hashlib.md5(DECODERS[name](path)).hexdigest()
        for name in order
        for path in sorted(folder.iterdir())
    }
    print(json.dumps({"order": ",".join(order), "pixels": pixels}), flush=True)


def walk(folder: Path, done: List[str], orders: List[List[str]]) -> None:
    """In a process that has imported `done`: the rest of the orders.

    Whatever works does so in a child: after their first work packages have
    threads, and do not survive a fork.
    """
    if [] in orders:
        in_child(lambda: decode_all(folder, done))
    for name in dict.fromkeys(order[0] for order in orders if order):
        rest = [order[1:] for order in orders if order and order[0] == name]
        in_child(lambda: go_on(folder, done + [name], rest))


def go_on(folder: Path, done: List[str], rest: List[List[str]]) -> None:
    """Imports the last of `done`, and walks on from there."""
    importlib.import_module("PIL.Image" if done[-1] == "PIL" else done[-1])
    walk(folder, done, rest)


def in_child(work: Callable[[], None]) -> None:
    """Does the work in a child, and ends with it if that goes wrong."""
    status = forks.run(work)
    if status != 0:
        print("a child ended with status %d" % status, file=sys.stderr)
        os._exit(1)


if __name__ == "__main__":
    walk(Path(sys.argv[1]), [], [order.split(",") for order in sys.argv[2:]])
