# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer: native loaders, and batches as the models want them.

The Trainer makes its loaders itself. A class in front of it puts native ones in
their place, with the Trainer's own samplers and shards:

    class ImageTrainer(NativeLoaders, transformers.Trainer):
        pass

    trainer = ImageTrainer(model, args, train_dataset=dataset,
                           data_collator=image_collator())

A model of images wants a dictionary, a data set of images gives pairs:
`image_collator` makes one of the other. It is a collate_fn as any other, so
that it serves an unmodified Trainer as well: with `feedline.torch.ImageFolder`
as its data set images are then decoded natively, batch by batch, in the
Trainer's own loader.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Optional

import torch
import transformers
import transformers.trainer as trainer_module

from feedline.torch import DataLoader
from feedline.torch.collated import Collated, collated

from . import accelerate as adapter
from .scalars import Intervals

# The function of its module by which the Trainer goes on within an epoch.
SKIPPING = "skip_first_batches"


class NamedBatch:
    """Makes a dictionary of the images and labels of a batch.

    A class and no closure, because a collate_fn has to go through pickle.
    """

    def __init__(self, images: str, labels: str) -> None:
        self.images = images
        self.labels = labels

    def __call__(
        self, images: torch.Tensor, labels: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        return {self.images: images, self.labels: labels}


def image_collator(
    images: str = "pixel_values", labels: str = "labels"
) -> Collated:
    """A data_collator for data sets of (image, label) pairs.

    Batches become `{images: float32 or uint8 [N, C, H, W], labels: int64 [N]}`
    under the names given here, which are those of `forward` in the image models
    of transformers.
    """
    return collated(NamedBatch(images, labels))


class NativeLoaders:
    """To be named in front of `transformers.Trainer`: its loaders are native.

    Set `loader_options` in the class or on the object to give arguments to
    every `feedline.torch.DataLoader` that is made, for example
    `{"num_workers": "auto", "on_error": "skip"}`. Without a data_collator of
    the user's the one of `image_collator()` is taken, for the Trainer's default
    wants samples that are dictionaries. A data_collator of another kind is
    honoured through torch's loader: `fallback_reason` of the loader says so.
    """

    loader_options: dict[str, Any] = {}

    def get_train_dataloader(self) -> Any:
        """The Trainer's loader of the training set, native inside."""
        return self._native(super().get_train_dataloader())  # type: ignore

    def get_eval_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        """The Trainer's loader of an evaluation set, native inside."""
        made = super().get_eval_dataloader(*args, **kwargs)  # type: ignore
        return self._native(made)

    def get_test_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        """The Trainer's loader for `predict`, native inside."""
        made = super().get_test_dataloader(*args, **kwargs)  # type: ignore
        return self._native(made)

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """`Trainer.train`; a resumed epoch goes on natively too."""
        with _skipping_natively():
            return super().train(*args, **kwargs)  # type: ignore

    def _native(self, prepared: Any) -> Any:
        if isinstance(getattr(prepared, "base_dataloader", None), DataLoader):
            return prepared  # kept from an earlier evaluation
        changes = dict(self.loader_options)
        collator = getattr(self, "data_collator", None)
        # The Trainer's own is one that it took because it was given none.
        if collator in (None, transformers.default_data_collator):
            changes.setdefault("collate_fn", image_collator())
        elif isinstance(collator, Collated):
            # Without the wrapper that leaves out columns: pairs have none.
            changes.setdefault("collate_fn", collator)
        return adapter.make_native(prepared, **changes)


@contextmanager
def _skipping_natively() -> Iterator[None]:
    """The Trainer resumes an epoch by a function that makes a plain loader.

    It calls the one of its module, not a method that could be overridden, so
    ours stands there as long as it trains: the same function for any loader
    that is not ours.
    """
    names = vars(trainer_module)
    former = names.get(SKIPPING)
    if former is None:
        yield
        return
    names[SKIPPING] = adapter.skip_first_batches
    try:
        yield
    finally:
        names[SKIPPING] = former


class LoaderScalars(transformers.TrainerCallback):
    """Hands the loader's numbers (docs/metrics.md) to whatever the Trainer
    reports to, each time that it logs its loss.

        trainer.add_callback(LoaderScalars(trainer))

    They go to the callbacks of TensorBoard, W&B, MLflow and others as a log of
    their own, so progress bars and the printed log stay as they are. On the
    first process only, as all that these write.
    """

    SHOWN = (transformers.PrinterCallback, transformers.ProgressCallback)

    def __init__(
        self, trainer: transformers.Trainer, prefix: str = "feedline/"
    ) -> None:
        self._handler = trainer.callback_handler
        self._prefix = prefix
        self._intervals: Optional[Intervals] = None

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any
    ) -> None:
        """Of a training step; evaluation and the end have no "loss"."""
        if not state.is_world_process_zero or "loss" not in (logs or {}):
            return
        if self._intervals is None:
            self._intervals = Intervals(more["train_dataloader"])
        values = self._intervals.read(self._prefix)
        for other in list(self._handler.callbacks) if values else []:
            if other is not self and not isinstance(other, self.SHOWN):
                other.on_log(args, state, control, logs=dict(values), **more)
