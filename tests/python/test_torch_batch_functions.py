# SPDX-License-Identifier: Apache-2.0
"""Functions of batches as dicts: which are known, by their code alone."""

from __future__ import annotations

from typing import Any, Tuple

import pytest

pytest.importorskip("torch")

from feedline.torch.known_huggingface import read_batch_function

Batch = Any


def shout(text: str) -> str:
    return text.upper()


def in_place(batch: Batch) -> Batch:
    """As the documentation of datasets has it."""
    batch["image"] = [shout(image) for image in batch["image"]]
    return batch


def renamed(examples: Batch) -> Batch:
    examples["pixels"] = [shout(x.convert("RGB")) for x in examples["image"]]
    del examples["image"]
    return examples


def taken_out(rows: Batch) -> Batch:
    rows["image"] = [shout(x) for x in rows.pop("image")]
    return rows


def made_anew(rows: Batch) -> Batch:
    return {"x": [shout(x) for x in rows["image"]], "y": rows["y"]}


def closing_over(transform: Any) -> Any:
    def function(batch: Batch) -> Batch:
        batch["image"] = [transform(x) for x in batch["image"]]
        return batch

    return function


@pytest.mark.parametrize(
    "function, found",
    [
        (in_place, ("image", "image", False, None)),
        (renamed, ("image", "pixels", True, None)),
        (taken_out, ("image", "image", False, None)),
        (made_anew, ("image", "x", False, "y")),
        (closing_over(shout), ("image", "image", False, None)),
    ],
)
def test_known(function: Any, found: Tuple[Any, ...]) -> None:
    known = read_batch_function(function)
    assert known is not None and known.transform is shout
    assert (known.image, known.made, known.to_rgb, known.keeps) == found


def other_image(batch: Batch) -> Batch:
    batch["pixels"] = [shout(x) for x in batch["image"]]
    return batch


def removed(batch: Batch) -> Batch:
    batch["image"] = [shout(x) for x in batch["image"]]
    del batch["image"]
    return batch


def to_gray(batch: Batch) -> Batch:
    batch["image"] = [shout(x.convert("L")) for x in batch["image"]]
    return batch


def twice(batch: Batch) -> Batch:
    batch["image"] = [shout(shout(x)) for x in batch["image"]]
    return batch


def some(batch: Batch) -> Batch:
    batch["image"] = [shout(x) for x in batch["image"] if x]
    return batch


def with_default(batch: Batch, size: int = 1) -> Batch:
    batch["image"] = [shout(x) for x in batch["image"]]
    return batch


@pytest.mark.parametrize(
    "function",
    [
        other_image,
        removed,
        to_gray,
        twice,
        some,
        with_default,
        lambda *batch: batch,
        shout,
        print,
        None,
    ],
)
def test_not_known(function: Any) -> None:
    assert read_batch_function(function) is None
