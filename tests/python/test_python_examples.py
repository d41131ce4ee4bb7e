# SPDX-License-Identifier: Apache-2.0
"""The examples in examples/python run, and say what they should.

examples/python/ddp.py has its tests in test_with_ddp.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ranks

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name: str, *arguments: str) -> str:
    """What an example prints; it must end well."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        env=ranks.quiet(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_numpy_batches_learn() -> None:
    pytest.importorskip("numpy")
    lines = run("numpy_batches.py", "--epochs", "4").splitlines()
    assert [line.split(",")[0] for line in lines[:4]] == [
        "epoch %d: 96 samples" % epoch for epoch in range(4)
    ]
    right = [float(line.split()[4]) for line in lines[:4]]
    assert right[-1] > right[0]
    assert len(lines) > 4  # what the loader says about the run


def test_numpy_batches_of_files(image_folder: Path) -> None:
    pytest.importorskip("numpy")
    said = run("numpy_batches.py", str(image_folder), "--epochs", "1")
    assert "epoch 0: 24 samples" in said


def test_train_resnet() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    said = run(
        "train_resnet.py", "--steps", "3", "--batch-size", "4", "--size", "32"
    )
    assert "3 steps" in said and "images/s" in said
    assert "torch's own loader ran" not in said


def test_first_epochs(image_folder: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    said = run("first_epochs.py", str(image_folder), "--epochs", "2")
    assert said.splitlines()[-1].endswith(" images/s")
    assert len(said.splitlines()) > 2
