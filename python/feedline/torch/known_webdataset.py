# SPDX-License-Identifier: Apache-2.0
"""Pipelines of the package `webdataset`, whose steps are read and not run.

    WebDataset(shards).shuffle(1000).decode("pil").to_tuple("jpg", "cls")
        .map_tuple(transform, None).batched(64)

A pipeline is a list of steps: functions with their arguments, and objects. If
all of them are known, the samples are those of the shards as feedline opens
them, each once. The order is another one than webdataset's, which cannot be
told beforehand: with a `shuffle` a permutation of all samples, drawn as torch's
RandomSampler does, and else that of the shards.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple
from urllib.parse import urlparse

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

import feedline

from .chain import NotNative
from .compiled import what_it_does
from .known_sets import STREAMS, UNKNOWN, Piece, Stream, reads, ready_piece

_PILLOW = ("pil", "pilrgb")  # what decode() makes Pillow images of mode RGB
_ARRAYS = ("rgb", "rgb8")
# Parts by the last word of their extension: images, and what decode() does not
# leave as the engine's fields are.
_IMAGES = set(
    "jpg jpeg jpe jfif png apng webp gif bmp tif tiff ppm pgm".split()
)
_OTHERS = set(
    "pkl pickle pyd pth ten tb mp msg npy npz cbor gz class count".split()
)
_COLLATE = "default_collation_fn"


class Steps:
    """What the steps that were read so far make of the shards."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.shards: List[str] = []
        self.shuffled = False
        self.decoded: Optional[str] = None
        self.names: Dict[str, str] = {}  # of rename: new to "old;old"
        self.functions: Dict[str, Any] = {}  # of map_dict
        self.tuple: Tuple[str, ...] = ()
        self.batch: Optional[Tuple[int, bool]] = None  # samples, partial

    def fail(self, why: str) -> NotNative:
        return NotNative(
            f"{self.where} is a webdataset pipeline {why}; feedline.torch."
            'Images(feedline.Dataset.open("tar:SHARDS"), transform) reads such '
            "shards natively"
        )

    # ---- The steps ----------------------------------------------------------

    def read(self, step: Any) -> None:
        function = getattr(step, "f", None)
        if type(step).__name__ == "FilterFunction" and function is not None:
            name, arguments = function.__name__, (step.args, dict(step.kw))
        else:
            function = step if hasattr(step, "__name__") else type(step)
            name, arguments = function.__name__, ((step,), {})
        reader = _STEPS.get(name)
        if reader is None or not function.__module__.startswith("webdataset."):
            raise self.fail(f"with a step that is not known, {name}")
        handler = arguments[1].pop("handler", getattr(step, "handler", None))
        if getattr(handler, "__name__", "reraise_exception") != (
            "reraise_exception"
        ):
            raise self.fail(
                f"whose {name} leaves out what fails, as its handler says; "
                'on_error="skip" of the DataLoader does so'
            )
        if self.batch is not None:
            raise self.fail(f"with a {name} after batched")
        try:
            reader(self, *arguments[0], **arguments[1])
        except TypeError:  # an argument that is not known
            raise self.fail(f"whose {name} has other arguments") from None

    def urls(self, step: Any) -> None:
        for url in step.urls:
            parsed = urlparse(url)
            path = url[5:] if url.startswith("file:") else url
            if parsed.scheme not in ("", "file") or parsed.path != path:
                raise self.fail(f"of shards that are no local files ({url})")
            if "::" in path or "?" in path:
                raise self.fail(f"of a shard with '::' or '?' in {url}")
            self.shards.append(path)

    def one_node(self, step: Any) -> None:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1 or (
            torch.distributed.is_available()
            and torch.distributed.is_initialized()
            and torch.distributed.get_world_size() > 1
        ):
            raise self.fail(
                "in a job of several ranks, which it gives shards of their "
                "own; with a DistributedSampler"
            )

    def nothing(self, *step: Any) -> None:
        """No sample is another one for it."""

    def shuffle(
        self, bufsize: Any = 1000, initial: Any = 100, **_: Any
    ) -> None:
        self.shuffled = self.shuffled or int(bufsize) > 1

    def detshuffle(self, step: Any) -> None:
        self.shuffle(step.bufsize)

    def expand(
        self, select_files: Any = None, rename_files: Any = None
    ) -> None:
        if select_files is not None or rename_files is not None:
            raise self.fail("with select_files or rename_files")

    def decode(self, *images: Any) -> None:
        if (
            self.decoded is not None
            or self.tuple
            or len(images) != 1
            or not isinstance(images[0], str)
        ):
            raise self.fail("whose decode() is not for images alone")
        self.decoded = images[0]

    def map(self, decoder: Any) -> None:
        """decode(...) of the fluid interface is a map."""
        autodecode = sys.modules.get("webdataset.autodecode")
        if autodecode is None or type(decoder) is not autodecode.Decoder:
            raise self.fail("with a map() of any function")
        usual = (
            autodecode.default_pre_handlers,
            autodecode.default_post_handlers,
        )
        images = [
            handler
            for handler in decoder.handlers
            if not any(handler in some for some in usual)
        ]
        known = all(type(h) is autodecode.ImageHandler for h in images)
        if not known or decoder.only is not None:
            raise self.fail("whose decode() is not for images alone")
        self.decode(*(handler.imagespec for handler in images))

    def rename(self, keep: bool = True, **names: Any) -> None:
        if self.tuple or self.names or self.functions:
            raise self.fail("with rename() after other steps")
        self.names = {
            new: old if isinstance(old, str) else ";".join(old)
            for new, old in names.items()
        }

    def map_dict(self, **functions: Any) -> None:
        if self.functions or self.tuple or self.decoded is None:
            raise self.fail("with map_dict() before decode() or twice")
        self.functions = functions

    def to_tuple(self, *fields: Any, missing_is_error: bool = True) -> None:
        if self.tuple or self.decoded is None:
            raise self.fail("with to_tuple() before decode()")
        if not missing_is_error:
            raise self.fail("of samples that may lack parts")
        if len(fields) == 1 and isinstance(fields[0], str):
            fields = tuple(fields[0].split())
        self.tuple = tuple(
            field if isinstance(field, str) else ";".join(field)
            for field in fields
        )

    def map_tuple(self, *functions: Any) -> None:
        if self.functions or not 0 < len(functions) <= len(self.tuple):
            raise self.fail("with map_tuple() before to_tuple() or twice")
        self.functions = dict(zip(self.tuple, functions))

    def batched(
        self,
        batchsize: int = 20,
        collation_fn: Any = _COLLATE,
        partial: bool = True,
    ) -> None:
        if getattr(collation_fn, "__name__", collation_fn) != _COLLATE:
            raise self.fail("with a collation_fn of your own")
        self.batch = int(batchsize), bool(partial)

    # ---- All of them --------------------------------------------------------

    def image(self) -> str:
        """The part that is the image."""
        if not self.tuple:
            raise self.fail("whose samples are dicts; end it with to_tuple()")
        found = [name for name in self.tuple if self._is_image(name)]
        if len(found) != 1:
            raise self.fail(
                "of samples with %d images (%s), and the engine has one"
                % (len(found), ", ".join(self.tuple))
            )
        return found[0]

    def _is_image(self, name: str) -> bool:
        extensions = self.names.get(name, name).split(";")
        return all(e.rsplit(".", 1)[-1] in _IMAGES for e in extensions)

    def output(self, image: str) -> Tuple[str, ...]:
        """What samples are tuples of: "image", "label" and fields."""
        return tuple(
            "image" if name == image else self._field(name)
            for name in self.tuple
        )

    def _field(self, name: str) -> str:
        extension = self.names.get(name, name)
        last = extension.rsplit(".", 1)[-1]
        if extension == "cls":
            return "label"
        if set(extension) & set(";,&?") or last.startswith("__"):
            raise self.fail(
                f"with to_tuple() of {extension!r}, which is no part"
            )
        if last in _OTHERS or last in ("image", "label"):
            raise self.fail(
                f"with a part .{extension}, which decode() makes something of "
                "that the engine does not"
            )
        return extension

    def transform(self, image: str) -> Any:
        """Of the image."""
        for name, function in self.functions.items():
            if name != image and not (
                function is None or what_it_does(function) == "same"
            ):
                raise self.fail("with functions of more than the image")
        transform = self.functions.get(image)
        if self.decoded in _ARRAYS:
            transforms = getattr(transform, "transforms", (transform,))
            if type(transforms[0]).__name__ != "ToTensor":
                raise self.fail(
                    f'of arrays; write decode("pil") for {self.decoded!r}'
                )
        elif self.decoded not in _PILLOW:
            raise self.fail(f'with decode({self.decoded!r}); write "pil"')
        return transform

    def uri(self, image: str, output: Sequence[str]) -> str:
        fields = [f for f in output if f not in ("image", "label")]
        uri = "tar:%s?image=%s&label=%s" % (
            "::".join(self.shards),
            self.names.get(image, image),
            "cls" if "label" in output else "none",
        )
        if fields:
            names = ",".join(dict.fromkeys(fields))
            uri += "&missing_field=raise&fields=" + names
        return uri


