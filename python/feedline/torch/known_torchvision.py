# SPDX-License-Identifier: Apache-2.0
"""Data sets of torchvision that hold a list of files, beside folders.

They differ in the names of their attributes, which are read, and in whether
they convert images to RGB. What lies in their folders is not looked at again.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Sequence, Tuple

from .chain import NotNative
from .known_sets import LEAVES, Piece, files_piece, listed_piece
from .known_sets import needs_pillow_loader, reads

_HERE = "torchvision.datasets."


def _check_loader(dataset: Any, where: str) -> None:
    """Newer versions take a loader; None is the same as their default."""
    if getattr(dataset, "loader", None) is not None:
        needs_pillow_loader(dataset, dataset.loader, where)


# ---- Images in RGB ----------------------------------------------------------


@reads(
    LEAVES,
    _HERE + "clevr.CLEVRClassification",
    _HERE + "dtd.DTD",
    _HERE + "fgvc_aircraft.FGVCAircraft",
    _HERE + "flowers102.Flowers102",
    _HERE + "food101.Food101",
    _HERE + "sun397.SUN397",
)
def _two_lists(dataset: Any, where: str) -> Piece:
    _check_loader(dataset, where)
    paths, labels = dataset._image_files, dataset._labels
    return listed_piece(dataset, where, [paths, labels])


@reads(
    LEAVES,
    _HERE + "gtsrb.GTSRB",
    _HERE + "imagenette.Imagenette",
    _HERE + "rendered_sst2.RenderedSST2",
    _HERE + "stanford_cars.StanfordCars",
)
def _pairs(dataset: Any, where: str) -> Piece:
    _check_loader(dataset, where)
    return files_piece(dataset, dataset._samples, where)


@reads(LEAVES, _HERE + "lfw.LFWPeople")
def _faces(dataset: Any, where: str) -> Piece:
    loader = dataset._loader  # a function by now, and a method before
    if getattr(loader, "__self__", None) is not dataset:
        needs_pillow_loader(dataset, loader, where)
    paths, labels = dataset.data, dataset.targets
    return listed_piece(dataset, where, [paths, labels])


def _two_transforms(dataset: Any, where: str) -> Any:
    """What holds the transform of a data set that calls `transforms`."""
    found = dataset.transforms
    if found is None:
        raise NotNative(
            f"{where} has no transform; give it ToTensor() at least"
        )
    kind = type(found)
    if (
        f"{kind.__module__}.{kind.__name__}"
        != _HERE + "vision.StandardTransform"
    ):
        raise NotNative(
            f"{where} has transforms of image and target together; give it "
            "transform and target_transform"
        )
    return found


@reads(LEAVES, _HERE + "places365.Places365")
def _places(dataset: Any, where: str) -> Piece:
    _check_loader(dataset, where)
    both = _two_transforms(dataset, where)
    return files_piece(dataset, dataset.imgs, where, transforms=both)


@reads(LEAVES, _HERE + "oxford_iiit_pet.OxfordIIITPet")
def _pets(dataset: Any, where: str) -> Piece:
    lists = {"category": "_labels", "binary-category": "_bin_labels"}
    kinds = dataset._target_types
    if not kinds or not set(kinds) <= lists.keys():
        raise NotNative(
            f"{where} has target_types={kinds!r}; the engine has 'category' "
            "and 'binary-category'"
        )
    paths = dataset._images
    columns = [getattr(dataset, lists[kind]) for kind in kinds]
    return listed_piece(
        dataset,
        where,
        [paths, *columns],
        lambda: (paths, _rows(columns)),
        transforms=_two_transforms(dataset, where),
    )


def _rows(columns: Sequence[Any]) -> Any:
    """The labels of samples that have several."""
    if len(columns) > 1:
        return list(zip(*columns))
    column = columns[0]
    return list(column) if getattr(column, "ndim", 1) > 1 else column


@reads(LEAVES, _HERE + "omniglot.Omniglot")
def _characters(dataset: Any, where: str) -> Piece:
    if getattr(dataset, "loader", None) is not None:
        raise NotNative(f"{where} has a loader of its own")
    pairs, folders = dataset._flat_character_images, dataset._characters

    def load() -> Tuple[Any, Any]:
        root = dataset.target_folder
        paths = [os.path.join(root, folders[n], name) for name, n in pairs]
        return paths, [n for _, n in pairs]

    return listed_piece(dataset, where, [pairs], load, 1)


# ---- Images as they are stored ----------------------------------------------


@reads(LEAVES, _HERE + "celeba.CelebA")
def _celebrities(dataset: Any, where: str) -> Piece:
    columns = {
        "attr": lambda: dataset.attr,
        "identity": lambda: dataset.identity[:, 0],
        "bbox": lambda: dataset.bbox,
        "landmarks": lambda: dataset.landmarks_align,
    }
    if not dataset.target_type:
        raise NotNative(f"{where} has no target_type, so no labels")
    found = [columns[kind]() for kind in dataset.target_type]
    names = dataset.filename

    def load() -> Tuple[Any, Any]:
        folder = os.path.join(
            dataset.root, dataset.base_folder, "img_align_celeba"
        )
        return [os.path.join(folder, name) for name in names], _rows(found)

    piece = listed_piece(dataset, where, [names, *found], load)
    piece.stored = "RGB"
    return piece


def _category_piece(
    dataset: Any, where: str, name: Callable[[int, int], str]
) -> Piece:
    """name: of a file below the folder, by category and number."""
    categories, numbers = dataset.y, dataset.index

    def load() -> Tuple[Any, Any]:
        paths = [
            os.path.join(dataset.root, name(category, number))
            for category, number in zip(categories, numbers)
        ]
        return paths, categories

    piece = listed_piece(dataset, where, [numbers, categories], load)
    piece.stored = "RGB"
    return piece


@reads(LEAVES, _HERE + "caltech.Caltech101")
def _caltech101(dataset: Any, where: str) -> Piece:
    if dataset.target_type != ["category"]:
        raise NotNative(
            f"{where} has target_type={dataset.target_type!r}; the engine has "
            "'category'"
        )
    folders = dataset.categories
    return _category_piece(
        dataset,
        where,
        lambda category, number: "101_ObjectCategories/%s/image_%04d.jpg"
        % (folders[category], number),
    )


@reads(LEAVES, _HERE + "caltech.Caltech256")
def _caltech256(dataset: Any, where: str) -> Piece:
    folders = dataset.categories
    return _category_piece(
        dataset,
        where,
        lambda category, number: "256_ObjectCategories/%s/%03d_%04d.jpg"
        % (folders[category], category + 1, number),
    )


@reads(LEAVES, _HERE + "inaturalist.INaturalist")
def _species(dataset: Any, where: str) -> Piece:
    _check_loader(dataset, where)
    index, folders = dataset.index, dataset.all_categories
    ranks: List[Dict[str, int]] = dataset.categories_map

    def column(kind: str) -> List[int]:
        if kind == "full":
            return [category for category, _ in index]
        return [ranks[category][kind] for category, _ in index]

    def load() -> Tuple[Any, Any]:
        paths = [
            os.path.join(dataset.root, folders[category], name)
            for category, name in index
        ]
        return paths, _rows([column(kind) for kind in dataset.target_type])

    piece = listed_piece(dataset, where, [index], load)
    if getattr(dataset, "loader", None) is None:
        piece.stored = "RGB"
    return piece
