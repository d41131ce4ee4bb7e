# SPDX-License-Identifier: Apache-2.0
"""Labels of any type, and target_transform: natively, collated as by torch."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, List

import pytest

from torch_cases import Ours, Theirs, assert_same, data, torch

import feedline.torch
from feedline.torch import ImageList, collated
from feedline.torch.targets import Targets
from torch.utils.data.dataloader import default_collate

np = pytest.importorskip("numpy")

LABELS: Dict[str, Callable[[int], Any]] = {
    "float": lambda i: i / 7,
    "bool": lambda i: i % 3 == 0,
    "str": lambda i: "class %d" % i,
    "list": lambda i: [i, i * 0.5],
    "tuple": lambda i: (i, "n%d" % i),
    "dict": lambda i: {"box": [i, i + 1], "name": str(i), "score": i / 3},
    "tensor": lambda i: torch.arange(3) + i,
    "array": lambda i: np.full(4, i, np.float32),
    "float32": lambda i: np.float32(i),
    "int64": lambda i: np.int64(i),
    "int or int64": lambda i: np.int64(i) if i % 2 else i,
}


def labelled(dataset: Any, kind: str) -> Any:
    """torchvision's ImageFolder with other labels, as scripts make it."""
    made = copy.copy(dataset)
    made.samples = [
        (path, LABELS[kind](i)) for i, (path, _) in enumerate(dataset.samples)
    ]
    return made


def native(made: Any, **arguments: Any) -> List[Any]:
    loader = Ours(made, **arguments)
    found = list(loader)
    assert loader.fallback_reason is None
    return found


@pytest.mark.usefixtures("known_only")
@pytest.mark.parametrize("size", [5, None])
@pytest.mark.parametrize("kind", LABELS)
def test_collated_as_by_torch(dataset: Any, kind: str, size: Any) -> None:
    made = labelled(dataset, kind)
    expected = list(Theirs(made, size))
    if size is None and kind == "int64":
        loader = Ours(made, None)  # numpy's own, which stay so in torch
        assert "labels" in str(loader.fallback_reason)
        return
    assert_same(native(made, batch_size=size, num_workers=2), expected)
    part = data.ConcatDataset([data.Subset(made, [3, 1, 7]), made])
    torch.manual_seed(1)
    ours = native(part, batch_size=size, shuffle=True, num_workers=1)
    torch.manual_seed(1)
    assert_same(ours, list(Theirs(part, size, shuffle=True)))


@pytest.mark.parametrize("kind", LABELS)
def test_image_lists(dataset: Any, kind: str) -> None:
    made = labelled(dataset, kind)
    images = ImageList(made.samples, made.transform)
    expected = list(Theirs(made, 7))
    assert_same(native(images, batch_size=7), expected)
    assert_same(list(Theirs(images, 7)), expected)


def test_target_transform(dataset: Any) -> None:
    """Of the label, when the batch is handed over; it may be replaced."""
    made = copy.copy(dataset)
    made.target_transform = lambda label: {"name": made.classes[label]}
    assert_same(native(made, batch_size=5), list(Theirs(made, 5)))
    loader = Ours(made, 5, num_workers=1)
    list(loader)
    made.target_transform = float
    assert_same(list(loader), list(Theirs(made, 5)))
    assert loader.native
    made.target_transform = None
    assert_same(list(loader), list(Theirs(made, 5)))


def test_a_target_transform_that_draws(dataset: Any) -> None:
    """It leaves the global generators alone where torch's workers would."""
    made = copy.copy(dataset)
    made.target_transform = lambda label: torch.rand(2) + label
    before = []
    for workers in (1, 2):
        torch.manual_seed(3)
        found = native(made, batch_size=5, num_workers=workers)
        before.append((found, torch.get_rng_state()))
    assert_same(before[0][0], before[1][0])
    assert torch.equal(before[0][1], before[1][1])
    assert len({float(v) for b in found for v in b[1].flatten()}) == 48


def test_an_error_comes_at_its_batch(dataset: Any) -> None:
    def refuse(label: int) -> int:
        if label == 1:
            raise ArithmeticError("no such label")
        return label

    made = copy.copy(dataset)
    made.target_transform = refuse
    iterator = iter(Ours(made, 8, num_workers=1))
    assert next(iterator)[1].tolist() == [0] * 8
    with pytest.raises(ArithmeticError):
        next(iterator)
    assert next(iterator)[1].tolist() == [2] * 8
    uneven = labelled(dataset, "list")
    uneven.samples[9] = (uneven.samples[9][0], [1])
    iterator = iter(Ours(uneven, 8, num_workers=1))
    next(iterator)
    with pytest.raises(RuntimeError):
        next(iterator)
    assert len(next(iterator)[0]) == 8


