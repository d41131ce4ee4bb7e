#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_programs.py [PROGRAM...]: every program on torch's loader and on ours.

    --both-torch      torch on both sides: is the harness honest?
    --count N         photos of each program
    --real FOLDER     real photos, a folder of classes
    --speed ROUNDS    also images/s, interleaved; medians of that many rounds
    --json FILE       everything found

Prints a table; status 1 if a program is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, List

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import conftest  # noqa: E402

from programs import survey  # noqa: E402
from programs.held_against_torch import (  # noqa: E402
    Case,
    Verdict,
    all_programs,
    examine,
)
from programs.speeds import measure  # noqa: E402


def arguments(argv: List[str]) -> Any:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", default=all_programs())
    parser.add_argument("--both-torch", action="store_true")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--real", type=Path)
    parser.add_argument("--speed", type=int, default=0, metavar="ROUNDS")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(argv)


def row(verdict: Verdict) -> str:
    if verdict.skipped:
        return "%-22s skipped: %s" % (verdict.name, verdict.skipped)
    text = "%-22s %-5s %d/%d" % (
        verdict.name,
        verdict.native,
        verdict.runs - len(verdict.wrong),
        verdict.runs,
    )
    if verdict.speed:
        text += "  torch %(torch)7.0f  ours %(ours)7.0f  %(ratio).2fx" % (
            verdict.speed
        )
    if verdict.python_us is not None:
        text += "  python %.0f us" % verdict.python_us
    for run, what in verdict.wrong.items():
        text += "\n    WRONG %s: %s" % (run, what)
    for line in verdict.touched[:4]:
        text += "\n    touched %s" % line
    if verdict.reason:
        text += "\n    %s" % verdict.reason.replace("\n", " ")[:160]
    return text


def main(argv: List[str]) -> int:
    given = arguments(argv)
    print("library: %s" % conftest.CHOSEN)
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="programs-") as root:
        for name in given.programs:
            case = Case(
                name, Path(root), given.count, given.real, given.both_torch
            )
            verdict = examine(case)
            if given.speed and not verdict.skipped:
                measure(case, verdict, given.speed)
            print(row(verdict), flush=True)
            verdicts.append(verdict)
    ran = [v for v in verdicts if not v.skipped]
    many, part = survey.native(ran)
    print("%d of %d programs native, %d in part" % (many, len(ran), part))
    print(survey.of_public(verdicts))
    if given.json:
        found = [verdict.as_dict() for verdict in verdicts]
        given.json.write_text(json.dumps(found, indent=1))
    return 1 if any(v.wrong for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
