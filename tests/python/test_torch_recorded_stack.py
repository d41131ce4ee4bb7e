# SPDX-License-Identifier: Apache-2.0
"""Memory of what a collate_fn of the program's own stacks."""

from __future__ import annotations

from typing import Any, List

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import default_collate  # noqa: E402

from feedline.torch.recorded_memory import Memory  # noqa: E402
from feedline.torch.recorded_stack import Stacked  # noqa: E402

ROWS = [torch.full((3, 300, 400), n, dtype=torch.float32) for n in range(4)]


def stacked(memory: Memory, rows: List[Any], *more: Any, **named: Any) -> Any:
    with Stacked(memory):
        return torch.stack(rows, *more, **named)


def lent(memory: Memory) -> int:
    return len(memory._lent)


def test_it_is_what_torch_makes() -> None:
    memory = Memory()
    expected = torch.stack(ROWS)
    ways = (
        stacked(memory, ROWS),
        stacked(memory, tuple(ROWS), 0),  # type: ignore[arg-type]
        stacked(memory, ROWS, dim=0),
        stacked(memory, ROWS, 0, out=None),
    )
    for made in ways:
        assert type(made) is torch.Tensor and torch.equal(made, expected)
        assert made.stride() == expected.stride() and made.is_contiguous()
    assert lent(memory) == len(ways)
    with Stacked(memory):
        images, labels = default_collate([(row, 1) for row in ROWS])
    assert torch.equal(images, expected) and labels.tolist() == [1] * 4
    assert lent(memory) == len(ways) + 1


def test_it_is_a_copy_and_nobody_elses() -> None:
    memory = Memory()
    first, second = stacked(memory, ROWS), stacked(memory, ROWS)
    first.zero_()
    assert int(ROWS[1].min()) == 1 and int(second[1].min()) == 1
    kept, address = first[2:3], first.data_ptr()
    del first
    assert stacked(memory, ROWS).data_ptr() != address, "a view of it is kept"
    del kept
    assert stacked(memory, ROWS).data_ptr() == address
    del second
    assert lent(memory) == 0


def test_everything_else_is_torchs() -> None:
    memory = Memory()
    own = torch.empty(4, 3, 300, 400)
    half = [ROWS[0], ROWS[1].half()]
    grads = [row.clone().requires_grad_() for row in ROWS]
    assert stacked(memory, ROWS, out=own) is own
    assert torch.equal(stacked(memory, ROWS, 1), torch.stack(ROWS, 1))
    assert torch.equal(stacked(memory, ROWS, -4), torch.stack(ROWS, -4))
    assert stacked(memory, grads).requires_grad
    assert stacked(memory, [row[:1, :2] for row in ROWS]).shape[1:3] == (1, 2)
    assert stacked(memory, half).dtype == torch.stack(half).dtype
    assert lent(memory) == 0
    for wrong in ([], [ROWS[0], ROWS[0][0]], [ROWS[0], 1], 3):
        with pytest.raises((RuntimeError, TypeError)) as theirs:
            torch.stack(wrong)  # type: ignore[arg-type]
        with pytest.raises(theirs.type) as ours:
            stacked(memory, wrong)  # type: ignore[arg-type]
        assert str(ours.value) == str(theirs.value)


def test_outside_it_is_not_seen() -> None:
    memory = Memory()
    stacked(memory, ROWS)
    made = torch.stack(ROWS)
    assert lent(memory) == 0 and made.shape == (4, 3, 300, 400)