def test_collate_functions(dataset: Any) -> None:
    made = labelled(dataset, "dict")

    def names(images: Any, labels: Any) -> Any:
        return images, labels["name"]

    ours = native(made, batch_size=5, collate_fn=collated(names))
    assert_same(ours, list(Theirs(made, 5, collate_fn=collated(names))))
    each = collated(list, samples=True)
    for some in (made, dataset):
        ours = native(some, batch_size=5, collate_fn=each)
        assert_same(ours, list(Theirs(some, 5, collate_fn=each)))


@pytest.mark.parametrize("kind", LABELS)
def test_states(dataset: Any, kind: str) -> None:
    """The same labels in another process are the same data set."""
    first = Ours(labelled(dataset, kind), 5, num_workers=1)
    iterator = iter(first)
    next(iterator)
    state = json.loads(json.dumps(first.state_dict()))
    again = Ours(labelled(dataset, kind), 5, num_workers=2)
    again.load_state_dict(state)
    assert_same(list(again), list(iterator))
    other = labelled(dataset, kind)
    other.samples.reverse()
    with pytest.raises(ValueError, match="another data set"):
        Ours(other, 5).load_state_dict(state)


def test_changed_labels_count(dataset: Any) -> None:
    made = labelled(dataset, "array")
    loader = Ours(made, 6, num_workers=1)
    list(loader)
    made.samples[0] = (made.samples[0][0], np.zeros(4, np.float32) + 9)
    assert_same(list(loader), list(Theirs(made, 6)))
    assert loader.native and feedline.torch.plan(made).targets is not None


TARGETS: Dict[str, Callable[[int], Any]] = {
    "vectors": lambda n: np.arange(n * 5, dtype=np.float32).reshape(n, 5),
    "bytes": lambda n: torch.arange(n * 3).reshape(n, 3).to(torch.uint8),
    "tokens": lambda n: np.arange(n * 7).reshape(n, 7),
    "floats": lambda n: [i / 3 for i in range(n)],
    "ints": lambda n: [n - i for i in range(n)],
    "numbers": lambda n: np.arange(n),
    "pairs": lambda n: [(i, "n%d" % i) for i in range(n)],
}


@pytest.mark.parametrize("kind", TARGETS)
def test_targets_beside_samples(dataset: Any, kind: str) -> None:
    """A table of targets for any data set of feedline's, as its labels."""
    paths = feedline.Dataset.paths([path for path, _ in dataset.samples])
    targets = TARGETS[kind](len(dataset))
    made = feedline.torch.Images(paths, dataset.transform, targets=targets)
    part = data.Subset(made, [5, 3, 3, 11, 0, 8])
    for some in (made, part):
        expected = list(Theirs(some, 4))
        assert_same(native(some, batch_size=4, num_workers=2), expected)
    last = [default_collate([made[i][1]]) for i in (-1, len(made) - 1)]
    assert_same(last[:1], last[1:])
    rows = default_collate([targets[i] for i in range(len(made))])
    assert_same([b[1] for b in Theirs(made, len(made))], [rows])
    if isinstance(targets, np.ndarray):
        loader = Ours(made, 4)
        before = next(iter(loader))[1].clone()
        targets += 1
        assert torch.equal(next(iter(loader))[1], before + 1)
    with pytest.raises(ValueError, match="targets for"):
        feedline.torch.Images(paths, None, targets=targets[1:])


def test_labels_of_one_kind_are_rows_of_a_tensor() -> None:
    """No object for each sample where that makes no difference."""
    for kind in ("float", "bool", "tensor", "array"):
        values = [LABELS[kind](i) for i in range(6)]
        column = Targets(values, None).column
        assert_same(column, default_collate(values))
    for values in (
        [1, 2.0],
        [torch.zeros(2), torch.zeros(3)],
        [np.zeros(1), np.zeros(1, np.float32)],
        ["a", "b"],
        [2**70],
    ):
        assert Targets(values, None).column is None
    assert Targets([1.0], float).column is None
