# SPDX-License-Identifier: Apache-2.0
"""What a collate_fn does in the consumer's thread is no work of the program's:
it is told, with its name."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, List

import pytest

from recorded_sets import Files, same
from torch_cases import Ours, six_batches, torch

from torch.utils.data import default_collate

import feedline
from feedline.torch import collated, recorded_iteration
from feedline.worker_functions import function_named

SECONDS = 0.02


def slow(samples: List[Any]) -> Any:
    time.sleep(SECONDS)
    return default_collate(samples)


def slow_batch(images: Any, labels: Any) -> Any:
    time.sleep(SECONDS)
    return images, labels


def recorded(root: Path) -> Any:
    return Ours(
        Files(root / "images"), batch_size=4, num_workers=2, collate_fn=slow
    )


def known(root: Path) -> Any:
    Files(root / "images")
    return six_batches(root / "images", collate_fn=collated(slow_batch))


def of_samples(root: Path) -> Any:
    Files(root / "images")
    return six_batches(root / "images", collate_fn=collated(slow, samples=True))


@pytest.mark.parametrize("make", [recorded, known, of_samples])
def test_a_slow_collate_fn_is_named(tmp_path: Path, make: Any) -> None:
    loader = make(tmp_path)
    for _ in range(11):  # 66 batches: enough for a verdict
        for _ in loader:
            pass
    assert loader.native
    found = loader.stats()["stats"]
    assert found["api_seconds"] >= 66 * SECONDS
    verdict = loader.verdict
    assert verdict.code == "HANDOVER_BOUND"
    name = (slow_batch if make is known else slow).__name__
    assert "test_torch_collate_named.py:" in verdict.sentence
    assert "in %s" % name in verdict.sentence and name in verdict.action


def test_names() -> None:
    def local(samples: Any) -> Any:
        return samples

    class Batches:
        def __call__(self, samples: Any) -> Any:
            return samples

        def method(self, samples: Any) -> Any:
            return samples

    assert function_named(None) is None
    assert function_named(default_collate) is None
    for function in local, Batches().method:
        named = function_named(function) or b""
        assert named.startswith(b"test_torch_collate_named.py:")
        assert named.endswith(b" in " + function.__name__.encode())
    named = function_named(Batches()) or b""
    assert named.endswith(b".Batches")


def test_a_collate_fn_with_many_calls(tmp_path: Path) -> None:
    """The batches behind one are not looked into, and are the same."""
    calls = recorded_iteration.MOST_CALLS + 100

    def busy(samples: List[Any]) -> Any:
        images = torch.stack([image for image, _ in samples])
        total = torch.zeros(())
        for _ in range(calls):
            total += 1
        images[0] += total
        return images, total

    def batches(collate: Any) -> List[Any]:
        loader = Ours(
            Files(tmp_path / "images"),
            batch_size=4,
            num_workers=2,
            seed=3,
            collate_fn=collate,
        )
        found = list(loader)
        assert loader.native
        return found

    plain = batches(None)
    found = batches(busy)
    assert len(found) == len(plain) == 6
    for (images, total), (expected, _) in zip(found, plain):
        assert total == calls
        expected = expected.clone()
        expected[0] += calls
        assert same(images, expected)


def test_a_loader_of_the_engines_may_tell(image_folder: Path) -> None:
    """It is told once for a batch, whoever asks."""
    dataset = feedline.Dataset.open(str(image_folder))
    pipeline = feedline.Pipeline().add("resize", width=16, height=16)
    with feedline.Loader(dataset, pipeline, batch_size=4) as loader:
        loader._handed_over(b"nothing yet")
        before = loader.stats()["stats"]["api_seconds"]
        loader.start()
        batch = next(iter(loader))
        time.sleep(SECONDS)
        loader._handed_over(b"it")
        assert loader.stats()["stats"]["api_seconds"] >= before + SECONDS
        batch.release()
