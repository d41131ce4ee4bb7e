# SPDX-License-Identifier: Apache-2.0
"""np.stack of deferred arrays of several images, as of masks: what is handed
out, taken apart and stacked again stays deferred, and is right either way."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import deferred_cases as cases
import needs
import pytest

needs.deferred_tensors()

import images  # noqa: E402
import recorded_sets as sets  # noqa: E402
from feedline.deferred import Recorder, deferred_of  # noqa: E402
from torch_cases import Ours, Theirs, data  # noqa: E402

np, torch, Image = cases.np, cases.torch, images.Image


def masks_in(root: Path) -> List[str]:
    root.mkdir(exist_ok=True)
    for n in range(6):
        images.picture((46, 39), n, "L").save(root / ("%d.png" % n))
    return sorted(map(str, root.glob("*.png")))


def assigned(array: Any, index: Any, value: Any) -> Any:
    array[index] = value
    return array


BOX = np.s_[2:9, 3:8]
Change = Callable[[List[Any]], Any]
DEFERRED: Dict[str, Change] = {
    "itself": lambda m: np.stack(m),
    "of one": lambda m: np.stack(m[:1]),
    "a part": lambda m: np.stack(m)[1],
    "the last part, flipped": lambda m: np.stack(m)[-1][:, ::-1].copy(),
    "stacked again": lambda m: np.stack([p[::-1] for p in np.stack(m)]),
    "of other strides": lambda m: np.stack([p.T for p in m]),
    "classes": lambda m: np.stack([(m[0] == c) for c in range(6)]),
    "as they are": lambda m: np.ascontiguousarray(np.asarray(np.stack(m))),
    "required": lambda m: np.require(np.stack(m), requirements=["C"]),
    "from_numpy": lambda m: torch.from_numpy(np.stack(m)),
    "long": lambda m: torch.from_numpy(np.stack(m)).long(),
    "floats": lambda m: torch.as_tensor(np.stack(m), dtype=torch.float32) / 3,
    "tensor": lambda m: torch.tensor(np.stack(m)),
    "part of a tensor": lambda m: list(torch.from_numpy(np.stack(m)))[2],
    "channel": lambda m: list(np.stack([m[0], m[0], m[0] // 2]))[2],
    "channel of a tensor": lambda m: list(
        torch.from_numpy(np.stack([m[0], m[0] // 2]))
    )[1],
    "a part, written to": lambda m: assigned(np.stack(m)[1], BOX, 7),
}
REAL: Dict[str, Change] = {
    "mean": lambda m: np.stack(m).mean(0),
    "sum": lambda m: np.stack(m) + 1,
    "copy": lambda m: np.stack(m).copy(),
    "slice": lambda m: np.stack(m)[:2],
    "list": lambda m: list(np.stack(m)),
    "whole and parts": lambda m: (s := np.stack(m), s[0], s[-1]),
    "written": lambda m: assigned(np.stack(m), 0, 7),
    "a part of it written": lambda m: (
        s := np.stack(m),
        assigned(s[1], BOX, 7),
        s[1],
    ),
    "its tensor written": lambda m: (
        s := np.stack(m),
        torch.from_numpy(s).mul_(2),
    ),
    "part of its tensor written": lambda m: (
        t := torch.from_numpy(np.stack(m)),
        assigned(list(t)[1], BOX, 5),
        t[1],
    ),
    "rows": lambda m: list(m[0])[3],
}


def read(paths: List[str]) -> List[Any]:
    return [np.array(Image.open(path)) for path in paths[:3]]


@pytest.mark.parametrize("name", [*DEFERRED, *REAL])
def test_stacks(name: str, tmp_path: Path) -> None:
    paths, change = masks_in(tmp_path), {**DEFERRED, **REAL}[name]
    for _ in range(3):
        cases.check(lambda p: change(read(p)), paths)
    if name in DEFERRED:
        made = Recorder().run(lambda: change(read(paths)))
        assert deferred_of(made) is not None


# ---- In a loader ------------------------------------------------------------


class Masks(data.Dataset):  # type: ignore[misc]
    def __init__(self, root: Path, change: Change) -> None:
        self.paths, self.change = masks_in(root), change

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        turned = self.paths[index:] + self.paths[:index]
        return self.change(read(turned))


def written(samples: List[Any]) -> Any:
    """The first leaf of each changes, and with it what shares its memory."""
    made = []
    for sample in samples:
        leaves = list(cases.leaves(sample))
        leaves[0][..., :2] = 9
        made.append([torch.as_tensor(leaf).clone() for leaf in leaves])
    return made


SHARED: Dict[str, Tuple[bool, Change]] = {
    "parts": (True, lambda m: list(np.stack(m))),
    "parts of a tensor": (True, lambda m: list(torch.from_numpy(np.stack(m)))),
    "whole": (True, lambda m: np.stack(m)),
    "whole and part": (False, lambda m: (s := np.stack(m), s[1])),
    "part and whole": (False, lambda m: [(s := np.stack(m))[1], s]),
    "a part twice": (False, lambda m: [(s := np.stack(m))[1], s[1], s[0]]),
    "a view of a part": (False, lambda m: [(s := np.stack(m))[1], s[1][2:]]),
    "array and tensor": (
        False,
        lambda m: [list(s := np.stack(m)), list(torch.from_numpy(s))],
    ),
    "channels": (True, lambda m: list(np.stack([m[0], m[0] // 2]))),
}


@pytest.mark.parametrize("name", SHARED)
def test_memory_is_shared_as_in_a_worker(name: str, tmp_path: Path) -> None:
    deferred, change = SHARED[name]
    dataset = Masks(tmp_path, change)
    arguments: Dict[str, Any] = {"batch_size": 2, "num_workers": 1}
    theirs = list(Theirs(dataset, collate_fn=written, **arguments))
    loader = Ours(dataset, collate_fn=written, **arguments)
    ours = list(loader)
    assert loader.recorded and sets.equal(ours, theirs)
    assert ("made in Python" not in loader.explain()) == deferred


@pytest.mark.parametrize("name", ["itself", "long", "a part", "classes"])
def test_batches_of_stacks(name: str, tmp_path: Path) -> None:
    dataset = Masks(tmp_path, DEFERRED[name])
    theirs = list(Theirs(dataset, 3, num_workers=1))
    loader = Ours(dataset, 3, num_workers=1)
    assert sets.equal(list(loader), theirs) and loader.recorded
    assert "made in Python" not in loader.explain()
