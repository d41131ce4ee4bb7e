# SPDX-License-Identifier: Apache-2.0
"""Lightning: a callback for the numbers of the training's loaders.

    Trainer(callbacks=[LoaderScalars()], logger=...)

The loader itself needs nothing from here: Lightning takes it as it is.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Tuple

if TYPE_CHECKING or importlib.util.find_spec("lightning"):
    from lightning.pytorch.callbacks import Callback
else:  # the package by its former name
    from pytorch_lightning.callbacks import Callback

from .scalars import Scalars


class LoaderScalars(Callback):
    """Logs what docs/metrics.md lists to every logger of the Trainer, each
    `log_every_n_steps`, on the first rank: loggers take no more.

    prefix: in front of each name. Of several loaders each has its key or its
    number behind it.
    """

    def __init__(self, prefix: str = "feedline/") -> None:
        self._prefix = prefix
        self._scalars: List[Scalars] = []

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """The loaders are there now."""
        self._scalars = [
            Scalars(
                loader,
                _Loggers(trainer),
                every=trainer.log_every_n_steps or 1,
                prefix=self._prefix + name,
            )
            for name, loader in _named(trainer.train_dataloader)
        ]

    def on_train_batch_end(self, trainer: Any, *unused: Any) -> None:
        """Behind each batch; several may be one step."""
        for scalars in self._scalars:
            scalars.step(trainer.global_step)


class _Loggers:
    """All loggers of a Trainer, as one."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def log_metrics(self, values: Dict[str, float], step: int) -> None:
        for logger in self._trainer.loggers:
            logger.log_metrics(values, step)


def _named(loaders: Any) -> List[Tuple[str, Any]]:
    """The loaders that a Trainer has, with what tells them apart."""
    if isinstance(loaders, Mapping):
        return [("%s/" % key, loader) for key, loader in loaders.items()]
    if isinstance(loaders, (list, tuple)):
        return [("%d/" % i, loader) for i, loader in enumerate(loaders)]
    return [("", loaders)]
