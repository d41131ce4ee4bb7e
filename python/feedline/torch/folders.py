# SPDX-License-Identifier: Apache-2.0
"""Data sets of image files that decode natively in any loader.

    loader = feedline.torch.DataLoader(ImageFolder(root, transform), ...)
    loader = torch.utils.data.DataLoader(ImageFolder(root, transform), ...)

The first runs the engine. The second is for frameworks that build torch's
loader themselves: `__getitems__` sends each batch through an engine of this
process.
With a transform that the engine does not have, samples are made in Python, as
torchvision makes them, and `fallback_reason` says why.

Random transforms: what is drawn for a sample follows from (seed, epoch, index)
and from nothing else. Call `set_epoch` before each epoch, as for a sampler, or
every epoch draws the same.
"""

from __future__ import annotations

import operator
import os
import threading
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence
from typing import Tuple, Union

import torch
import torch.utils.data
from torch.utils.data import get_worker_info
from torch.utils.dlpack import from_dlpack

import feedline

from .. import _c
from ..machine import image_endings
from .chain import NotNative
from .known_sets import Piece, files_piece
from .native import Plan, plan as plan_of

PathLike = Union[str, "os.PathLike[str]"]

# The endings that torchvision takes for images.
IMAGE_ENDINGS = image_endings(_c.ENDING_LISTED)


