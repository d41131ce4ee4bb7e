# SPDX-License-Identifier: Apache-2.0
"""Native in part: the engine inside of torch's own loader.

Where the engine cannot make a loader's batches, torch's workers do, and of each
sample they do all of it:

    read -> decode -> resize -> crop -> [unknown] -> ToTensor -> collate_fn

The first of these are most of the work and the engine knows them. So torch's
iterators get another data set, which has an engine in each process and gives
its images to the rest of the chain:

    engine: read -> decode -> resize -> crop | torch: [unknown] -> ...

What follows are the user's own objects, called as torch calls them: in the
same processes, with the same random generators, on the same types of images. If
the engine cannot make a sample, the data set itself makes the batch, and raises
what it raises.

**Draws** of what the engine does follow from a number drawn from the worker's
own generator for each batch, as torch's would; without workers from the seed of
the iterator, which leaves the global generator where workers would leave it.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import torch.utils.data
from torch.utils.data import get_worker_info

import feedline

from .folders import LARGEST_BATCH, SampleDecoder, place_of
from .native import TV_TENSORS, Head, head_of

# Of images that keep sizes of their own: the largest one, and how many are made
# together. Larger ones are left to Pillow.
RAGGED_BYTES = 4 << 20
RAGGED_BATCH = 16


class HeadDecoder(SampleDecoder):
    """Samples as the rest of a chain takes them."""

    def __init__(self, head: Head, quality: Optional[str]) -> None:
        self.head = head
        self.ragged = head.plan.shape[1] == 0
        options: Dict[str, Any] = {}
        if quality is not None:
            options["quality"] = quality
        if head.form in ("image", "array"):
            options["layout"] = "nhwc"
        if self.ragged:
            options["max_sample_bytes"] = RAGGED_BYTES
        largest = RAGGED_BATCH if self.ragged else LARGEST_BATCH
        super().__init__(head.plan, largest, **options)

    def _copies(self, indices: Sequence[int]) -> Optional[List[int]]:
        return list(range(len(indices)))

    def _images(self, batch: feedline.Batch) -> List[Any]:
        form = self.head.form
        if form == "tensor" and not self.ragged:
            return super()._images(batch)
        arrays = [batch.image(i) for i in range(len(batch))]
        if form == "array":
            return arrays
        if form == "image":
            from PIL import Image

            gray = self.head.plan.shape[0] == 1
            return [Image.fromarray(a[:, :, 0] if gray else a) for a in arrays]
        if form == "tensor":
            return list(map(torch.from_numpy, arrays))
        kind = sys.modules[TV_TENSORS].Image
        return [kind(torch.from_numpy(a)) for a in arrays]


class Partial(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """A data set whose images the engine makes as far as it knows how to.

    progress: of the iterator that it is for. quality: the engine's option.
    """

    def __init__(
        self,
        dataset: Any,
        head: Head,
        progress: Any,
        quality: Optional[str] = None,
    ) -> None:
        self.dataset = dataset
        self._quality = quality
        self._progress = progress
        self._made = progress.batches
        self._head: Optional[Head] = head
        self._decoder: Optional[HeadDecoder] = None
        self._process = os.getpid()

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        if name == "dataset":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitem__(self, index: Any) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[Any]) -> List[Any]:
        decoder = self._decoder_here()
        try:
            places = [place_of(index, len(self.dataset)) for index in indices]
            seed, epoch = self._seed(decoder)
            found = decoder.samples(places, epoch, seed)
        except (feedline.ForkError, feedline.StateError):
            raise  # nothing that the data set could do better
        except (feedline.Error, IndexError, TypeError):
            return [self.dataset[index] for index in indices]
        tail = decoder.head.tail
        return [(_through(tail, image), label) for image, label in found]

    def _decoder_here(self) -> HeadDecoder:
        """A data set of the engine's belongs to one process."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._head = self._decoder = None
        if self._decoder is None:
            self._decoder = HeadDecoder(
                self._head or head_of(self.dataset), self._quality
            )
        return self._decoder

    def _seed(self, decoder: HeadDecoder) -> Tuple[int, int]:
        """Seed and epoch of the engine's for the next batch."""
        if not decoder.plan.random:
            return 0, 0
        if get_worker_info() is None:
            self._made += 1
            return self._progress.seed % 2**63, self._made
        return int(torch.empty((), dtype=torch.int64).random_()), 0

    def __getstate__(self) -> Any:
        """For processes that are not forked: they make their own engine."""
        return {
            "dataset": self.dataset,
            "_process": 0,
            "_quality": self._quality,
        }


def _through(tail: Sequence[Any], image: Any) -> Any:
    for transform in tail:
        image = transform(image)
    return image
