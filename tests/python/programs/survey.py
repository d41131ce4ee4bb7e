# SPDX-License-Identifier: Apache-2.0
"""Which public programs these stand for, and what is expected of each.

Both are tables, `public.tsv` and `expected.tsv`, in the folder of programs; in
`opencv.tsv` are those that read by OpenCV.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterable, List, Tuple

HERE = Path(__file__).resolve().parent


def rows(name: str) -> List[List[str]]:
    """The rows of a table; lines that begin with # are comments."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line[:1] not in ("", "#")]


def expected(name: str = "expected.tsv") -> Dict[str, str]:
    """By program: "yes", "no", or "part"."""
    return {row[0]: row[1] for row in rows(name)}


def faults() -> Dict[str, str]:
    """Programs that are known to come out wrong, and why."""
    return {r[0]: r[2] for r in rows("expected.tsv") if len(r) > 2}


def native(verdicts: Iterable[Any]) -> Tuple[int, int]:
    """How many are native, and how many of those in part."""
    kinds = [verdict.native for verdict in verdicts]
    return kinds.count("yes") + kinds.count("part"), kinds.count("part")


def of_public(verdicts: Iterable[Any]) -> str:
    """How many public programs are native, as far as they are rebuilt."""
    found = {v.name: v.native for v in verdicts if not v.skipped}
    table = rows("public.tsv")
    rebuilt = [ours for _, ours in table if ours in found]
    kinds = [found[ours] for ours in rebuilt]
    return "%d public programs, %d rebuilt: %d native, %d in part" % (
        len(table),
        len(rebuilt),
        kinds.count("yes"),
        kinds.count("part"),
    )
