# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/recipes.md run as that page says: natively or in part.

A recipe may be more native than the page says, which then is to be made anew:

    python3 tests/python/test_torch_recipes.py docs/recipes.md FOLDER_OF_IMAGES
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

from torch_cases import T, Ours, torch, torchvision, v2

import feedline
from feedline.torch import FallbackWarning
from feedline.torch.native import NotNative, head_of, plan

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
MARKS = ("torch", "in part", "native")  # the more, the better
SECTION = re.compile(
    r"^(## (\d+)\. .*: )(.*)\n\n```python\n((?:(?!```).*\n)*)```\n"
    r"((?:\n(?:    .*\n)+)?)",
    re.M,
)


NAME = re.compile(r"^By name: `([\w-]+)`", re.M)


def sections() -> Dict[str, Tuple[str, str]]:
    """The mark and the lines of each recipe, by its number."""
    page = PAGE.read_text(encoding="utf-8")
    return {m[2]: (m[3], m[4]) for m in SECTION.finditer(page)}


def loader_of(lines: str, photos: str) -> Any:
    """What a recipe stands for. ImportError: something is not installed."""
    from PIL import Image, ImageFilter, ImageOps

    mode = T.InterpolationMode
    names: Dict[str, Any] = {
        "T": T,
        "v2": v2,
        "torch": torch,
        "random": random,
        "torchvision": torchvision,
        "photos": photos,
        "Image": Image,
        "ImageFilter": ImageFilter,
        "ImageOps": ImageOps,
        "ImageFolder": torchvision.datasets.ImageFolder,
        "BILINEAR": mode.BILINEAR,
        "BICUBIC": mode.BICUBIC,
        "NORMALIZE": T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    }
    if "create_transform" in lines:
        import timm.data

        names["create_transform"] = timm.data.create_transform
    if "v2." in lines and v2 is None:
        raise ImportError("no torchvision.transforms.v2")
    if "VOC" in lines:
        from moving_cases import voc_tree

        names["voc"] = str(voc_tree(Path(photos).with_name("voc_of_recipes")))
    # By a file's name, as some transforms are known by their source.
    exec(compile(lines, _written(lines), "exec"), names)
    dataset = names.get("dataset")
    if dataset is None:
        dataset = torchvision.datasets.ImageFolder(photos, names["chain"])
    return Ours(dataset, 3, collate_fn=names.get("collate"))


def named() -> List[Tuple[str, str]]:
    """The name of a recipe, and its number."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    return [
        (m[1], part.split(".")[0])
        for part in parts
        for m in NAME.finditer(part)
    ]


def _written(lines: str) -> str:
    """The lines as a file, which lasts as long as the process."""
    import atexit
    import os
    import tempfile

    handle, name = tempfile.mkstemp(".py")
    os.write(handle, lines.encode())
    os.close(handle)
    atexit.register(os.unlink, name)
    return name


def mark_of(loader: Any) -> str:
    return MARKS[2 if loader.native else 1 if loader.partly_native else 0]


@pytest.mark.parametrize("number", sections())
def test_recipes(number: str, image_folder: Path) -> None:
    said, lines = sections()[number]
    try:
        loader = loader_of(lines, str(image_folder))
    except ImportError as missing:
        pytest.skip(str(missing))
    found = mark_of(loader)
    assert MARKS.index(found) >= MARKS.index(said), loader.fallback_reason
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        assert next(iter(loader))


@pytest.mark.parametrize("name, number", named())
def test_named_recipes(name: str, number: str, image_folder: Path) -> None:
    """What C calls so is what is made of the Python lines."""
    try:
        loader = loader_of(sections()[number][1], str(image_folder))
    except ImportError as missing:
        pytest.skip(str(missing))
    ours = feedline.Pipeline(name).json()
    found = pipeline_of(loader.dataset)
    assert found and ours == found.json()
    without = re.sub(r',\{"op":"normalize"[^}]*\}', "", ours)
    assert feedline.Pipeline(name + "_u8").json() == without


def pipeline_of(dataset: Any) -> Optional[feedline.Pipeline]:
    """What the engine does."""
    try:
        return plan(dataset).pipeline
    except NotNative:
        pass
    try:
        return head_of(dataset).plan.pipeline
    except NotNative:
        return None


def operations(dataset: Any) -> List[str]:
    """The same, as lines of a pipeline."""
    found = pipeline_of(dataset)
    return list(_lines(found)) if found else []


def _lines(pipeline: feedline.Pipeline, indent: str = "") -> Any:
    for method, arguments in pipeline._steps:
        if method == "_add_text":
            yield indent + " ".join(filter(None, arguments))
        elif method == "views":
            yield "views %d" % arguments[1]
            yield from _lines(arguments[0], "  ")


def _write(page: Path, photos: str) -> None:
    def renewed(match: "re.Match[str]") -> str:
        loader = loader_of(match[4], photos)
        shown = "".join("    %s\n" % x for x in operations(loader.dataset))
        print(match[2], mark_of(loader), loader.fallback_reason)
        return "%s%s\n\n```python\n%s```\n%s" % (
            match[1],
            mark_of(loader),
            match[4],
            "\n" + shown if shown else "",
        )

    text = page.read_text(encoding="utf-8")
    page.write_text(SECTION.sub(renewed, text), encoding="utf-8")


if __name__ == "__main__":
    _write(Path(sys.argv[1]), sys.argv[2])
