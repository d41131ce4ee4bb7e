# SPDX-License-Identifier: Apache-2.0
"""The test images as objects of a server, and data sets of them."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import List

import pytest

import feedline
from feedline import Dataset

# Part of a URL that nobody may see.
SECRET = "X-Amz-Signature=0123456789"


def make_shards(images: Path, folder: Path) -> Path:
    """The images in three tar files, and as they are."""
    photos = sorted(images.rglob("*.jpg"))
    for i in range(3):
        with tarfile.open(folder / ("%d.tar" % i), "w") as tar:
            for photo in photos[i::3]:
                tar.add(photo, photo.relative_to(images))
    shutil.copytree(images, folder / "photos")
    return folder


def open_remote(uri: str) -> Dataset:
    try:
        return Dataset.open(uri)
    except feedline.Error as error:
        if "libcurl" in str(error):
            pytest.skip("no libcurl")
        raise


def urls(shards: Path, address: str) -> List[str]:
    photos = sorted((shards / "photos").rglob("*.jpg"))
    return ["%s/%s" % (address, p.relative_to(shards)) for p in photos]


def write_list(path: Path, lines: List[str]) -> Path:
    rows = ["%s %d" % (line, i % 3) for i, line in enumerate(lines)]
    path.write_text("\n".join(rows))
    return path