_STEPS: Dict[str, Callable[..., None]] = {
    "SimpleShardList": Steps.urls,
    "single_node_only": Steps.one_node,
    "split_by_node": Steps.one_node,
    "split_by_worker": Steps.nothing,
    "check_empty": Steps.nothing,
    "StreamingOpen": Steps.nothing,
    "group_by_keys": Steps.nothing,
    "tar_file_expander": Steps.expand,
    "tarfile_samples": Steps.expand,
    "_shuffle": Steps.shuffle,
    "detshuffle": Steps.detshuffle,
    "_decode": Steps.decode,
    "_map": Steps.map,
    "_rename": Steps.rename,
    "_map_dict": Steps.map_dict,
    "_to_tuple": Steps.to_tuple,
    "_map_tuple": Steps.map_tuple,
    "_batched": Steps.batched,
}


class Order(Stream):
    """Of the samples, in place of the loader's endless sampler."""

    def __init__(self, steps: Steps, transform: Any) -> None:
        self._steps = steps
        self._transform = transform

    def sampler(self, loader: Any, count: int) -> Any:
        steps = self._steps
        if steps.batch is not None and loader.batch_size is not None:
            raise steps.fail(
                "that makes batches, as the loader does; give the loader "
                "batch_size=None"
            )
        batch = steps.batch or (loader.batch_size, not loader.drop_last)
        if batch[0] is None:
            raise steps.fail("without batches; give the loader a batch_size")
        samples: Any = SequentialSampler(range(count))
        if steps.shuffled:
            samples = RandomSampler(range(count), generator=loader.generator)
        return BatchSampler(samples, batch[0], not batch[1])

    def image(self, samples: feedline.Dataset, position: int) -> Any:
        from PIL import Image

        with Image.open(io.BytesIO(samples.read(position))) as image:
            return self._transform(image.convert("RGB"))


@reads(STREAMS, "webdataset.pipeline.DataPipeline")
def _webdataset(dataset: Any, where: str) -> Piece:
    steps = Steps(where)
    if dataset.repetitions != 1 or dataset.nsamples > 0:
        raise steps.fail(
            "with with_epoch() or repeat(), which count samples; an epoch is "
            "each sample once without them"
        )
    for step in dataset.pipeline:
        steps.read(step)
    image = steps.image()
    output, transform = steps.output(image), steps.transform(image)
    uri = steps.uri(image, output)
    piece = ready_piece(
        where,
        UNKNOWN,
        lambda: _opened(uri, steps),
        transform,
        (uri, steps.shuffled, steps.batch),
    )
    piece.output = None if output == ("image", "label") else output
    piece.stream = Order(steps, transform)
    return piece


def _opened(uri: str, steps: Steps) -> feedline.Dataset:
    try:
        return feedline.Dataset.open(uri)
    except feedline.Error as error:
        raise steps.fail(f"of shards that cannot be read ({error})") from None
