# SPDX-License-Identifier: Apache-2.0
"""Actors: how many, and where. MakerActor: what runs there.

Ray neither restarts an actor nor repeats a call: supply.py does both, sooner.
Errors are answers, so that whatever an actor raises is about Ray: the actor or
its node is gone, or the package is not there.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import threading
from dataclasses import dataclass
from typing import Any, Dict, Mapping, NamedTuple, Optional, Union

import ray

import feedline

from ..elsewhere import Asked, Made
from ..errors import Error, InvalidArgument, UserError
from ..maker import Maker


@dataclass(frozen=True)
class Actors:
    """Actors of Ray that make batches.

    count: how many. num_cpus: cores of each, which Ray reserves on its node, as
    many workers decode there. window: batches asked of one at a time; what
    plasma holds of this loader is at most count * window batches, so that is to
    be below a third of the trainer's object store. resources, label_selector,
    runtime_env, scheduling_strategy: as for ray.remote, to keep them off the
    trainer's node: resources={"cpu_node": 1}.
    """

    count: int
    num_cpus: float = 1
    window: int = 3
    resources: Optional[Mapping[str, float]] = None
    label_selector: Optional[Mapping[str, str]] = None
    runtime_env: Optional[Mapping[str, Any]] = None
    scheduling_strategy: Any = "SPREAD"

    def __post_init__(self) -> None:
        if self.count < 1 or self.window < 1 or self.num_cpus <= 0:
            raise InvalidArgument(
                "%r: count and window are 1 or more, num_cpus above 0" % (self,)
            )

    def create(self, recipe: Any) -> Any:
        """One of them; recipe: of ray.put."""
        options: Dict[str, Any] = dict(
            num_cpus=self.num_cpus,
            max_concurrency=self.window + 1,
            scheduling_strategy=self.scheduling_strategy,
        )
        for name in ("resources", "label_selector", "runtime_env"):
            value = getattr(self, name)
            if value is not None:
                options[name] = dict(value)
        workers = max(1, int(self.num_cpus))
        made = ray.remote(MakerActor).options(**options)
        return made.remote(recipe, workers)


class Recipe(NamedTuple):
    """What all actors of a loader are made of."""

    dataset: Any
    pipeline: Any
    options: Dict[str, Any]
    version: str
    fingerprint: str


class Refusal(NamedTuple):
    """An error of feedline, as it travels. node: where."""

    status: int
    text: str
    path: Optional[str]
    node: str

    def error(self) -> Error:
        """To be raised at the trainer."""
        text = "%s: %s" % (self.node, self.text)
        return feedline.errors.of_status(self.status, text, self.path)


def fingerprint_of(dataset: Any, pipeline: Any, options: Any) -> str:
    """What a saved position names a data set by: names, labels and sizes."""
    with feedline.Loader(dataset, pipeline, live=False, **options) as loader:
        return str(json.loads(loader.save())["dataset"])


def recipe_of(loader: feedline.Loader, options: Dict[str, Any]) -> Recipe:
    """options: of batch_options."""
    return Recipe(
        loader.dataset,
        loader.pipeline,
        options,
        feedline.__version__,
        fingerprint_of(loader.dataset, loader.pipeline, options),
    )


def node_name() -> str:
    """For messages: "node 10.0.0.3 (cpu-7)"."""
    address = ray.util.get_node_ip_address()
    return "node %s (%s)" % (address, platform.node())


class MakerActor:
    """Makes batches on a node."""

    def __init__(self, recipe: bytes, workers: int) -> None:
        """recipe: pickled; it is opened by the first call, so that what is
        wrong with it is told by an answer."""
        self._recipe = recipe
        self._workers = workers
        self._maker: Optional[Maker] = None
        self._opening = threading.Lock()

    def open(self) -> Union[str, Refusal]:
        """The node's name, once batches can be made."""
        try:
            self._opened()
        except Exception as error:
            return refusal_of(error)
        return node_name()

    def _opened(self) -> Maker:
        with self._opening:
            if self._maker is None:
                self._maker = self._make()
            return self._maker

    def _make(self) -> Maker:
        recipe: Recipe = pickle.loads(self._recipe)
        if recipe.version != feedline.__version__:
            raise InvalidArgument(
                "feedline %s, and the trainer has %s"
                % (feedline.__version__, recipe.version)
            )
        made = recipe.dataset, recipe.pipeline, recipe.options
        if fingerprint_of(*made) != recipe.fingerprint:
            raise InvalidArgument(
                "%r has other files, labels or sizes here than at the trainer"
                % recipe.dataset
            )
        return Maker(*made, workers=self._workers, live=False)

    def make(self, asked: Asked) -> Union[Made, Refusal]:
        """A batch."""
        try:
            return self._opened().ask(asked).result()
        except Exception as error:
            return refusal_of(error)

    def pid(self) -> int:
        """Its process, for whoever looks for it."""
        return os.getpid()


def refusal_of(error: BaseException) -> Refusal:
    """An exception, as it travels."""
    if isinstance(error, Error):
        status, path = error.status, error.path
    else:
        status, path = UserError("").status, None
    text = "%s: %s" % (type(error).__name__, error)
    return Refusal(status, text, path, node_name())
