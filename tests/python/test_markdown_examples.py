# SPDX-License-Identifier: Apache-2.0
"""The Python examples of the READMEs and of all pages of the documentation run
as they stand; those of a framework where it is installed. tests/docs/ says
which blocks there are, and which pages other tests run.

Each runs in a fork of a process that has imported torch once, in a folder that
has what the pages name: a folder of classes called photos.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import markdown_examples
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("markdown_examples.py")
PAGES = [
    str(ROOT / page)
    for page in markdown_examples.code_blocks.pages(ROOT)
    if page not in markdown_examples.code_blocks.RUN_BY
]
TORCH = "torch,torchvision"
# From Python 3.12 on a fork beside idle threads, as numpy has them, is told of.
QUIET = ("-W", "ignore:This process:DeprecationWarning")


def run_pages(folder: Path, *pages_and_choice: str) -> None:
    """Runs examples of pages in a folder; they must say nothing on stderr,
    where warnings would be."""
    done = subprocess.run(
        [sys.executable, *QUIET, str(PROGRAM), *pages_and_choice],
        cwd=folder,
        # tqdm's bars and lines of torch's profiler belong there.
        env={**os.environ, "TQDM_DISABLE": "1", "KINETO_LOG_LEVEL": "99"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout


@pytest.fixture
def here(image_folder: Path, tmp_path: Path) -> Path:
    """A folder with photos in it."""
    (tmp_path / "photos").symlink_to(image_folder)
    return tmp_path


def test_examples_with_torch(here: Path) -> None:
    for module in TORCH.split(","):
        if importlib.util.find_spec(module) is None:
            pytest.skip("there is no %s" % module)
    run_pages(here, *PAGES, "--with", TORCH)


def test_examples_without_torch(here: Path) -> None:
    without = TORCH
    if importlib.util.find_spec("numpy") is None:
        without += ",numpy"
    run_pages(here, *PAGES, "--without", without)


def test_choice_of_examples() -> None:
    assert markdown_examples.imports_any("import torch\n", ["torch"])
    assert markdown_examples.imports_any(
        "from feedline.torch import DataLoader\n", ["torch"]
    )
    assert markdown_examples.imports_any("x = batch.numpy()\n", ["numpy"])
    assert not markdown_examples.imports_any("import feedline\n", ["torch"])
