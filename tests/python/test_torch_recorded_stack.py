# SPDX-License-Identifier: Apache-2.0
"""Memory of what a collate_fn of the program's own stacks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable, List, Tuple

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import default_collate  # noqa: E402

from feedline.torch import _compat  # noqa: E402
from feedline.torch.recorded_batch import Batch  # noqa: E402
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


# ---- Rows of a batch --------------------------------------------------------


def of_rows(collate: Callable[[List[Any]], Any]) -> Tuple[Any, int, List[Any]]:
    """What it makes of rows 0 to 3; their address; what it keeps."""
    memory, batch, kept = Memory(), Batch([0, 1, 2, 3]), []  # type: ignore
    form = SimpleNamespace(shape=(3, 300, 400), dtype=torch.float32)
    rows = batch.column(0, form, memory, False)
    batch.samples = list(rows.each)
    for n, row in enumerate(rows.each):
        row.fill_(n)
    first = rows.first
    del rows, row
    batch.stacked = Stacked(memory, batch)
    with batch.stacked:
        made = collate([*batch.samples, kept.append])
    batch.settle()
    return made, first, kept


can_share = pytest.mark.skipif(
    _compat.storage_users is None, reason="this torch does not say who shares"
)


@can_share
def test_rows_are_the_tensor_that_they_are_rows_of() -> None:
    def asked(given: List[Any]) -> Any:
        made = torch.stack(given[:4], 0)
        assert made.shape == (4, 3, 300, 400) and made.dtype == torch.float32
        return {"images": made, "labels": torch.cat([torch.ones(2)] * 4)}

    ways = (asked, lambda given: {"images": default_collate(given[:4])})
    for collate in ways:
        made, first, _ = of_rows(collate)
        assert made["images"].data_ptr() == first
        assert torch.equal(made["images"], torch.stack(ROWS))


def keeps_a_row(given: List[Any]) -> Any:
    given[4](given[2])
    return torch.stack(given[:4])


def keeps_a_view(given: List[Any]) -> Any:
    given[4](given[2][0, 5:])
    return torch.stack(given[:4])


def keeps_an_array(given: List[Any]) -> Any:
    given[4](given[2].numpy())
    return torch.stack(given[:4])


def keeps_a_later_view(given: List[Any]) -> Any:
    made = torch.stack(given[:4])
    given[4](given[2].numpy())
    return made


@pytest.mark.parametrize(
    "collate", (keeps_a_row, keeps_a_view, keeps_an_array, keeps_a_later_view)
)
def test_what_is_kept_is_not_shared(collate: Any) -> None:
    made, first, (kept,) = of_rows(collate)
    kept[:] = 7
    assert made.data_ptr() != first
    assert torch.equal(made, torch.stack(ROWS))
    assert made.is_contiguous()


def writes_to_the_result(given: List[Any]) -> Any:
    made = torch.stack(given[:4])
    made += 1
    return made - given[2] - 1 + 2


def writes_to_a_row(given: List[Any]) -> Any:
    made = torch.stack(given[:4])
    given[1][:, 3] = 9
    torch.add(given[3], 4, out=given[0])
    return made


def writes_to_an_array(given: List[Any]) -> Any:
    made = torch.stack(given[:4])
    made.numpy()[1] = 9
    return torch.stack([given[0], given[1], *made[2:]])


def stacks_twice(given: List[Any]) -> Any:
    made, again = torch.stack(given[:4]), torch.stack(given[:4])
    again.zero_()
    return made


def stacks_a_view(given: List[Any]) -> Any:
    return torch.stack(given[:4])[:]


class Images(torch.Tensor):
    pass


def writes_to_a_parameter(given: List[Any]) -> Any:
    made = torch.nn.Parameter(torch.stack(given[:4]), requires_grad=False)
    made.data.add_(7)
    return made.data - torch.stack(given[1:4] + given[:1])


def writes_to_another_class(given: List[Any]) -> Any:
    rows = given[:4]
    made = torch.stack(rows)
    rows.clear()
    shown = made.as_subclass(Images)  # type: ignore[arg-type]
    shown[1] = 9
    return made - torch.stack(given[1:4] + given[:1])


@pytest.mark.parametrize(
    "collate",
    (
        writes_to_the_result,
        writes_to_a_parameter,
        writes_to_another_class,
        writes_to_a_row,
        writes_to_an_array,
        stacks_twice,
        stacks_a_view,
    ),
)
def test_it_is_as_if_it_were_a_copy(collate: Any) -> None:
    rows = [row.clone() for row in ROWS]
    expected = collate([*rows, None])
    made, _, _ = of_rows(collate)
    assert torch.equal(made, expected)


def test_another_order_is_copied() -> None:
    made, _, _ = of_rows(lambda given: torch.stack(given[3::-1]))
    assert torch.equal(made, torch.stack(ROWS[::-1]))
