#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_file.py FILE... [pytest argument...]: files of tests, as CTest wants it.

Exit status 77 where there is no pytest, or where every test of the files was
skipped. Each reason of a skip becomes a line of its own, in the form that
scripts/test adds up.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, List

SKIPPED = 77


class Reasons:
    """A plugin that remembers why tests were skipped, and how many ran."""

    def __init__(self) -> None:
        self.skipped: List[str] = []
        self.ran = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.note(report.longrepr)
        elif report.when == "call":
            self.ran += 1

    def pytest_collectreport(self, report: Any) -> None:
        if report.skipped:
            self.note(report.longrepr)

    def note(self, where_and_why: Any) -> None:
        reason = str(where_and_why[2])
        prefix = "Skipped: "
        if reason.startswith(prefix):
            reason = reason[len(prefix) :]
        self.skipped.append(reason.split("\n")[0])


def main(arguments: List[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    if importlib.util.find_spec("pytest") is None:
        print("skipped: %s has no pytest" % sys.executable)
        return SKIPPED
    import pytest

    reasons = Reasons()
    status = int(pytest.main(["-q", *arguments], plugins=[reasons]))
    print()
    for reason in sorted(set(reasons.skipped)):
        print("skipped: " + reason)
    # A file that is skipped as a whole has no tests at all: status 5.
    if status in (0, 5) and reasons.skipped and not reasons.ran:
        return SKIPPED
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
