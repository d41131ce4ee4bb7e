# SPDX-License-Identifier: Apache-2.0
"""Runs a program on torch's loader and on ours, and says what differs.

The reference is torch's DataLoader with one worker process: with
`draws="torch"` ours gives its batches to the bit, for any number of workers.
"""

from __future__ import annotations

import importlib
import inspect
import random
import re
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import feedline.torch
import numpy as np
import torch

from programs.compared import of_runs
from programs.program_files import Files, Missing, Program

SEED = 20
EPOCHS = 3
WORKERS = (1, 2, 7)
Theirs = torch.utils.data.DataLoader
Ours = feedline.torch.DataLoader
# Lines of explain() about images that the engine did not make.
PIXELS = r"- (pixels were made in Python|\d+ images were opened by Pillow)"
# Whether this package can draw as torch's worker does.
DRAWS = "draws" in inspect.signature(Ours.__init__).parameters


@dataclass
class Verdict:
    """What was found of one program.

    native: "yes", "no", or "part" where some images were made by Pillow.
    wrong: each difference, by the run that showed it. skipped: why it could
    not run. touched: lines of the program that asked for pixels, and how often.
    """

    name: str
    native: str = "no"
    reason: Optional[str] = None
    touched: List[str] = field(default_factory=list)
    wrong: Dict[str, str] = field(default_factory=dict)
    skipped: Optional[str] = None
    runs: int = 0
    speed: Dict[str, float] = field(default_factory=dict)
    python_us: Optional[float] = None

    def as_dict(self) -> Dict[str, Any]:
        return asdict(self)


class Case:
    """One program, whose files lie below a folder of its own.

    count: of photos. real: a folder of real photos, or None.
    torch_on_both_sides: holds torch's loader against itself, which proves the
    program repeatable and this harness honest.
    """

    def __init__(
        self,
        name: str,
        root: Path,
        count: int = 20,
        real: Optional[Path] = None,
        torch_on_both_sides: bool = False,
    ) -> None:
        self.name = name
        self.files = Files(Path(root) / name, count, real)
        self.on_both = torch_on_both_sides

    def make(self) -> Program:
        """The program anew: data sets keep state."""
        seed()
        module = importlib.import_module("programs." + self.name)
        made = module.make(self.files)
        assert isinstance(made, Program)
        return made

    def theirs(self, workers: int = 1) -> Any:
        made = self.make()
        return Theirs(made.dataset, num_workers=workers, **made.arguments)

    def ours(self, workers: int, **own: Any) -> Any:
        if self.on_both:
            return self.theirs()
        made = self.make()
        return Ours(
            made.dataset, num_workers=workers, **{**made.arguments, **own}
        )


def seed() -> None:
    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)


def epochs_of(loader: Any, epochs: int = EPOCHS) -> List[List[Any]]:
    seed()
    return [list(loader) for _ in range(epochs)]


def with_torch_draws(case: Case, workers: int) -> List[List[Any]]:
    """Three epochs; what is native stays native with these draws."""
    loader = case.ours(workers, draws="torch")
    found = epochs_of(loader)
    if not case.on_both and not loader.native:
        raise AssertionError("not native: %s" % loader.fallback_reason)
    return found


def resumed(case: Case, workers: int, behind: int) -> List[List[Any]]:
    """The second epoch from a batch on and the third, by another loader."""
    first = case.ours(workers, draws="torch")
    seed()
    for _ in first:
        pass
    batches = iter(first)
    for _ in range(behind):
        next(batches)
    state = first.state_dict()
    order = torch.get_rng_state(), random.getstate(), np.random.get_state()
    del batches
    second = case.ours(max(1, 3 - workers), draws="torch")
    second.load_state_dict(state)
    # For the order of epochs behind the one that is resumed.
    torch.set_rng_state(order[0])
    random.setstate(order[1])
    np.random.set_state(order[2])
    return [list(second), list(second)]


def joined(epochs: List[List[Any]]) -> List[Any]:
    return [batch for epoch in epochs for batch in epoch]


def examine(case: Case, workers: Tuple[int, ...] = WORKERS) -> Verdict:
    """Everything that must hold for a program, in any number of runs."""
    verdict = Verdict(case.name)
    try:
        expected = epochs_of(case.theirs())
    except Missing as error:
        verdict.skipped = str(error)
        return verdict
    except Exception as error:
        verdict.wrong["torch's loader"] = repr(error)
        return verdict
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", feedline.torch.FallbackWarning)
        warnings.filterwarnings("ignore", ".*will create . worker processes")
        if not case.on_both:
            _with_own_draws(case, workers, expected, verdict)
        if case.on_both or (DRAWS and verdict.native != "no"):
            _with_torch_draws(case, workers, expected, verdict)
    return verdict


def _hold(
    verdict: Verdict,
    run: str,
    make: Callable[[], List[List[Any]]],
    expected: List[List[Any]],
) -> None:
    verdict.runs += 1
    try:
        found = of_runs(joined(make()), joined(expected))
    except Exception as error:
        found = "%s: %s" % (type(error).__name__, error)
    if found:
        verdict.wrong[run] = found


def _with_torch_draws(
    case: Case,
    workers: Tuple[int, ...],
    expected: List[List[Any]],
    verdict: Verdict,
) -> None:
    for n in workers:
        run = "%d workers, torch's draws" % n
        _hold(verdict, run, lambda: with_torch_draws(case, n), expected)
    if case.on_both or not case.make().resumes:
        return
    behind = max(1, len(expected[1]) // 2)
    rest = [expected[1][behind:], expected[2]]
    for n in workers[:2]:
        run = "%d workers, resumed behind %d batches" % (n, behind)
        _hold(verdict, run, lambda: resumed(case, n, behind), rest)


def _with_own_draws(
    case: Case,
    workers: Tuple[int, ...],
    expected: List[List[Any]],
    verdict: Verdict,
) -> None:
    """Batches of any number of workers are the same; is it native at all?

    torch's own loader with one worker has to make those of the reference;
    with more they differ by their number, as they always did.
    """
    loader = case.ours(workers[0])
    try:
        first = epochs_of(loader)
    except Exception as error:
        verdict.wrong["own draws"] = "%s: %s" % (type(error).__name__, error)
        return
    verdict.reason = loader.fallback_reason
    verdict.touched = touched_by(loader)
    if not loader.native:
        _hold(verdict, "on torch's loader", lambda: first, expected)
        return
    verdict.native = "part" if verdict.touched else "yes"
    for n in workers[1:]:
        run = "%d workers, own draws" % n
        _hold(verdict, run, lambda: epochs_of(case.ours(n)), first)


def touched_by(loader: Any) -> List[str]:
    """What explain() says of pixels that were made in Python."""
    lines = loader.explain().splitlines()
    return [line[2:] for line in lines if re.match(PIXELS, line)]


def all_programs(below: str = "") -> List[str]:
    """Of this folder, or of one below it, whose name they begin with."""
    folder = Path(__file__).parent / below
    return sorted(
        (below and below + ".") + path.stem
        for path in folder.glob("*.py")
        if "\ndef make(" in path.read_text()
    )
