# SPDX-License-Identifier: Apache-2.0
"""What CTest sees of a file of Python tests: its status and its reasons."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import List, Tuple

RUN_FILE = Path(__file__).with_name("run_file.py")

SKIPPED_WHOLE = """
import pytest
pytest.skip("no such device", allow_module_level=True)
"""
SKIPPED_IN_PART = """
import pytest
@pytest.mark.skipif(True, reason="no such package")
def test_a(): pass
def test_b(): pass
"""
FAILING = SKIPPED_IN_PART + "def test_c(): assert False\n"


def run(folder: Path, text: str) -> Tuple[int, List[str]]:
    """The exit status, and the lines that scripts/test adds up."""
    path = folder / "test_of_mine.py"
    path.write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-B",
            str(RUN_FILE),
            str(path),
            "-p",
            "no:cacheprovider",
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    return done.returncode, [l for l in lines if l.startswith("skipped: ")]


def test_a_file_that_is_skipped_is_a_skip(tmp_path: Path) -> None:
    assert run(tmp_path, SKIPPED_WHOLE) == (77, ["skipped: no such device"])


def test_what_ran_counts_and_reasons_are_told(tmp_path: Path) -> None:
    assert run(tmp_path, SKIPPED_IN_PART) == (0, ["skipped: no such package"])


def test_a_failure_is_one(tmp_path: Path) -> None:
    assert run(tmp_path, FAILING) == (1, ["skipped: no such package"])
