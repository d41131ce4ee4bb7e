# SPDX-License-Identifier: Apache-2.0
"""Files that are others when the engine reads them: a data set that unpacks
each sample into the same file, or names files by where it stands."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from typing import Any, List

import pytest

from recorded_sets import F, Files
from torch_cases import Ours, torch

from PIL import Image

N = 12


class Unpacked(Files):
    """Each sample comes to lie in the same file."""

    def __init__(self, files: List[str], place: str) -> None:
        self.files, self.place = files, place

    def unpack(self, index: int) -> None:
        shutil.copyfile(self.files[index], self.place)

    def __getitem__(self, index: int) -> Any:
        self.unpack(index)
        return F.pil_to_tensor(Image.open(self.place).convert("RGB")), index


class Untarred(Unpacked):
    """With a time that is not now, and the same for all."""

    def unpack(self, index: int) -> None:
        path = self.files[index]
        archive = path + ".tar"
        with tarfile.open(archive, "w") as tar:
            member = tar.gettarinfo(path, os.path.basename(self.place))
            member.mtime = 1000000000
            with open(path, "rb") as file:
                tar.addfile(member, file)
        with tarfile.open(archive) as tar:
            tar.extractall(os.path.dirname(self.place))


class Standing(Unpacked):
    """Paths that depend on the folder that the program is in."""

    def __getitem__(self, index: int) -> Any:
        folder, name = os.path.split(self.files[index])
        before = os.getcwd()
        os.chdir(folder)
        try:
            image = Image.open(name).convert("RGB")
            return F.pil_to_tensor(image), index
        finally:
            os.chdir(before)


def images_in(folder: Path) -> List[str]:
    """Of one size, all different."""
    folder.mkdir()
    for i in range(N):
        (folder / str(i)).mkdir()
        colour = (20 * i, 255 - 20 * i, 7 * i)
        Image.new("RGB", (40, 30), colour).save(folder / str(i) / "a.png")
    return [str(folder / str(i) / "a.png") for i in range(N)]


@pytest.mark.parametrize("kind", [Unpacked, Untarred, Standing])
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_pixels_are_those_that_were_there(
    tmp_path: Path, kind: Any, workers: int
) -> None:
    files = images_in(tmp_path / "images")
    dataset = kind(files, str(tmp_path / "one.png"))
    loader = Ours(dataset, batch_size=4, num_workers=workers, shuffle=True)
    for _ in range(3):
        for images, indices in loader:
            for image, index in zip(images, indices.tolist()):
                with Image.open(files[index]) as file:
                    true = F.pil_to_tensor(file.convert("RGB"))
                assert torch.equal(image, true)
    assert loader.recorded
