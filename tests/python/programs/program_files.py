# SPDX-License-Identifier: Apache-2.0
"""What a program is, and the files that programs read.

`Files` writes what is asked for when it is asked for, the same at every run:
photos as JPEG and PNG of several sizes, some of them gray, masks, pairs, a
turned photo, a damaged one. With real images (a folder of classes) the photos
are those, and what belongs to them is made from them.
"""

from __future__ import annotations

import importlib
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from PIL import Image

ORIENTATION = 0x0112


class Missing(Exception):
    """A program cannot run here; says why."""


def need(name: str) -> Any:
    """A module that a program uses, or Missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Missing("no %s" % name) from None


@dataclass
class Program:
    """What a training script gives to its loader.

    dataset, arguments: of torch's DataLoader; all but num_workers.
    notes: what there is to know about it.
    resumes: False where the program keeps a state that no loader saves.
    """

    dataset: Any
    arguments: Dict[str, Any] = field(default_factory=dict)
    notes: str = ""
    resumes: bool = True


def smooth(size: Tuple[int, int], seed: int, mode: str = "RGB") -> Any:
    """A picture with soft structure, as photos have."""
    draw = random.Random(seed)
    small = (max(2, size[0] // 10), max(2, size[1] // 10))
    many = small[0] * small[1] * len(mode)
    noise = bytes(draw.randrange(256) for _ in range(many))
    return Image.frombytes(mode, small, noise).resize(size, Image.BICUBIC)


class Files:
    """The files of one program, below a folder of its own.

    count: of photos. real: a folder of classes with real photos, or None.
    """

    def __init__(
        self, root: Path, count: int = 20, real: Optional[Path] = None
    ) -> None:
        self.root = Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        self.count = count
        self.real = sorted(Path(real).glob("*/*.*")) if real else []

    def folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(exist_ok=True)
        return path

    def size(self, i: int) -> Tuple[int, int]:
        draw = random.Random(1000 + i)
        return draw.randrange(60, 130), draw.randrange(60, 130)

    def photos(self, name: str = "photos", first: int = 0) -> List[str]:
        """Paths of the photos; first: another number makes other ones."""
        return [
            str(self._photo(self.folder(name), i, first))
            for i in range(self.count)
        ]

    def _photo(self, folder: Path, i: int, first: int) -> Path:
        if self.real:
            source = self.real[(first + i) % len(self.real)]
            path = folder / ("%04d%s" % (i, source.suffix))
            if not path.exists():
                shutil.copyfile(source, path)
            return path
        kind = "png" if i % 5 == 3 else "jpg"
        mode = "L" if i % 7 == 2 else "RGBA" if i % 10 == 8 else "RGB"
        path = folder / ("%04d.%s" % (i, kind))
        if not path.exists():
            smooth(self.size(i), first + i, mode).save(
                path, **({"progressive": i % 4 == 1} if kind == "jpg" else {})
            )
        return path

    def color_pngs(self, name: str = "sharp", shrink: int = 1) -> List[str]:
        """PNG of the colour photos; shrink: that many times smaller."""
        folder, paths = self.folder("%s%d" % (name, shrink)), []
        for i, photo in enumerate(self.photos()):
            path = folder / ("%04d.png" % i)
            if not path.exists():
                with Image.open(photo) as image:
                    sides = [max(64, s // 4 * 4) for s in image.size]
                    image = image.convert("RGB").resize(sides)
                    image.resize([s // shrink for s in sides]).save(path)
            paths.append(str(path))
        return paths

    def masks(self, mode: str) -> List[str]:
        """A mask for each photo; mode: "L", or "P" with a palette."""
        folder, paths = self.folder("masks_" + mode), []
        for i, photo in enumerate(self.photos()):
            path = folder / ("%04d.png" % i)
            if not path.exists():
                with Image.open(photo) as image:
                    size = image.size
                mask = smooth(size, 500 + i, "L").point(lambda v: v // 64)
                if mode == "P":
                    indices = mask.tobytes()
                    mask = Image.frombytes("P", size, indices)
                    mask.putpalette([0, 0, 0, 200, 0, 0, 0, 200, 0, 0, 0, 200])
                mask.save(path)
            paths.append(str(path))
        return paths

    def classes(self, count: int = 4) -> str:
        """The photos in a folder of classes, as ImageFolder reads them."""
        top = self.folder("classes")
        for i, photo in enumerate(self.photos()):
            folder = top / ("class_%d" % (i % count))
            folder.mkdir(exist_ok=True)
            path = folder / Path(photo).name
            if not path.exists():
                shutil.copyfile(photo, path)
        return str(top)

    def turned(self) -> List[str]:
        """The photos as JPEG, each with one of the EXIF orientations."""
        folder, paths = self.folder("turned"), []
        for i, photo in enumerate(self.photos()):
            path = folder / ("%04d.jpg" % i)
            if not path.exists():
                with Image.open(photo) as image:
                    exif = Image.Exif()
                    exif[ORIENTATION] = 1 + i % 8
                    image.convert("RGB").save(path, exif=exif)
            paths.append(str(path))
        return paths

    def damaged(self) -> List[str]:
        """The photos, every fourth of them cut off in the middle."""
        folder, paths = self.folder("damaged"), []
        for i, photo in enumerate(self.photos()):
            path = folder / Path(photo).name
            if not path.exists():
                data = Path(photo).read_bytes()
                path.write_bytes(data[: len(data) // 2] if i % 4 == 1 else data)
            paths.append(str(path))
        return paths
