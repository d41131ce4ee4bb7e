# SPDX-License-Identifier: Apache-2.0
"""Data sets as programs write them, for the tests of recorded runs.

Each is a function of a folder of images; the reference is always torch's own
DataLoader with one worker.
"""

from __future__ import annotations

import dataclasses
import random
from collections import namedtuple
from pathlib import Path
from typing import Any, Callable, Dict, List

import needs
import numpy as np

needs.deferred_tensors()

from torch_cases import T, Ours, Theirs, data, same, torch

from images import make_folder
from PIL import Image, ImageOps
from torchvision.datasets.folder import default_loader
from torchvision.transforms import functional as F

Point = namedtuple("Point", ["image", "name"])


def images_in(root: Path, **more: Any) -> List[str]:
    """24 images of 3 classes, of one size, JPEG."""
    if not root.is_dir():
        make_folder(root, **{"size": (40, 32), **more})
    return sorted(str(path) for path in root.rglob("*.jpg"))


def chain(side: int = 16) -> Any:
    return T.Compose(
        [
            T.RandomResizedCrop(side),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
        ]
    )


class Files(data.Dataset):  # type: ignore[misc]
    """A list of files, and a chain of torchvision's."""

    def __init__(self, root: Path) -> None:
        self.files = images_in(root)
        self.transform = chain()

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return self.transform(image), index % 3


class Opened(Files):
    """As torchvision's loader opens them."""

    def __getitem__(self, index: int) -> Any:
        return self.transform(default_loader(self.files[index])), index


class Dicts(Files):
    """Everything that a sample may have beside its image."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return {
            "image": self.transform(image),
            "label": index,
            "score": random.random(),
            "point": np.random.rand(2),
            "noise": torch.randn(3),
            "text": Path(self.files[index]).name,
            "size": image.size,
            "deep": {"list": [index, {"again": self.transform(image)}]},
        }


class Views(Files):
    """Several views of two sizes, as a list."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.small = chain(8)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        views = [self.transform(image) for _ in range(2)]
        return [*views, self.small(image)], index


class Pairs(Files):
    """An image and its mask, moved by the same draws."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        mask = Image.open(self.files[-1 - index]).convert("L")
        box = T.RandomCrop.get_params(image, (16, 16))
        image, mask = F.crop(image, *box), F.crop(mask, *box)
        if random.random() < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        return F.to_tensor(image), F.pil_to_tensor(mask)


class Named(Files):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return Point(self.transform(image), str(index))


class Steps(Files):
    """Pillow's own methods, decided by draws."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        image = image.resize((20, 24), Image.BICUBIC)
        if np.random.rand() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        if random.random() < 0.3:
            image = ImageOps.grayscale(image).convert("RGB")
        left, top = random.randint(0, 4), int(torch.randint(0, 8, (1,)))
        image = image.crop((left, top, left + 16, top + 16))
        return F.to_tensor(image) * 2 - 1, index


class Sizes(Files):
    """Images that keep sizes of their own."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        side = 8 + index % 5
        return F.to_tensor(image.resize((side, 2 * side))), {"id": index}


class Touching(Files):
    """Pixels decide what is done to one image; the other stays deferred."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        dark = float(np.asarray(image).mean()) < 100
        other = Image.open(self.files[0]).convert("RGB")
        return self.transform(other), int(dark)


class Together(Files):
    """__getitems__ for the whole batch."""

    def __getitems__(self, indices: List[int]) -> List[Any]:
        drawn = random.random()
        return [(*self[index], drawn) for index in indices]


@dataclasses.dataclass
class Record:
    image: Any
    index: int


class Records(Files):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return Record(self.transform(image), index)


def records_together(samples: List[Record]) -> Any:
    return Record(
        torch.stack([one.image for one in samples]),
        sum(one.index for one in samples),
    )


def as_lists(samples: List[Any]) -> Any:
    return tuple(map(list, zip(*samples)))


SETS: Dict[str, Callable[[Path], Dict[str, Any]]] = {
    "files": lambda root: {"dataset": Files(root)},
    "opened": lambda root: {"dataset": Opened(root)},
    "dicts": lambda root: {"dataset": Dicts(root)},
    "views": lambda root: {"dataset": Views(root)},
    "pairs": lambda root: {"dataset": Pairs(root)},
    "named": lambda root: {"dataset": Named(root)},
    "steps": lambda root: {"dataset": Steps(root)},
    "sizes": lambda root: {"dataset": Sizes(root), "collate_fn": as_lists},
    "touching": lambda root: {"dataset": Touching(root)},
    "together": lambda root: {"dataset": Together(root)},
    "records": lambda root: {
        "dataset": Records(root),
        "collate_fn": records_together,
    },
    "subset": lambda root: {
        "dataset": data.Subset(Dicts(root), list(range(20, 2, -1)))
    },
    "joined": lambda root: {
        "dataset": data.ConcatDataset([Files(root), Opened(root)])
    },
    "single": lambda root: {"dataset": Files(root), "batch_size": None},
}


def arguments_of(name: str, root: Path, **more: Any) -> Dict[str, Any]:
    found = SETS[name](root)
    if "batch_size" not in found:
        found["batch_size"] = 5
    return {"shuffle": True, **found, **more}


def equal(ours: Any, theirs: Any) -> bool:
    """As `same`, of records, too."""
    if dataclasses.is_dataclass(ours):
        return type(ours) is type(theirs) and all(
            equal(value, getattr(theirs, name))
            for name, value in vars(ours).items()
        )
    return same(ours, theirs)


def batches_of(
    kind: Any, arguments: Dict[str, Any], epochs: int = 2, seed: int = 5
) -> List[Any]:
    """All batches of some epochs, and the global generators behind them."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    loader = kind(**arguments)
    found = [batch for _ in range(epochs) for batch in loader]
    if kind is Ours:
        assert loader.native and loader.recorded, loader.fallback_reason
    return [*found, torch.get_rng_state()]


def torchs(arguments: Dict[str, Any], epochs: int = 2) -> List[Any]:
    """Those of torch's loader with one worker."""
    return batches_of(Theirs, {**arguments, "num_workers": 1}, epochs)
