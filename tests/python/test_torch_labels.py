# SPDX-License-Identifier: Apache-2.0
"""Labels of any type, and target_transform: natively, collated as by torch."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, List

import pytest

from torch_cases import Ours, Theirs, folder, torch

import feedline.torch
from feedline.torch import ImageList, collated

data = torch.utils.data
np = pytest.importorskip("numpy")
pytestmark = pytest.mark.filterwarnings("ignore::feedline.EngineWarning")

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


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return alike and bool(torch.equal(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        alike = type(a) is type(b) and len(a) == len(b)
        return alike and all(map(equal, a, b))
    return type(a) is type(b) and bool(a == b)


def assert_equal(ours: List[Any], theirs: List[Any]) -> None:
    assert len(ours) == len(theirs)
    assert all(map(equal, ours, theirs))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return folder(tmp_path_factory.mktemp("labels") / "images")


def labelled(plain: Any, kind: str) -> Any:
    """torchvision's ImageFolder with other labels, as scripts make it."""
    made = copy.copy(plain)
    made.samples = [
        (path, LABELS[kind](i)) for i, (path, _) in enumerate(plain.samples)
    ]
    return made


def native(dataset: Any, **arguments: Any) -> List[Any]:
    loader = Ours(dataset, **arguments)
    found = list(loader)
    assert loader.fallback_reason is None
    return found


@pytest.mark.parametrize("size", [5, None])
@pytest.mark.parametrize("kind", LABELS)
def test_collated_as_by_torch(plain: Any, kind: str, size: Any) -> None:
    dataset = labelled(plain, kind)
    expected = list(Theirs(dataset, size))
    if size is None and kind == "int64":
        loader = Ours(dataset, None)  # numpy's own, which stay so in torch
        assert "labels" in str(loader.fallback_reason)
        return
    assert_equal(native(dataset, batch_size=size, num_workers=2), expected)
    part = data.ConcatDataset([data.Subset(dataset, [3, 1, 7]), dataset])
    torch.manual_seed(1)
    ours = native(part, batch_size=size, shuffle=True, num_workers=1)
    torch.manual_seed(1)
    assert_equal(ours, list(Theirs(part, size, shuffle=True)))


@pytest.mark.parametrize("kind", LABELS)
def test_image_lists(plain: Any, kind: str) -> None:
    dataset = labelled(plain, kind)
    images = ImageList(dataset.samples, dataset.transform)
    expected = list(Theirs(dataset, 7))
    assert_equal(native(images, batch_size=7), expected)
    assert_equal(list(Theirs(images, 7)), expected)


def test_target_transform(plain: Any) -> None:
    """Of the label, when the batch is handed over; it may be replaced."""
    dataset = copy.copy(plain)
    dataset.target_transform = lambda label: {"name": dataset.classes[label]}
    assert_equal(native(dataset, batch_size=5), list(Theirs(dataset, 5)))
    loader = Ours(dataset, 5, num_workers=1)
    list(loader)
    dataset.target_transform = float
    assert_equal(list(loader), list(Theirs(dataset, 5)))
    assert loader.native
    dataset.target_transform = None
    assert_equal(list(loader), list(Theirs(dataset, 5)))


def test_a_target_transform_that_draws(plain: Any) -> None:
    """It leaves the global generators alone where torch's workers would."""
    dataset = copy.copy(plain)
    dataset.target_transform = lambda label: torch.rand(2) + label
    before = []
    for workers in (1, 2):
        torch.manual_seed(3)
        found = native(dataset, batch_size=5, num_workers=workers)
        before.append((found, torch.get_rng_state()))
    assert_equal(before[0][0], before[1][0])
    assert torch.equal(before[0][1], before[1][1])
    assert len({float(v) for b in found for v in b[1].flatten()}) == 48


def test_an_error_comes_at_its_batch(plain: Any) -> None:
    def refuse(label: int) -> int:
        if label == 1:
            raise ArithmeticError("no such label")
        return label

    dataset = copy.copy(plain)
    dataset.target_transform = refuse
    iterator = iter(Ours(dataset, 8, num_workers=1))
    assert next(iterator)[1].tolist() == [0] * 8
    with pytest.raises(ArithmeticError):
        next(iterator)
    assert next(iterator)[1].tolist() == [2] * 8
    uneven = labelled(plain, "list")
    uneven.samples[9] = (uneven.samples[9][0], [1])
    iterator = iter(Ours(uneven, 8, num_workers=1))
    next(iterator)
    with pytest.raises(RuntimeError):
        next(iterator)
    assert len(next(iterator)[0]) == 8


def test_collate_functions(plain: Any) -> None:
    dataset = labelled(plain, "dict")

    def names(images: Any, labels: Any) -> Any:
        return images, labels["name"]

    ours = native(dataset, batch_size=5, collate_fn=collated(names))
    assert_equal(ours, list(Theirs(dataset, 5, collate_fn=collated(names))))
    each = collated(list, samples=True)
    ours = native(dataset, batch_size=5, collate_fn=each)
    assert_equal(ours, list(Theirs(dataset, 5, collate_fn=each)))


@pytest.mark.parametrize("kind", LABELS)
def test_states(plain: Any, kind: str) -> None:
    """The same labels in another process are the same data set."""
    first = Ours(labelled(plain, kind), 5, num_workers=1)
    iterator = iter(first)
    next(iterator)
    state = json.loads(json.dumps(first.state_dict()))
    again = Ours(labelled(plain, kind), 5, num_workers=2)
    again.load_state_dict(state)
    assert_equal(list(again), list(iterator))
    other = labelled(plain, kind)
    other.samples.reverse()
    with pytest.raises(ValueError, match="another data set"):
        Ours(other, 5).load_state_dict(state)


def test_changed_labels_count(plain: Any) -> None:
    dataset = labelled(plain, "array")
    loader = Ours(dataset, 6, num_workers=1)
    list(loader)
    dataset.samples[0] = (dataset.samples[0][0], np.zeros(4, np.float32) + 9)
    assert_equal(list(loader), list(Theirs(dataset, 6)))
    assert loader.native and feedline.torch.plan(dataset).targets is not None
