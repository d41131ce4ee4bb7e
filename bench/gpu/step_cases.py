# SPDX-License-Identifier: Apache-2.0
"""The two regimes of the bus (docs/transfer.md): loaderbench names them rightly
and predicts what a remedy gains."""
import os

import outcome
from step_copies import loaderbench


def run(step):
    seconds = ("--seconds", "0.5" if step.rehearsal else "2")
    size = ("--batch-size", "2" if step.rehearsal else "64")
    for name in ("latency", "bandwidth"):
        if step.rehearsal and name == "bandwidth":  # a bus that is slow enough
            os.environ["CUDA_DOUBLE"] = "latency_us=20,gbps=0.03,strict=1"
        found = loaderbench(step, "case_" + name, "case", name,
                            *seconds, *(size if name == "bandwidth" else ()))
        if not step.rehearsal:
            step.truth("case %s: the regime" % name, name, found["regime"],
                       found["regime"] == name)
        step.number("case %s: measured gain of the predicted one" % name,
                    found["measured_gain"] / found["predicted_gain"], low=0.8,
                    high=1.2)


if __name__ == "__main__":
    outcome.main(run)
