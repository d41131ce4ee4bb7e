# SPDX-License-Identifier: Apache-2.0
"""The gain that is predicted, and the one that the advice brings.

While a planted program runs, one command asks it, as a user would from another
terminal: `loaderbench top PID --json -`. Its verdict names the cause, the
action, and what that gains. Runs as it was and runs with what the action asks
for are made in turn, and each such pair says how far off the prediction was:

    images/s with the advice / (images/s as it was * (1 + predicted gain))

The prediction is that of what the action names first. Where only the rest of
it can be carried out here, nothing is compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import contextmanager
from statistics import median
from typing import Any, Dict, Iterator, List, Optional, Tuple

from planted_follow import Step

LEAST, MOST = 0.8, 1.2


@contextmanager
def first_of_all() -> Iterator[None]:
    """Before all that is planted, to look in time; what it starts, too."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass  # not permitted: what computes may delay it
    yield
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def ask(tool: str, pid: int, seconds: float) -> Dict[str, Any]:
    """What the command says in so many seconds of the loader in that process;
    empty: nothing."""
    command = [tool, "top", str(pid), "--interval", "0.5", "--json", "-"]
    with first_of_all():
        time.sleep(seconds)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return {}
    verdict: Dict[str, Any] = json.loads(done.stdout)["verdict"]
    return verdict


def predicted_step(found: Dict[str, Any],
                   steps: List[Step]) -> Optional[Step]:
    """The one that the predicted gain is of."""
    gains = float(found["verdict"]["predicted_gain"]) > 0
    aims = ("speed",) if gains else ("spare", "memory")
    return next((step for step in steps if step.aim in aims), None)


def compare_gain(step: Step, before: List[Dict[str, Any]],
                 after: List[Dict[str, Any]]) -> Tuple[str, bool]:
    """In words, and whether it came as predicted."""
    for run in before + after:
        why: Optional[str] = run.get("skipped") or run.get("failed")
        if why:
            return "%s: %s" % (step.what, why), False
    was = [float(run["images_per_second"]) for run in before]
    then = [float(run["images_per_second"]) for run in after]
    said = [rate * (1 + float(run["verdict"]["predicted_gain"]))
            for rate, run in zip(was, before)]
    ratio = median(x / y for x, y in zip(then, said))
    right = LEAST <= ratio <= MOST
    return ("%s: %.0f images/s, predicted %.0f, measured %.0f: %.2f, %s"
            % (step.what, median(was), median(said), median(then), ratio,
               "AS PREDICTED" if right else "NOT as predicted"), right)
