# SPDX-License-Identifier: Apache-2.0
"""Samples that are tried before the first epoch: whatever goes wrong there is a
reason for torch to load them, and no error of the program's."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from child_process import signalled
from recorded_sets import Files
from torch_cases import Ours

from feedline.torch import FallbackWarning, recorded_proof
from feedline.torch.recorded_run import RecordedSet


class Locked(Files):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.lock = threading.RLock()

    def __getitem__(self, index: int) -> Any:
        with self.lock:
            return super().__getitem__(index)


def test_a_lock_that_the_program_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch, without workers, has it in the same thread."""
    monkeypatch.setattr(recorded_proof, "PATIENCE_S", 0.2)
    dataset = Locked(tmp_path / "images")
    loader = Ours(dataset, 6)
    with dataset.lock, pytest.warns(FallbackWarning, match="a lock that"):
        batches = iter(loader)
    assert len(list(batches)) == 4
    monkeypatch.undo()
    assert Ours(dataset, 6).recorded


class Slow(Files):
    seconds = 0.0

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.seconds)
        return super().__getitem__(index)


def test_the_timeout_is_that_of_the_loader(tmp_path: Path) -> None:
    dataset = Slow(tmp_path / "images")
    assert Ours(dataset, 6, num_workers=1, timeout=60).recorded
    dataset.seconds = 1.0
    loader = Ours(dataset, 6, num_workers=1, timeout=0.1)
    assert "within 0.1 s" in str(loader.fallback_reason)


class Odd:
    """Cannot even be looked at."""

    @property
    def __array_interface__(self) -> Any:
        raise RuntimeError("not now")

    def __copy__(self) -> Any:
        raise RuntimeError("nor this")


class Odds(Files):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index)[0], Odd()


def first(samples: Any) -> Any:
    return samples[0]


def test_samples_that_cannot_be_compared(tmp_path: Path) -> None:
    loader = Ours(Odds(tmp_path / "images"), 6, collate_fn=first)
    assert "RuntimeError: not now" in str(loader.fallback_reason)
    with pytest.warns(FallbackWarning):
        assert len(list(loader)) == 4


class Endless(Files):
    def __len__(self) -> int:
        return 1 << 62

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index % 24)


def test_a_length_beyond_all_bounds(tmp_path: Path) -> None:
    dataset = Endless(tmp_path / "images")
    loader = Ours(dataset, 6, sampler=[3, 1 << 40, 5, 8, (1 << 62) - 1])
    assert sum(len(images) for images, _ in loader) == 5
    assert loader.recorded, loader.fallback_reason


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Raising(Files):
    def __getitem__(self, index: int) -> Any:
        raise Unspeakable()


def test_an_error_without_words(tmp_path: Path) -> None:
    loader = Ours(Raising(tmp_path / "images"), 6)
    assert "Unspeakable" in str(loader.fallback_reason)
    with pytest.warns(FallbackWarning), pytest.raises(Unspeakable):
        next(iter(loader))


def test_ctrl_c_while_a_sample_is_tried(image_folder: Path) -> None:
    """Though its thread waits on."""
    code = """
        import torch
        from feedline.torch import DataLoader

        gate = threading.Event()

        class Own(torch.utils.data.Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                if index == 0:
                    print("waiting", flush=True)
                gate.wait(60)
                return index

        loader = DataLoader(Own(), batch_size=4)
        try:
            iter(loader)
        except KeyboardInterrupt:
            print("interrupted", gate.is_set())
        gate.set()
    """
    signalled(code, image_folder, "waiting", said="interrupted False")


class Boxes:
    """As OpenMMLab's: == asks whether two are one; they copy themselves."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def __deepcopy__(self, memo: Any) -> "Boxes":
        return type(self)(list(self.numbers))


def test_objects_that_are_compared_by_identity() -> None:
    assert recorded_proof.different(Boxes([1, 2]), Boxes([1, 2])) is None
    where = recorded_proof.different([Boxes([1, 2])], [Boxes([1, 3])])
    assert where == "[0]['numbers'][1] (value)"


class Boxed(Files):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index), Boxes([index, 4])


def test_a_sample_with_such_objects(tmp_path: Path) -> None:
    dataset = Boxed(tmp_path / "images")
    loader = Ours(dataset, 6, collate_fn=lambda samples: samples)
    assert loader.recorded, loader.fallback_reason
    assert [s[1].numbers for s in next(iter(loader))][2] == [2, 4]


def told(python_ms: float, pixels_ms: float, itself_ms: float, n: int) -> str:
    recorded = RecordedSet(100, "x")
    recorded.took(3 * itself_ms / 1e3, 1)  # the first one
    recorded.took(2 * itself_ms / 1e3, 2)
    stats = {
        "reader": {"samples": n, "cpu_seconds": python_ms * n / 1e3},
        "operations": [{"cpu_seconds": pixels_ms * n / 2e3}] * 2,
    }
    return recorded_proof.cost_of(recorded, stats)


def test_what_costs_more_than_it_saves_is_told() -> None:
    assert "0.50 ms of a core: 0.30 in its Python, 0.20" in told(
        0.3, 0.2, 0.25, 100
    )
    assert 'backend="torch"' in told(0.3, 0.2, 0.25, 100)
    assert "took 1.00" in told(0.3, 0.2, 1.0, 100)
    assert "costs more" not in told(0.3, 0.2, 1.0, 100)
    assert told(0.3, 0.2, 0.25, 8) == ""  # too few samples


def test_explain_has_the_costs(tmp_path: Path) -> None:
    loader = Ours(Files(tmp_path / "images"), 6, num_workers=1)
    for _ in range(6):
        list(loader)
    assert "the engine it took" in loader.explain()