class Decoded(torch.utils.data.Dataset[Any]):
    """What our data sets have in common: samples come from an engine where the
    chain of transforms is known, and else from Python.

    Attributes:
        transform, target_transform: may be replaced.
        seed: of the random draws, with set_epoch().
        classes: names by label. class_to_idx: the other way round.
    """

    def __init__(
        self,
        transform: Optional[Callable[[Any], Any]],
        target_transform: Optional[Callable[[Any], Any]],
        classes: Optional[Sequence[str]],
        seed: int,
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform
        self.classes: List[str] = list(classes or ())
        self.seed: int = operator.index(seed)
        self.epoch: int = 0
        self._forget()

    def _forget(self) -> None:
        """What has to be found out again."""
        self._decoder: Optional[SampleDecoder] = None
        self._reason: Optional[str] = None
        self._made_of: Tuple[Any, ...] = ()

    # ---- What is in it ------------------------------------------------------

    def __len__(self) -> int:
        raise NotImplementedError

    def piece(self, where: str) -> Piece:
        """How the engine reads it. where: its name in messages."""
        raise NotImplementedError

    def _contents(self) -> Any:
        """What its samples are: replaced where they are others."""
        raise NotImplementedError

    def _opened(self, index: int) -> Tuple[Any, Any]:
        """A sample as a Pillow image of mode RGB, and its label."""
        raise NotImplementedError

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """Label of each class."""
        return {name: label for label, name in enumerate(self.classes)}

    def set_epoch(self, epoch: int) -> None:
        """epoch: names the random draws from here on. Changed samples are
        noticed."""
        self.epoch = operator.index(epoch)
        self._made_of = ()

    # ---- Samples ------------------------------------------------------------

    @property
    def fallback_reason(self) -> Optional[str]:
        """Why samples are made in Python; None if the engine makes them."""
        self._prepare()
        return self._reason

    def _prepare(self) -> Optional[SampleDecoder]:
        made_of = (
            self.transform,
            self.target_transform,
            self._contents(),
            len(self),
            os.getpid(),
        )
        if not _same(made_of, self._made_of):
            self._made_of = made_of
            try:
                plan = plan_of(self)
            except NotNative as why:
                self._decoder, self._reason = None, why.reason
            else:
                self._reason = None
                if self._decoder is None or self._decoder.plan is not plan:
                    self._decoder = SampleDecoder(plan)
        return self._decoder

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        """(image, label); the image is what `transform` gives.

        Raises IndexError, and for a file what the decoder says of it
        (feedline.Error, an OSError for files).
        """
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> List[Tuple[Any, ...]]:
        """The samples of a batch, decoded together."""
        positions = [place_of(i, len(self)) for i in indices]
        if not positions:
            return []
        decoder = self._prepare()
        if decoder is None:
            return [self._in_python(i) for i in positions]
        return list(decoder.samples(positions, self.epoch, self.seed))

    def _in_python(self, index: int) -> Tuple[Any, Any]:
        image, label = self._opened(index)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            return image, self.target_transform(label)
        return image, label

    # ---- Other processes ----------------------------------------------------

    def __getstate__(self) -> Dict[str, Any]:
        """Without the engine, which stays in its process."""
        state = self.__dict__.copy()
        state.update(_decoder=None, _reason=None, _made_of=())
        return state

    def __repr__(self) -> str:
        return "<%s: %d samples, %d classes>" % (
            type(self).__name__,
            len(self),
            len(self.classes),
        )


def place_of(index: Any, count: int) -> int:
    """An index, from 0 on. IndexError, TypeError: there is no such sample."""
    place = operator.index(index)
    if not -count <= place < count:
        raise IndexError(f"sample {place} of {count} samples")
    return place % count


class ImageList(Decoded):
    """Image files with labels.

    samples: pairs of path and label: an int, or whatever default_collate takes
    (numbers, tensors, str, lists and dicts of these). transform: a chain of
    torchvision or timm transforms on Pillow images of mode RGB, as for
    ImageFolder. target_transform: on labels, as the samples are handed over.
    classes: names by label. seed: of the random transforms.

    Attributes:
        samples, targets, classes, class_to_idx, transform: as in torchvision's
            ImageFolder; `samples` and `transform` may be replaced.
    """

    def __init__(
        self,
        samples: Iterable[Tuple[PathLike, Any]],
        transform: Optional[Callable[[Any], Any]] = None,
        target_transform: Optional[Callable[[Any], Any]] = None,
        *,
        classes: Optional[Sequence[str]] = None,
        seed: int = 0,
    ) -> None:
        super().__init__(transform, target_transform, classes, seed)
        self.samples: List[Tuple[str, Any]] = [
            (os.fspath(path), _label(label)) for path, label in samples
        ]

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def targets(self) -> List[Any]:
        """The label of each sample."""
        return [label for _, label in self.samples]

    @property
    def imgs(self) -> List[Tuple[str, Any]]:
        """torchvision's other name for `samples`."""
        return self.samples

    def piece(self, where: str) -> Piece:
        return files_piece(self, self.samples, where)

    def _contents(self) -> Any:
        return self.samples

    def _opened(self, index: int) -> Tuple[Any, Any]:
        from PIL import Image

        path, label = self.samples[index]
        with open(path, "rb") as file:
            return Image.open(file).convert("RGB"), label


def _label(label: Any) -> Any:
    """Whole numbers of any library as int; all else as it is."""
    if isinstance(label, bool):
        return label
    try:
        return operator.index(label)
    except TypeError:
        return label


def _same(a: Tuple[Any, ...], b: Tuple[Any, ...]) -> bool:
    """Whether both have the same objects, numbers by value."""
    return len(a) == len(b) and all(
        x is y or isinstance(x, int) and x == y for x, y in zip(a, b)
    )


class ImageFolder(ImageList):
    """A folder of images with one folder for each class.

    Ordered and labelled as torchvision.datasets.ImageFolder: classes by name,
    files of a class by folder and then by name, links followed.

    root: the folder of the classes' folders. is_valid_file: which files count,
    by path; default: those with an ending of an image. allow_empty: classes
    without images are fine. transform, target_transform, seed: as for
    ImageList. Raises FileNotFoundError for a folder without classes and for
    classes without images.
    """

    def __init__(
        self,
        root: PathLike,
        transform: Optional[Callable[[Any], Any]] = None,
        target_transform: Optional[Callable[[Any], Any]] = None,
        *,
        is_valid_file: Optional[Callable[[str], bool]] = None,
        allow_empty: bool = False,
        seed: int = 0,
    ) -> None:
        self.root: str = os.fspath(root)
        classes = _find_classes(self.root)
        samples, empty = _find_images(
            self.root, classes, is_valid_file or _is_image
        )
        if empty and not allow_empty:
            raise FileNotFoundError(
                "no images in %s, the folders of these classes: %s (an image "
                "ends in %s)"
                % (self.root, ", ".join(empty), " ".join(IMAGE_ENDINGS))
            )
        super().__init__(
            samples, transform, target_transform, classes=classes, seed=seed
        )


def _is_image(path: str) -> bool:
    return path.lower().endswith(IMAGE_ENDINGS)


def _find_classes(root: str) -> List[str]:
    with os.scandir(root) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise FileNotFoundError("no folders of classes in %s" % root)
    return classes


def _find_images(
    root: str, classes: Sequence[str], is_valid: Callable[[str], bool]
) -> Tuple[List[Tuple[str, int]], List[str]]:
    """Samples in order, and classes that have none."""
    samples: List[Tuple[str, int]] = []
    empty = []
    for label, name in enumerate(classes):
        before = len(samples)
        walk = os.walk(os.path.join(root, name), followlinks=True)
        for folder, _, files in sorted(walk):
            for file in sorted(files):
                path = os.path.join(folder, file)
                if is_valid(path):
                    samples.append((path, label))
        if len(samples) == before:
            empty.append(name)
    return samples, empty


# ---- Single samples ---------------------------------------------------------
#
# torch's own DataLoader asks a data set for the samples of a whole batch
# (`__getitems__`) where it can. They go through the engine as one batch, so
# decoding runs on all cores in one process, or on one thread in each of torch's
# worker processes. A fork copies the object but not the engine's threads: each
# process makes its own engine.

Sample = Tuple[Any, Any]

LARGEST_BATCH = 65536  # the most that option batch_size takes


class SampleDecoder:
    """An engine for one plan, made when the first sample is wanted.

    options: in place of the plan's. largest: samples of one of its batches.
    """

    def __init__(
        self, plan: Plan, largest: int = LARGEST_BATCH, **options: Any
    ) -> None:
        self.plan = plan
        self._largest = largest
        self._options = {**plan.options, **options}
        self._engine: Optional[feedline.Loader] = None
        self._room = 0  # samples of the engine's batches
        self._process = 0
        self._lock = threading.Lock()

    def samples(
        self, indices: Sequence[int], epoch: int, seed: int
    ) -> List[Sample]:
        """Images [C, H, W] with their labels, in the order of `indices`.

        indices: positions in the torch data set, not negative. What is drawn
        for a sample follows from seed, epoch and index. Raises the error of
        the first sample that cannot be used.
        """
        found: List[Sample] = []
        with self._lock:
            for first in range(0, len(indices), self._largest):
                part = indices[first : first + self._largest]
                found.extend(self._batch(part, epoch, seed))
        return found

    def _batch(
        self, indices: Sequence[int], epoch: int, seed: int
    ) -> List[Sample]:
        engine = self._engine_for(len(indices))
        places = self.plan.indices
        if places is not None:
            indices = [places[i] for i in indices]
        engine.begin(epoch, seed=seed)
        engine.append(indices, self._copies(indices))
        engine.end()
        batch = engine.next()
        assert batch is not None
        images = self._images(batch)
        labels = from_dlpack(batch.labels).tolist()
        batch.release()
        if self.plan.targets is not None:
            labels = list(self.plan.targets.of(labels))
        return list(zip(images, labels))

    def _copies(self, indices: Sequence[int]) -> Optional[List[int]]:
        """What gives repeated samples other draws; None: they have the same."""
        return None

    def _images(self, batch: feedline.Batch) -> List[Any]:
        """A sample that is kept must not keep the memory of its whole batch."""
        return [image.clone() for image in from_dlpack(batch.images)]

    def _engine_for(self, count: int) -> feedline.Loader:
        engine = self._engine
        if self._process != os.getpid():
            engine = None  # of the process that this one was forked from
        if engine is not None and count <= self._room:
            return engine
        if engine is not None:
            engine.close()
        self._room = 1 << (count - 1).bit_length()
        self._engine = feedline.Loader(
            self.plan.dataset,
            self.plan.pipeline,
            batch_size=self._room,
            workers="auto" if get_worker_info() is None else 1,
            depth=1,
            tuner="off",
            order="given",
            on_error="raise",
            **self._options,
        )
        self._process = os.getpid()
        return self._engine
