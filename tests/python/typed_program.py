# SPDX-License-Identifier: Apache-2.0
"""What a user's type checker sees of the package; it is checked and not run.

scripts/check_types gives it to mypy and pyright, both strict, with the package
installed beside it, so that they only know what py.typed promises. A line that
must be an error says so to both: an unused "ignore" is an error itself.
"""

from typing import Any, Dict, List, Optional, Tuple, Union

import torch
from numpy.typing import NDArray
from typing_extensions import assert_type

import feedline
import feedline.torch
import feedline.transforms


def engine() -> None:
    dataset = feedline.Dataset.open("folder:photos")
    assert_type(dataset, feedline.Dataset)
    assert_type(dataset.classes, List[str])
    pipeline = feedline.Pipeline("train").add("resize", size=256)
    assert_type(pipeline, feedline.Pipeline)
    with feedline.Loader(
        dataset,
        pipeline,
        batch_size=16,
        workers="auto",
        shuffle="block",
        dtype="u8",
        memory_budget="2g",
        stats_interval=2.5,
    ) as loader:
        assert_type(loader, feedline.Loader)
        assert_type(loader.epoch_info, feedline.EpochInfo)
        assert_type(loader.epoch_info.shape, Tuple[int, ...])
        assert_type(loader.next(timeout=1.0), Optional[feedline.Batch])
        for batch in loader:
            assert_type(batch, feedline.Batch)
            assert_type(batch.images, feedline.Tensor)
            assert_type(batch.images.shape, Tuple[int, ...])
            assert_type(batch.images.numpy(), NDArray[Any])
            assert_type(batch.sample_index, List[int])
            with loader.phase("forward"):
                pass
        assert_type(loader.stats(flat=True), Dict[str, Any])
        assert_type(loader.explain(), str)
        verdict = loader.verdict
        assert_type(verdict, feedline.Verdict)
        assert_type(verdict.predicted_gain, float)
        assert_type(loader.failures(), List[feedline.Failure])


def refused(dataset: feedline.Dataset) -> None:
    feedline.Loader(dataset, batch_sise=4)  # type: ignore[call-arg]
    feedline.Loader(dataset, dtype="u9")  # type: ignore[arg-type]
    feedline.Loader(dataset, workers="many")  # type: ignore[arg-type]
    feedline.Loader("folder:photos")  # type: ignore[arg-type]


def with_torch(
    data: torch.utils.data.Dataset[Tuple[torch.Tensor, int]]
) -> None:
    loader = feedline.torch.DataLoader(
        data, batch_size=8, shuffle=True, num_workers="auto", device="cuda"
    )
    assert_type(loader, feedline.torch.DataLoader[Tuple[torch.Tensor, int]])
    assert_type(loader.num_workers, int)
    assert_type(loader.native, bool)
    assert_type(loader.fallback_reason, Optional[str])
    assert_type(loader.engine, Optional[feedline.Loader])
    assert_type(loader.stats(), Dict[str, Any])
    assert_type(loader.verdict, feedline.Verdict)
    assert_type(loader.state_dict(), Dict[str, Any])


def around(loader: feedline.Loader, numbers: List[int]) -> None:
    for batch in feedline.progress(loader, desc="epoch 1"):
        assert_type(batch, feedline.Batch)
    bar = feedline.progress(numbers)
    assert_type(bar, feedline.Progress[int])
    bar.set_postfix(loss=0.25)
    watched = feedline.watch(numbers, name="numbers")
    assert_type(watched, feedline.Watch)
    assert_type(watched.explain(), str)
    with feedline.profile(
        loader, schedule=feedline.schedule(wait=1, warmup=1, active=3)
    ) as prof:
        prof.step()
    assert_type(prof.key_averages().table(), str)


def small_things() -> None:
    options = feedline.option_table()
    assert_type(options, Dict[str, feedline.Option])
    assert_type(options["workers"].minimum, Union[int, float, None])
    assert_type(feedline.operations(), Tuple[str, ...])
    assert_type(feedline.devices(), List[feedline.Device])
    assert_type(feedline.features(), List[str])
    try:
        feedline.Dataset.open("folder:none")
    except feedline.NotFound as error:
        assert_type(error.path, Optional[str])
        assert_type(error.name, str)
    blur = feedline.transforms.PIL(lambda image: image)
    assert_type(blur.name, str)
