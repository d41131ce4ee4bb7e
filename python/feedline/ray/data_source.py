# SPDX-License-Identifier: Apache-2.0
"""read: feedline as a source of Ray Data."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

import feedline

from ..elsewhere import Asked, Plan
from ..errors import NotSupported
from ..maker import Maker, batch_options
from ..pipeline import Pipeline, as_pipeline

BLOCKS = 1024  # an actor takes one at a time

_NUMPY = {"u8": "|u1", "f16": "<f2", "f32": "<f4"}  # by option dtype


def read(
    dataset: feedline.Dataset,
    pipeline: Union[None, str, Pipeline] = None,
    *,
    epoch: int = 0,
    concurrency: int = 1,
    num_cpus: float = 1,
    ray_remote_args: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> Any:
    """An epoch as a ray.data.Dataset: rows of image, label and index, one of
    Ray's batches for each of feedline's.

    dataset, pipeline, options: as for feedline.Loader. epoch: which one, from
    0. concurrency: actors that make them. num_cpus: cores of each.
    ray_remote_args: other arguments of theirs, as for ray.remote. Rows come in
    the loader's order with
    ray.data.DataContext.get_current().execution_options.preserve_order = True,
    and else as they are ready. What they are is the same either way.
    """
    import ray

    pipeline = as_pipeline(pipeline)
    with feedline.Loader(dataset, pipeline, live=False, **options) as loader:
        made = batch_options(loader)
        shape = loader.epoch_info.shape
        batches = loader.epoch_info.batches
        if loader.config["dtype"] not in _NUMPY:
            raise NotSupported("numpy has no %s" % loader.config["dtype"])
    args = dict(ray_remote_args or {}, num_cpus=num_cpus)
    # Not ray.data.range, whose tasks would wait for cores that these actors
    # hold, and these for them.
    numbers = ray.data.from_items(
        [{"id": number} for number in range(batches)],
        override_num_blocks=min(batches, BLOCKS),
    )
    return numbers.map_batches(
        _Reader,
        fn_constructor_args=(
            (dataset, pipeline, options, made, epoch, shape, num_cpus),
        ),
        batch_size=1,
        concurrency=concurrency,
        **args,
    )


class _Reader:
    """An actor of Ray Data: numbers of batches to batches."""

    def __init__(self, made_of: Any) -> None:
        dataset, pipeline, options, made, self._epoch, shape, cpus = made_of
        self._planner = feedline.Loader(
            dataset, pipeline, live=False, **options
        )
        self._seed = self._planner.get("seed")
        self._shape = shape[1:]
        workers = max(1, int(cpus))
        self._maker = Maker(
            dataset, pipeline, made, workers=workers, live=False
        )

    def __call__(self, numbers: Dict[str, Any]) -> Dict[str, Any]:
        (number,) = numbers["id"]
        plan = Plan(self._planner, self._epoch, 0, int(number))
        planned = plan.peek()
        asked = Asked(
            planned.epoch, self._seed, planned.indices, planned.copies
        )
        made = self._maker.ask(asked).result()
        kind = _NUMPY[self._planner.config["dtype"]]
        images = made.images.view(kind).reshape((-1, *self._shape))
        return {"image": images, "label": made.labels, "index": made.index}
