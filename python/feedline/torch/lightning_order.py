# SPDX-License-Identifier: Apache-2.0
"""What Lightning does with loaders out of turn, and a loader cannot mend.

`trainer.estimated_stepping_batches`, asked in `configure_optimizers`, iterates
the loaders before the checkpoint is restored. Lightning keeps these iterators,
and the states of the loaders that are in the checkpoint are loaded by nobody.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

CULPRIT = "estimated_stepping_batches"
MODULES = ("lightning.pytorch", "pytorch_lightning")
# Calls between that one and the loader's iter().
DEPTH = 20


def warn_of_lost_state() -> None:
    """Where iter() of a loader is called by that, in a run that resumes."""
    if not any(name in sys.modules for name in MODULES):
        return
    frame = sys._getframe(1)
    for _ in range(DEPTH):
        above = frame.f_back
        if above is None:
            return
        frame = above
        if frame.f_code.co_name != CULPRIT:
            continue
        trainer: Any = frame.f_locals.get("self")
        if getattr(trainer, "ckpt_path", None) is not None:
            warnings.warn(
                "Lightning will not load the state of this loader from %s, "
                "because trainer.%s was asked before: an epoch that is "
                "resumed in its middle begins anew. Compute the number from "
                "len(loader) instead" % (trainer.ckpt_path, CULPRIT),
                stacklevel=3,
            )
        return
