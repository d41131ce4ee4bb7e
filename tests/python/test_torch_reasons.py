# SPDX-License-Identifier: Apache-2.0
"""fallback_reasons names all that stands in the way of a native loader, each
with what helps: with one cure that reason is gone, with all of them all are."""

from __future__ import annotations

import itertools
import os
import random
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

from torch_cases import Ours, T, folder, torch

from feedline.torch import FallbackWarning, ImageList, NotNative, collated
from feedline.transforms import PIL
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import default_loader

pytestmark = pytest.mark.usefixtures("known_only")
Program = Dict[str, Any]


class OwnSet(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        return self.transform(self.loader(path)), label


class OwnTransform:
    def __call__(self, image: Any) -> Any:
        return image.rotate(3)


def own_function(image: Any) -> Any:
    return image.rotate(4)


def own_collate(samples: List[Any]) -> Any:
    return torch.stack([image for image, _ in samples]), len(samples)


def gray(path: str) -> Any:
    return default_loader(path).convert("L").convert("RGB")


def in_pil(transform: Any) -> Callable[[Program], None]:
    def cure(program: Program) -> None:
        chain = program["chain"]
        chain[chain.index(transform)] = PIL(transform)

    return cure


def insert(index: int, *what: Any) -> Callable[[Program], None]:
    return lambda program: program["chain"].__setitem__(
        slice(index, index), what
    )


def put(**names: Any) -> Callable[[Program], None]:
    return lambda program: program.update(names)


def end_in_images(program: Program) -> None:
    del program["chain"][-1]


def own_sizes(program: Program) -> None:
    program["chain"][0] = T.Resize(8)


def with_a_size(program: Program) -> None:
    program["chain"][0] = T.Resize((8, 8))


def end_in_tensors(program: Program) -> None:
    program["chain"].append(T.PILToTensor())


MANY = 70000
FIRST, SECOND = OwnTransform(), own_function
# What a program has -> what its reason says, and what is done about it.
Blocker = Tuple[str, Callable[[Program], None], str, Callable[[Program], None]]
BLOCKERS: Dict[str, List[Blocker]] = {
    "data set": [
        ("own", put(data=OwnSet), "whose __getitem__", put(data=ImageList)),
        (
            "loader",
            put(loader=gray),
            "a loader of its own",
            put(loader=default_loader),
        ),
    ],
    "transform": [
        ("object", insert(1, FIRST), "PIL(OwnTransform(...))", in_pil(FIRST)),
        ("function", insert(1, SECOND), "PIL(own_function)", in_pil(SECOND)),
        ("sizes", own_sizes, "sizes of their own", with_a_size),
        ("images", end_in_images, "end in Pillow images", end_in_tensors),
    ],
    "collate_fn": [
        (
            "own",
            put(collate_fn=own_collate),
            "feedline.torch.collated(fn, samples=True)",
            put(collate_fn=collated(own_collate, samples=True)),
        )
    ],
    "worker_init_fn": [
        (
            "own",
            put(worker_init_fn=lambda worker: os.nice(0)),
            "it calls os.nice",
            put(worker_init_fn=lambda worker: random.seed(worker)),
        )
    ],
    "arguments": [
        (
            "batch",
            put(batch_size=MANY),
            "more than 65536 images",
            put(batch_size=8),
        )
    ],
}


def loader_of(root: str, program: Program) -> Any:
    program = dict(program)
    chain = T.Compose(program.pop("chain"))
    kind, loader = program.pop("data"), program.pop("loader")
    data: Any = ImageFolder(root, loader=loader)
    if kind is ImageList:
        data = ImageList(data.samples, chain)
    else:
        data = kind(root, chain, loader=loader)
    order, size = program.pop("order"), program["batch_size"]
    if size == MANY:
        program["sampler"] = [0] * MANY
    elif order is not None:
        del program["batch_size"]
        program["batch_sampler"] = BatchSampler(order(data), size, False)
    return Ours(data, **program)


def combinations() -> List[Tuple[Blocker, ...]]:
    """Of one to four blockers: one of each kind, and two transforms."""
    each = [*BLOCKERS.values(), BLOCKERS["transform"][1:]]
    found = {}
    for count in range(1, 5):
        for kinds in itertools.combinations(each, count):
            for some in itertools.product(*kinds):
                if len({id(one) for one in some}) == count:
                    found[frozenset(id(one) for one in some)] = some
    return list(found.values())


def test_each_cure_helps_and_all_of_them_do(tmp_path: Path) -> None:
    root = folder(tmp_path / "images", classes=2, per_class=2).root
    orders = itertools.cycle((None, RandomSampler, SequentialSampler))
    tried = combinations()
    assert len(tried) > 100
    for blockers, order in zip(tried, orders):
        program: Program = {
            "chain": [T.Resize((8, 8)), T.PILToTensor()],
            "data": ImageFolder,
            "loader": default_loader,
            "batch_size": 8,
            "order": order,
        }
        for _, block, _, _ in blockers:
            block(program)
        left = {words for _, _, words, _ in blockers}
        for _, _, words, cure in blockers:
            reasons = loader_of(root, program).fallback_reasons
            told = {one for one in left if any(one in r for r in reasons)}
            names = [name for name, *_ in blockers]
            assert told == left and len(reasons) == len(left), (names, reasons)
            cure(program)
            left.remove(words)
        loader = loader_of(root, program)
        assert loader.native and loader.fallback_reasons == []


def three(root: Path) -> Any:
    chain = T.Compose([T.Resize((8, 8)), OwnTransform(), T.ToTensor()])
    return Ours(
        folder(root, chain),
        collate_fn=own_collate,
        worker_init_fn=lambda worker: os.nice(0),
    )


def test_one_text_has_all(tmp_path: Path) -> None:
    loader = three(tmp_path / "images")
    reasons = loader.fallback_reasons
    assert len(reasons) == 3
    assert loader.fallback_reason == "; ".join(
        "(%d) %s" % (number, reason) for number, reason in enumerate(reasons, 1)
    )
    with pytest.warns(FallbackWarning) as caught:
        list(loader)
    assert loader.fallback_reason in str(caught[0].message)
    words = loader.explain()
    assert "for 3 reasons" in words
    assert all("\n- %s" % reason in words for reason in reasons)


def test_native_or_an_exception_with_all(tmp_path: Path) -> None:
    loader = three(tmp_path / "images")
    loader = Ours(
        loader.dataset, collate_fn=own_collate, backend="native", batch_size=2
    )
    with pytest.raises(NotNative) as caught:
        iter(loader)
    assert caught.value.reasons == loader.fallback_reasons
    assert str(caught.value) == loader.fallback_reason


def test_one_reason_is_not_numbered(tmp_path: Path) -> None:
    loader = Ours(folder(tmp_path / "images"), collate_fn=own_collate)
    assert loader.fallback_reasons == [loader.fallback_reason]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        list(loader)
    assert "torch loads the samples, as collate_fn" in loader.explain()


def test_what_follows_from_a_refused_transform_is_not_told(
    tmp_path: Path,
) -> None:
    """What samples are behind it is not known."""
    chain = T.Compose(
        [
            T.Resize((8, 8)),
            T.RandomRotation(3, expand=True),
            OwnTransform(),
            T.Normalize([0.5], [0.5]),
        ]
    )
    reasons = Ours(folder(tmp_path / "images", chain)).fallback_reasons
    assert len(reasons) == 2
    assert "expand=True" in reasons[0] and "OwnTransform" in reasons[1]


def test_nothing_is_told_of_a_function_that_does_all(tmp_path: Path) -> None:
    """Nobody knows what comes out of it."""
    chain = T.Compose([T.Resize(8), T.ToTensor()])
    data = folder(tmp_path / "images", lambda image: chain(image.rotate(3)))
    reasons = Ours(data, batch_size=1).fallback_reasons
    assert len(reasons) == 1 and "not a transform that feedline" in reasons[0]


def test_both_parts_of_a_concatenation(tmp_path: Path) -> None:
    root = folder(tmp_path / "images").root
    both = torch.utils.data.ConcatDataset([OwnSet(root), OwnSet(root)])
    reasons = Ours(both).fallback_reasons
    assert [r.split(" ")[2] for r in reasons] == [
        "set.datasets[0]",
        "set.datasets[1]",
    ]
