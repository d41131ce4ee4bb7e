# SPDX-License-Identifier: Apache-2.0
"""examples/python/ddp.py, with a note of each step and a death: elastic_rank.py
NOTES DIES ARGUMENTS... writes a line "step labels" to NOTES/<start>-<rank> for
every step, and in the first start rank 1 is killed behind step DIES (0: it
lives)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))

import ddp  # noqa: E402

NOTES, DIES = Path(sys.argv[1]), int(sys.argv[2])
START = int(os.environ["TORCHELASTIC_RESTART_COUNT"])


class Noted(ddp.Run):  # type: ignore[misc]
    def step(self, images: Any, labels: Any) -> float:
        loss: float = super().step(images, labels)
        rank = int(os.environ["RANK"])
        with open(NOTES / ("%d-%d" % (START, rank)), "a") as file:
            numbers = [self.steps, *labels.tolist()]
            print(*numbers, file=file)
        if START == 0 and rank == 1 and self.steps == DIES:
            os.kill(os.getpid(), signal.SIGKILL)
        return loss


if __name__ == "__main__":
    ddp.Run = Noted
    del sys.argv[1:3]
    ddp.torch.manual_seed(11)  # of the network and of the draws
    ddp.main()
