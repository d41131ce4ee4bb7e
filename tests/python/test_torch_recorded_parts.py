# SPDX-License-Identifier: Apache-2.0
"""Samples as torch's worker hands them to a collate_fn: in containers of any
class, with attributes, with memory in common."""

from __future__ import annotations

from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import needs
import numpy as np
import pytest

needs.deferred_tensors()

from recorded_sets import images_in  # noqa: E402
from torch_cases import Ours, Theirs, data, torch  # noqa: E402

from PIL import Image  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402


class Files(data.Dataset):  # type: ignore[misc]
    def __init__(self, root: Path, of: Callable[[Any], Any]) -> None:
        self.files, self.of = images_in(root / "images")[:6], of

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return F.to_tensor(image.resize((4, 4))), self.of(image)


class Slots:
    __slots__ = ("image", "other")


def slots(image: Any, other: Any) -> Slots:
    made = Slots()
    made.image, made.other = image, other
    return made


def parts_of(thing: Any) -> Iterator[Any]:
    """Images, tensors and arrays in whatever it is, with their classes."""
    if isinstance(thing, (torch.Tensor, np.ndarray, Image.Image)):
        yield type(thing).__name__, np.asarray(thing).tobytes()
    elif isinstance(thing, (str, type)):
        yield thing
    elif isinstance(thing, Slots):
        yield from parts_of([thing.image, thing.other])
    elif hasattr(thing, "items"):
        for key, value in thing.items():
            yield from parts_of([type(thing).__name__, key, value])
    else:
        yield type(thing).__name__
        for part in thing:
            yield from parts_of(part)


def seen(samples: List[Any]) -> Any:
    return [list(parts_of(sample)) for sample in samples]


def compare(root: Path, of: Callable[[Any], Any], collate: Any = seen) -> None:
    files = Files(root, of)
    more = {"batch_size": 3, "num_workers": 1, "collate_fn": collate}
    ours = Ours(files, verify=0, **more)
    assert list(Theirs(files, **more)) == list(ours)
    assert ours.native


def deep(thing: Any) -> Any:
    for _ in range(40):
        thing = [thing]
    return thing


CONTAINERS: Dict[str, Callable[[Any, Any], Any]] = {
    "deque": lambda a, b: deque([a, b], maxlen=3),
    "OrderedDict": lambda a, b: OrderedDict(a=a, b=b),
    "defaultdict": lambda a, b: defaultdict(list, a=a, b=b),
    "UserDict": lambda a, b: UserDict(a=a, b=b),
    "UserList": lambda a, b: UserList([a, b]),
    "set": lambda a, b: {a} if isinstance(a, torch.Tensor) else [a],
    "frozenset": lambda a, b: frozenset([b]) if torch.is_tensor(b) else [b],
    "slots": slots,
    "deep": lambda a, b: deep([a, b]),
    "iterator": lambda a, b: iter([a, b]),
    "objects": lambda a, b: deque([slots(a, b), {"a": (b,)}]),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_nothing_deferred_is_in_a_container(tmp_path: Path, name: str) -> None:
    make = CONTAINERS[name]
    uses: List[Callable[[Any], Any]] = [
        lambda im: (F.to_tensor(im), make(F.to_tensor(im), F.to_tensor(im))),
        lambda im: make(np.array(im), np.array(im)[:9]),
        lambda im: make(im, im.resize((9, 9))),
    ]
    for use in uses:
        compare(tmp_path, use)


class Unpicklable:
    __slots__ = ("image",)

    def __init__(self, image: Any) -> None:
        self.image = image

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("not this one")


def test_what_cannot_be_pickled_has_real_ones(tmp_path: Path) -> None:
    def classes(samples: List[Any]) -> Any:
        return [
            (type(s.image[0]).__name__, np.asarray(s.image[0]).tobytes())
            for _, s in samples
        ]

    compare(tmp_path, lambda im: Unpicklable([F.to_tensor(im)]), classes)
    # An array that is put off cannot become another object in there.
    files = Files(tmp_path, lambda im: Unpicklable([np.array(im)]))
    ours = Ours(files, verify=0, batch_size=3, collate_fn=classes)
    assert "cannot be pickled" in ours.fallback_reason and not ours.native


# ---- Attributes -------------------------------------------------------------


def labelled(thing: Any, label: Any) -> Any:
    thing.label = label
    return thing


def test_attributes_of_tensors_stay(tmp_path: Path) -> None:
    def labels(samples: List[Any]) -> Any:
        return [
            [getattr(t, "label", None) for t in sample] for _, sample in samples
        ]

    def sample(image: Any) -> Any:
        tensor = labelled(F.to_tensor(image), [5, "a"])
        real = labelled(torch.zeros(3), 4)
        return tensor, tensor * 2, labelled(F.to_tensor(image) / 3, 7), real

    compare(tmp_path, sample, labels)


# ---- Memory in common -------------------------------------------------------


def real(image: Any) -> Any:
    tensor = F.to_tensor(image)
    tensor.sum()
    return tensor


def pair(array: Any) -> Any:
    return array, torch.from_numpy(array)


def and_view(tensor: Any) -> Any:
    return {"whole": tensor, "corner": tensor[:, :4, :4]}


SHARING: Dict[str, Callable[[Any], Any]] = {
    "view": lambda im: and_view(F.to_tensor(im)),
    "channels": lambda im: list(F.to_tensor(im)[:, None]),
    "moved": lambda im: (F.to_tensor(im),) * 2,
    "arrays": lambda im: [np.array(im)] * 2,
    "from_numpy": lambda im: pair(np.array(im)),
    "numpy": lambda im: (lambda t: (t.numpy(), t))(F.to_tensor(im)),
    "array view": lambda im: (lambda a: (a[3:9, ::-1], a))(np.array(im)),
    "turned view": lambda im: (lambda a: (a, a[3:9, ::-1]))(np.array(im)),
    "real view": lambda im: and_view(real(im)),
    "real arrays": lambda im: pair(np.arange(48.0).reshape(4, 4, 3)),
    "real, no image": lambda im: and_view(torch.arange(48.0).view(3, 4, 4)),
    "apart": lambda im: (F.to_tensor(im), F.to_tensor(im)[:, :4, :4]),
}


def flat(sample: Any) -> List[Any]:
    return list(sample.values()) if isinstance(sample, dict) else list(sample)


def written(samples: List[Any]) -> Any:
    """What the others are after a write to one."""
    found: List[Any] = []
    for _, sample in samples:
        first, *rest = flat(sample)
        first[...] = 7
        for one in rest:
            one[..., 0] += 1
        found += [np.asarray(one).tolist() for one in flat(sample)]
    return found


class Stream(data.IterableDataset):  # type: ignore[misc]
    def __init__(self, files: Files) -> None:
        self.files = files

    def __iter__(self) -> Iterator[Any]:
        return (self.files[n] for n in range(len(self.files)))


@pytest.mark.parametrize("name", ["view", "from_numpy", "turned view"])
def test_memory_in_common_of_a_stream(tmp_path: Path, name: str) -> None:
    stream = Stream(Files(tmp_path, SHARING[name]))
    more = {"batch_size": 3, "num_workers": 1, "collate_fn": written}
    ours = Ours(stream, verify=0, **more)
    assert list(Theirs(stream, **more)) == list(ours)
    assert ours.native


@pytest.mark.parametrize("name", SHARING)
def test_memory_in_common_stays_so(tmp_path: Path, name: str) -> None:
    compare(tmp_path, SHARING[name], written)
