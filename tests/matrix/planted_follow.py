# SPDX-License-Identifier: Apache-2.0
"""Advice, taken at its word: what it asks for becomes another run.

An action names one thing, or several with "or": each that can be done is a
step. A number is taken as it is given; "raise" without one is four times as
much. What is outside goes away: a local disk has none of the planted slowness,
other jobs end, what paused the program is done elsewhere. What the tuner does
by itself is no request, and what only a programmer can do (look for something,
another operation) is not carried out.

Runs as it was and runs with the step are made in turn, and their medians are
compared. A step helps if the images per second grow by more than such medians
differ here (GROWTH), or if that many less of the time is waited. One that
spares something (fewer workers) must leave the speed as it is, within the same
bounds, and take no more CPU time an image; one that frees memory, less memory.
"""

from __future__ import annotations

import re
from statistics import median
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from planted_causes import Cause

GROWTH = 0.05
FASTER = re.compile(r"^(Use|More reads at once gave no more: use) faster")


class Step(NamedTuple):
    what: str
    cause: Cause
    aim: str = "speed"  # "spare", "memory"


def with_options(cause: Cause, **options: Any) -> Cause:
    return cause._replace(options={**cause.options, **options})


def workers(cause: Cause, action: str) -> List[Step]:
    steps = []
    for way, aim in (("more", "speed"), ("fewer", "spare")):
        match = re.search(way + r" workers: (\d+)", action)
        if match:
            n = int(match.group(1))
            steps.append(
                Step("workers=%d" % n, with_options(cause, workers=n), aim))
    return steps


def raised(cause: Cause, action: str) -> List[Step]:
    """Of "Raise depth and io_depth" both at once."""
    more = {}
    for name in ("depth", "io_depth"):
        found = re.search(
            r"Raise (?:\w+(?: to \d+)? and )?%s\b(?: to (\d+))?" % name,
            action)
        if found and name in cause.options:
            more[name] = int(found[1] or 4 * cause.options[name])
    if not more:
        return []
    what = ", ".join("%s=%d" % pair for pair in more.items())
    return [Step(what, with_options(cause, **more))]


def quality(cause: Cause, action: str) -> List[Step]:
    if 'quality="fast"' not in action:
        return []
    return [Step('quality="fast"', with_options(cause, quality="fast"))]


def storage(cause: Cause, action: str) -> List[Step]:
    """Where io_depth is the first thing to try, that is tried."""
    if not FASTER.search(action) or not cause.reads:
        return []
    return [Step("a local disk", cause._replace(reads=""))]


def quota(cause: Cause, action: str) -> List[Step]:
    found = re.search(r"Raise the CPU quota[a-z ]* to ([\d.]+) cores", action)
    if not found or not cause.quota:
        return []
    cores = float(found[1])
    return [Step("a quota of %.1f cores" % cores, cause._replace(quota=cores))]


def others(cause: Cause, action: str) -> List[Step]:
    if "Other jobs" not in action or not cause.neighbours:
        return []
    return [Step("no other jobs", cause._replace(neighbours=0))]


def own_threads(cause: Cause, action: str) -> List[Step]:
    """With one thread the library that was planted starts none."""
    if "OMP_NUM_THREADS=1" not in action or not cause.spin:
        return []
    return [Step("no threads of the program's", cause._replace(spin=0))]


def operation(cause: Cause, action: str) -> List[Step]:
    if "wait for less" not in action or not cause.function:
        return []
    return [
        Step("the operation waits for nothing", cause._replace(function=""))]


def pauses(cause: Cause, action: str) -> List[Step]:
    if "on another thread" not in action or cause.consumer != "pauses":
        return []
    return [Step("what paused is on another thread",
                 cause._replace(consumer="step"))]


STEPS: Tuple[Callable[[Cause, str], List[Step]], ...] = (workers, raised,
                                                         quality, storage,
                                                         quota, others,
                                                         own_threads,
                                                         operation, pauses)


def advised(cause: Cause, found: Dict[str, Any]) -> List[Step]:
    """What the first verdict asks for, and what can be done of it."""
    action = found["verdict"]["action"]
    steps = []
    if "The program keeps" in found["explain"]:
        released = cause._replace(consumer="step", words="")
        steps.append(Step("batches are released", released, "memory"))
    if "The tuner does that" in action:
        return steps
    for find in STEPS:
        steps.extend(find(cause, action))
    return steps


def why_not(found: Dict[str, Any]) -> str:
    action = found["verdict"]["action"]
    if "Nothing to do here" in action:
        return "asks for nothing"
    if "The tuner does that" in action:
        return "is the tuner's to do"
    return "not carried out: only the program's author can do it"


MEASURED = ("images_per_second", "cpu_per_image", "memory_mb", "stall")


def stall(found: Dict[str, Any]) -> float:
    return float(found["verdict"]["evidence"].get("stall", 0))


def medians(runs: List[Dict[str, Any]]) -> Dict[str, float]:
    every = [{**run, "stall": stall(run)} for run in runs]
    return {key: median(run[key] for run in every) for key in MEASURED}


def is_better(aim: str, before: Dict[str, float],
              after: Dict[str, float]) -> bool:
    growth = after["images_per_second"] / before["images_per_second"] - 1
    if aim == "memory":
        return growth > -GROWTH and after["memory_mb"] < before["memory_mb"]
    if aim == "spare":
        cpu = after["cpu_per_image"] / before["cpu_per_image"] - 1
        return growth > -GROWTH and cpu < GROWTH
    return growth > GROWTH or after["stall"] < before["stall"] - GROWTH


def compare(step: Step, runs_before: List[Dict[str, Any]],
            runs_after: List[Dict[str, Any]]) -> Tuple[str, bool]:
    """In words, and whether it helped."""
    for run in runs_before + runs_after:
        why: Optional[str] = run.get("skipped") or run.get("failed")
        if why:
            return "followed: %s: %s" % (step.what, why), False
    before, after = medians(runs_before), medians(runs_after)
    better = is_better(step.aim, before, after)
    texts = (("%.0f -> %.0f images/s", "images_per_second", 1),
             ("waiting %.0f -> %.0f %%", "stall", 100),
             ("%.2f -> %.2f ms of CPU an image", "cpu_per_image", 1e3),
             ("%.0f -> %.0f MB", "memory_mb", 1))
    words = [
        text % (before[key] * scale, after[key] * scale)
        for text, key, scale in texts
    ]
    return (
        "followed: %s: %s: %s"
        % (step.what, ", ".join(words), "helped" if better else "NO BETTER"),
        better,
    )
