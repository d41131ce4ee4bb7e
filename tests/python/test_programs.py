# SPDX-License-Identifier: Apache-2.0
"""Training programs as people have them: the batches of torch's own loader.

`programs/expected.tsv` says which are native; the rest comes of `examine`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import needs
import pytest

needs.deferred_tensors()
pytest.importorskip("torchvision", reason="no torchvision")
pytest.importorskip("numpy", reason="no numpy")

from programs import survey  # noqa: E402
from programs.held_against_torch import (  # noqa: E402
    DRAWS,
    Case,
    Verdict,
    all_programs,
    examine,
)
from programs.compared import of_runs  # noqa: E402

EXPECTED = survey.expected()


def cases() -> List[Any]:
    """The programs; one with a known fault has to fail until it is mended."""
    faults = survey.faults() if DRAWS else {}
    return [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(reason=faults[name], strict=True)]
            if name in faults
            else [],
        )
        for name in all_programs()
    ]


@pytest.mark.parametrize("name", cases())
def test_batches_are_those_of_torch(name: str, tmp_path: Path) -> None:
    verdict: Verdict = examine(Case(name, tmp_path, count=10))
    if verdict.skipped:
        pytest.skip(verdict.skipped)
    assert not verdict.wrong, "\n".join(map(": ".join, verdict.wrong.items()))
    if DRAWS:
        why = verdict.reason or verdict.touched
        assert verdict.native == EXPECTED[name], why


def test_every_program_is_in_the_tables() -> None:
    names = all_programs()
    assert sorted(EXPECTED) == names
    public: List[str] = [ours for _, ours in survey.rows("public.tsv")]
    assert {ours for ours in public if not ours.startswith("- ")} <= set(names)


@pytest.mark.parametrize(
    "change, where",
    [
        (lambda batch: batch["x"].add_(1e-7), "batch 1['x']"),
        (lambda batch: batch["x"].neg_(), "batch 1['x']"),
        (lambda batch: batch.update(x=batch["x"].double()), "batch 1['x']"),
        (lambda batch: batch.update(n=3.0), "batch 1['n']"),
        (lambda batch: batch.update(s=["a", "c"]), "batch 1['s'][1]"),
        (lambda batch: batch.update(s=("a", "b")), "batch 1['s']"),
        (lambda batch: batch.update(y=0), "batch 1:"),
        (lambda batch: batch.pop("s"), "batch 1:"),
    ],
)
def test_a_difference_is_seen(change, where) -> None:
    import torch

    def run():
        return [{"x": torch.zeros(2, 3), "n": 3, "s": ["a", "b"]} for _ in "12"]

    changed = run()
    change(changed[1])
    assert of_runs(run(), run()) is None
    assert of_runs(changed, run()).startswith(where)
    assert "batches" in of_runs(run()[:1], run())
