# SPDX-License-Identifier: Apache-2.0
"""Functions of batches as dicts: what a rehearsal says that they do, and what
it makes nothing of. The function itself is never called."""

from __future__ import annotations

import functools
import random
from types import SimpleNamespace
from typing import Any, Dict, List, Tuple

import pytest

pytest.importorskip("torch")

from feedline.torch.batch_functions import read_batch_function

Batch = Any
ARGS = SimpleNamespace(image="image", names=["y"])
SEEN: List[int] = []
CALLS = {"n": 0}


class Shout:
    def __call__(self, text: str) -> str:
        raise AssertionError("a transform is never called")


shout = Shout()


def in_place(batch: Batch) -> Batch:
    """As the documentation of datasets has it."""
    batch["image"] = [shout(image) for image in batch["image"]]
    return batch


def renamed(examples: Batch) -> Batch:
    examples["x"] = [shout(x.convert("RGB")) for x in examples["image"]]
    del examples["image"]
    return examples


def taken_out(rows: Batch) -> Batch:
    rows["image"] = [shout(x) for x in rows.pop(ARGS.image)]
    return rows


def made_anew(rows: Batch) -> Batch:
    return {"x": [shout(x) for x in rows["image"]], "z": rows[ARGS.names[0]]}


def beside_the_image(batch: Batch) -> Batch:
    batch["x"] = [shout(x) for x in batch["image"]]
    return batch


def if_need_be(batch: Batch) -> Batch:
    def one(x: Any) -> Any:
        return x if x.mode == "RGB" else x.convert("RGB")

    return {"x": [shout(one(x)) for x in batch["image"]]}


def with_default(batch: Batch, key: str = "x") -> Batch:
    images = [image.convert("RGB") for image in batch["image"]]
    return {key: list(map(shout, images))}


class Of:
    key = "x"

    def __init__(self) -> None:
        self.transform = shout

    def __call__(self, batch: Batch) -> Batch:
        return {self.key: [self.one(x) for x in batch["image"]]}

    def one(self, image: Any) -> Any:
        return self.transform(image)

    def method(self, batch: Batch) -> Batch:
        return self(batch)


def closing_over(transform: Any) -> Any:
    def function(batch: Batch) -> Batch:
        batch["image"] = [transform(x) for x in batch["image"]]
        return batch

    return function


IN_PLACE = ("image", False, {"image": "image", "y": "y"})
ALONE = ("x", False, {"x": "image"})


@pytest.mark.parametrize(
    "function, found",
    [
        (in_place, IN_PLACE),
        (renamed, ("x", True, {"y": "y", "x": "image"})),
        (taken_out, ("image", False, {"y": "y", "image": "image"})),
        (made_anew, ("x", False, {"x": "image", "z": "y"})),
        (
            beside_the_image,
            ("x", False, {"image": "image", "y": "y", "x": "image"}),
        ),
        (if_need_be, ("x", True, {"x": "image"})),
        (with_default, ("x", True, {"x": "image"})),
        (Of().__call__, ALONE),
        (functools.partial(with_default, key="k"), ("k", True, {"k": "image"})),
        (closing_over(shout), IN_PLACE),
    ],
)
def test_known(function: Any, found: Tuple[str, bool, Dict[str, str]]) -> None:
    known = read_batch_function(function, ["image", "y"], {"image"})
    assert known is not None and known.transform is shout
    assert known.image == "image"
    assert (known.made, known.to_rgb) == found[:2]
    assert list(known.keys.items()) == list(found[2].items())


def removed(batch: Batch) -> Batch:
    batch["image"] = [shout(x) for x in batch["image"]]
    del batch["image"]
    return batch


def to_gray(batch: Batch) -> Batch:
    batch["image"] = [shout(x.convert("L")) for x in batch["image"]]
    return batch


def only_gray_ones(batch: Batch) -> Batch:
    images = [x.convert("RGB") if x.mode == "L" else x for x in batch["image"]]
    return {"x": [shout(x) for x in images]}


def twice(batch: Batch) -> Batch:
    batch["image"] = [shout(shout(x)) for x in batch["image"]]
    return batch


def some(batch: Batch) -> Batch:
    batch["image"] = [shout(x) for x in batch["image"] if x]
    return batch


def backwards(batch: Batch) -> Batch:
    batch["image"] = [shout(x) for x in batch["image"]][::-1]
    return batch


def the_first(batch: Batch) -> Batch:
    return {"x": [shout(batch["image"][0]) for _ in batch["image"]]}


def other_labels(batch: Batch) -> Batch:
    return {"x": [shout(x) for x in batch["image"]], "y": batch["y"][::-1]}


def constants(batch: Batch) -> Batch:
    return {**in_place(batch), "z": [0 for _ in batch["y"]]}


def of_labels(batch: Batch) -> Batch:
    return {"x": [shout(y) for y in batch["y"]]}


def by_chance(batch: Batch) -> Batch:
    use = shout if random.random() < 2 else None
    return {"x": [use(x) for x in batch["image"]]}  # type: ignore[misc]


def noting(batch: Batch) -> Batch:
    SEEN.append(len(batch["y"]))
    return in_place(batch)


def counting(batch: Batch) -> Batch:
    global CALLS
    CALLS = {"n": 1}
    return in_place(batch)


def lenient(batch: Batch) -> Batch:
    try:
        batch["image"] = [shout(x.resize((4, 4))) for x in batch["image"]]
    except Exception:
        batch["image"] = [shout(x) for x in batch["image"]]
    return batch


def printing(batch: Batch) -> Batch:
    print(batch["y"])
    return in_place(batch)


@pytest.mark.parametrize(
    "function",
    [
        removed,
        to_gray,
        only_gray_ones,
        twice,
        some,
        backwards,
        the_first,
        other_labels,
        constants,
        of_labels,
        by_chance,
        noting,
        counting,
        lenient,
        printing,
        lambda *batch: batch,
        shout,
        print,
        None,
    ],
)
def test_not_known(function: Any) -> None:
    assert read_batch_function(function, ["image", "y"], {"image"}) is None
    assert SEEN == [] and CALLS == {"n": 0}
