# SPDX-License-Identifier: Apache-2.0
"""Programs that read by OpenCV: the batches of torch's own loader.

`programs/opencv.tsv` says which are native; the rest comes of `examine`.
"""

from __future__ import annotations

from pathlib import Path

import needs
import pytest

needs.deferred_tensors()
pytest.importorskip("torchvision", reason="no torchvision")
pytest.importorskip("cv2", reason="no OpenCV")

from programs import survey  # noqa: E402
from programs.held_against_torch import (  # noqa: E402
    DRAWS,
    Case,
    all_programs,
    examine,
)

EXPECTED = survey.expected("opencv.tsv")


@pytest.mark.parametrize("name", all_programs("opencv"))
def test_batches_are_those_of_torch(name: str, tmp_path: Path) -> None:
    verdict = examine(Case(name, tmp_path, count=10), workers=(1, 3))
    if verdict.skipped:
        pytest.skip(verdict.skipped)
    assert not verdict.wrong, "\n".join(map(": ".join, verdict.wrong.items()))
    if DRAWS:
        why = verdict.reason or verdict.touched
        assert verdict.native == EXPECTED[name], why


def test_every_program_is_in_the_table() -> None:
    assert sorted(EXPECTED) == all_programs("opencv")
