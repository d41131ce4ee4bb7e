# SPDX-License-Identifier: Apache-2.0
"""Functions for workers that do nothing but seed random generators.

A worker_init_fn may do anything to a worker process, so a loader that is given
one is torch's. But most of them only seed the generators of the workers, those
of frameworks and that of PyTorch's recipe. Native workers have none: what they
draw follows from the epoch's seed and the sample, whatever the rank. Such a
function needs no call, and its loader can be native. Those of frameworks are
known by name, the user's own are looked at (seed_rehearsal.py).
"""

from __future__ import annotations

import functools
from typing import Any

from . import seed_rehearsal

# By module and name, so that no framework has to be imported for it.
SEEDING = {
    ("lightning.fabric.utilities.seed", "pl_worker_init_function"),
    ("lightning_fabric.utilities.seed", "pl_worker_init_function"),
    ("pytorch_lightning.utilities.seed", "pl_worker_init_function"),
    ("transformers.trainer_utils", "seed_worker"),
    ("timm.data.loader", "_worker_init"),
}
# timm's calls a function of the user's for its seeds, if it is given one.
PLAIN_SEEDING = ("all", "part")


def only_seeds(worker_init_fn: Any, workers: int = 1) -> bool:
    """Whether it seeds generators of a worker and does nothing else.

    workers: how many there would be.
    """
    if seed_rehearsal.only_seeds(worker_init_fn, workers):
        return True
    arguments: dict[str, Any] = {}
    while isinstance(worker_init_fn, functools.partial):
        arguments = {**worker_init_fn.keywords, **arguments}
        worker_init_fn = worker_init_fn.func
    name = (
        getattr(worker_init_fn, "__module__", None),
        getattr(worker_init_fn, "__qualname__", None),
    )
    seeding = arguments.get("worker_seeding", "all")
    return name in SEEDING and seeding in PLAIN_SEEDING
