# SPDX-License-Identifier: Apache-2.0
"""One deferred image, made by the engine here and now."""

from __future__ import annotations

import threading
from typing import Any

import torch

from .._library import lib
from ..dataset import Dataset
from ..errors import Error
from ..loader import Loader
from ..pipeline import Pipeline
from .canvas import one_sample
from .description import Deferred
from .packing import pack


def made_alone(deferred: Deferred) -> Any:
    """Its tensor; None where the engine cannot make it."""
    tensor = torch.empty(tuple(deferred.shape), dtype=deferred.dtype)
    made = []

    def record(call: Any, address: int) -> int:
        every = one_sample(deferred, tensor.data_ptr())
        memory, images = pack(*every)
        status = int(lib.read_recorded(address, images, len(every[0])))
        del memory  # which has been copied
        return status

    def make() -> None:
        samples = Dataset.recorded(record, 1, name="one image")
        chain = Pipeline("none")
        try:
            with Loader(
                samples, chain, batch_size=1, workers=1, tuner="off"
            ) as engine:
                for batch in engine:
                    batch.release()
            made.append(tensor)
        except Error:
            pass

    # This thread is inside of a loader, which has no other one run there.
    thread = threading.Thread(target=make, name="feedline one image")
    thread.start()
    thread.join()
    if not made:
        return None
    return tensor if deferred.wrap is None else deferred.wrap(tensor)
