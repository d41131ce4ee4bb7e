# SPDX-License-Identifier: Apache-2.0
"""The package `webdataset`, or what stands in for it where it is not installed:
pipelines that are made as its version 1.0 makes them, and cannot be run.
"""

from __future__ import annotations

import copy
import sys
import types
from typing import Any, Callable

import torch.utils.data


def _module(name: str) -> Any:
    made = types.ModuleType("webdataset." + name)
    sys.modules[made.__name__] = made
    return made


def _in(module: Any, thing: Any) -> Any:
    thing.__module__ = module.__name__
    setattr(module, thing.__name__, thing)
    return thing


class FilterFunction:
    def __init__(self, f: Any, *args: Any, **kw: Any) -> None:
        self.f, self.args, self.kw = f, args, kw


def _filter(name: str) -> Callable[..., FilterFunction]:
    def function(data: Any, *args: Any) -> Any:
        return data

    function.__name__ = "_" + name if name != "tar_file_expander" else name
    _in(filters, function)
    return lambda *args, **kw: FilterFunction(function, *args, **kw)


def reraise_exception(error: BaseException) -> None:
    raise error


def warn_and_continue(error: BaseException) -> bool:
    return True


def default_collation_fn(samples: Any) -> Any:
    return samples


class SimpleShardList:
    def __init__(self, urls: Any) -> None:
        self.urls = urls if isinstance(urls, list) else [urls]


class StreamingOpen:
    def __init__(self, handler: Any) -> None:
        self.handler = handler


class ImageHandler:
    def __init__(self, imagespec: str) -> None:
        self.imagespec = imagespec


class Decoder:
    only = None

    def __init__(self, handlers: Any) -> None:
        pre, post = (
            autodecode.default_pre_handlers,
            autodecode.default_post_handlers,
        )
        self.handlers = pre + handlers + post


def single_node_only(src: Any) -> Any:
    return src


class DataPipeline(torch.utils.data.IterableDataset[Any]):
    def __init__(self) -> None:
        self.pipeline: Any = []
        self.repetitions = 1
        self.nsamples = -1

    def __iter__(self) -> Any:
        raise NotImplementedError

    def with_epoch(self, nsamples: int) -> Any:
        self.repetitions, self.nsamples = sys.maxsize, nsamples
        return self


def _step(name: str, **usual: Any) -> Any:
    made = _filter(name)

    def method(self: Any, *args: Any, **kw: Any) -> Any:
        other = copy.copy(self)
        other.pipeline = self.pipeline + [made(*args, **{**usual, **kw})]
        return other

    return method


pipeline, filters = _module("pipeline"), _module("filters")
autodecode, shardlists = _module("autodecode"), _module("shardlists")
autodecode.default_pre_handlers = [len]
autodecode.default_post_handlers = [repr]
for home, things in (
    (pipeline, [DataPipeline]),
    (filters, [FilterFunction, reraise_exception, default_collation_fn]),
    (autodecode, [Decoder, ImageHandler]),
    (shardlists, [SimpleShardList, single_node_only, StreamingOpen]),
):
    for thing in things:
        _in(home, thing)
DataPipeline.__iter__.__module__ = pipeline.__name__


class WebDataset(DataPipeline):
    map = _step("map", handler=reraise_exception)
    to_tuple = _step("to_tuple")
    map_tuple = _step("map_tuple", handler=reraise_exception)
    map_dict = _step("map_dict", handler=reraise_exception)
    rename = _step("rename")
    shuffle = _step("shuffle")
    slice = _step("slice")
    batched = _step("batched", collation_fn=default_collation_fn, partial=True)

    def __init__(
        self,
        urls: Any,
        shardshuffle: Any = None,
        handler: Any = reraise_exception,
    ) -> None:
        super().__init__()
        expander = _filter("tar_file_expander")
        self.pipeline = [
            SimpleShardList(urls),
            single_node_only,
            StreamingOpen(handler),
            expander(handler=handler, select_files=None, rename_files=None),
        ]

    def decode(self, *images: str) -> Any:
        return self.map(Decoder([ImageHandler(image) for image in images]))
