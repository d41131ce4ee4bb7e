# SPDX-License-Identifier: Apache-2.0
"""get_worker_info() on a thread that makes samples as a worker would.

torch's function reads a global of its module, which a worker process sets. Here
it is asked which thread calls: one that is inside `as_worker` gets its own
answer, every other one torch's.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Iterator, Optional

import torch.utils.data

from ..replaced import disguise, replace
from ._compat import WorkerInfo


class _Here(threading.local):
    info: Optional[Any] = None


_here = _Here()


def install() -> None:
    """Puts a function like that in every module that has torch's."""
    theirs = torch.utils.data.get_worker_info
    if getattr(theirs, "__wrapped__", None) is not None:
        return

    def get_worker_info() -> Any:
        return _here.info or theirs()

    module, name = theirs.__module__, theirs.__qualname__
    replace(
        {id(theirs): (theirs, disguise(get_worker_info, theirs, module, name))}
    )


def only_worker(seed: int, dataset: Any) -> Any:
    """The information of worker 0 of 1."""
    return WorkerInfo(id=0, num_workers=1, seed=seed, dataset=dataset)


@contextmanager
def as_worker(info: Optional[Any]) -> Iterator[None]:
    outer, _here.info = _here.info, info
    try:
        yield
    finally:
        _here.info = outer
