# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/migrate/: ours, those of the other library where it is
installed, and those that hold the batches of both against each other.

CI has torch and webdataset. bench/peers/migration_pages has all of them, says
so by FEEDLINE_TEST_PEERS=1, and may name photos by FEEDLINE_TEST_PHOTOS.
"""

from __future__ import annotations

import io
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Iterable, List, Tuple

import markdown_examples
import pytest
import shard_writers
from images import Image

PAGES = Path(__file__).resolve().parents[2] / "docs" / "migrate"
PROGRAM = Path(__file__).with_name("markdown_examples.py")
# What the other library's lines import.
PACKAGES = {
    "from-torch.md": "torch",
    "from-dali.md": "nvidia.dali",
    "from-ffcv.md": "ffcv",
    "from-webdataset.md": "webdataset",
    "from-tfdata.md": "tensorflow",
}
OTHERS = {page: name for page, name in PACKAGES.items() if name != "torch"}
CODE = re.compile(r"`([^`]+)`")


def write_tar(path: Path, samples: List[Tuple[bytes, int]]) -> None:
    members = []
    for i, (jpeg, label) in enumerate(samples):
        members.append(("%03d.cls" % i, b"%d" % label))
        members.append(("%03d.jpg" % i, jpeg))
    shard_writers.write_tar(path, members)


def write_tfrecord(path: Path, samples: List[Tuple[bytes, int]]) -> None:
    examples = [
        {
            "image/encoded": shard_writers.bytes_feature(jpeg),
            "image/class/label": shard_writers.int_feature(label),
        }
        for jpeg, label in samples
    ]
    shard_writers.write_examples(path, examples)


def write_beton(path: Path, samples: List[Tuple[bytes, int]]) -> None:
    rows = []
    for jpeg, label in samples:
        size = Image.open(io.BytesIO(jpeg)).size
        image = shard_writers.beton_image(0, size)
        rows.append((image, bytes(3), struct.pack("<q", label)))
    shard_writers.write_beton_fields(
        path, [(2, "image"), (1, "label")], rows, [(s[0],) for s in samples]
    )


@pytest.fixture(scope="module")
def here(image_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the images and all shards that the pages name."""
    folder = tmp_path_factory.mktemp("migrate")
    photos = Path(os.environ.get("FEEDLINE_TEST_PHOTOS") or image_folder)
    (folder / "photos").symlink_to(photos.resolve())
    classes = sorted(photos.iterdir())
    samples = [
        (path.read_bytes(), label)
        for label, name in enumerate(classes)
        for path in sorted(name.iterdir())
    ]
    halves = samples[: len(samples) // 2], samples[len(samples) // 2 :]
    for i, half in enumerate(halves):
        write_tar(folder / ("train-%03d.tar" % i), half)
        write_tfrecord(folder / ("train-%d.tfrecord" % i), half)
    write_beton(folder / "train.beton", samples)
    return folder


def run_pages(folder: Path, names: Iterable[str], *choice: str) -> None:
    pages = [str(PAGES / name) for name in names]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *pages, *choice],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0
    assert done.stdout


def need(*modules: str) -> None:
    for name in modules:
        if not markdown_examples.installed(name):
            assert os.environ.get("FEEDLINE_TEST_PEERS") != "1", name
            pytest.skip("there is no " + name)


def test_our_lines_with_torch(here: Path) -> None:
    need("torch", "torchvision")
    pages = [page for page in PACKAGES if page != "from-tfdata.md"]
    others = ",".join(OTHERS.values())
    run_pages(here, pages, "--with", "torch", "--without", others)


def test_our_lines_without_torch(here: Path) -> None:
    need("numpy")
    without = ",".join(["torch", "torchvision", *OTHERS.values()])
    pages = ("from-dali.md", "from-tfdata.md")
    run_pages(here, pages, "--without", without)


@pytest.mark.parametrize("page", OTHERS)
def test_their_lines_and_both(here: Path, page: str) -> None:
    need("torch", "torchvision", OTHERS[page])
    run_pages(here, [page], "--with", OTHERS[page])


def cells(page: str) -> List[str]:
    """Code in the table that sets the lines of both side by side."""
    text = (PAGES / page).read_text(encoding="utf-8")
    section = text.split("## Line by line\n")[1].split("\n## ")[0]
    table = section.strip().split("\n\n")[0]
    return CODE.findall(table)


@pytest.mark.parametrize("page", PACKAGES)
def test_what_stands_side_by_side_is_run(page: str) -> None:
    programs = "".join(markdown_examples.examples(PAGES / page))
    programs = "".join(programs.split())
    for code in cells(page):
        assert "".join(code.split()) in programs, code
