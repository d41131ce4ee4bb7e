# SPDX-License-Identifier: Apache-2.0
"""How a step ends, and what it leaves behind.

A step is a script with one function, which gets a Step and does the work:

    if __name__ == "__main__":
        outcome.main(run)

WORK/NAME.json has the end, the reason, and the rows of the page. It is written
anew with every row, so that a step which is ended by force leaves what it had
found by then. The exit status says the same: 0 passed, 1 failed, 77 skipped.
"""
import argparse
import json
import os
import sys
import traceback

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
STATUS = {PASSED: 0, FAILED: 1, SKIPPED: 77}


class Skipped(Exception):
    """The step cannot be done here; the text says why."""


def skip(why):
    raise Skipped(why)


class Step:
    """What a step is given, and the rows that it adds to the page.

    work: folder for its files. build: the build. rehearsal: no GPU is at hand;
    a double or the CPU stands in, and no number means anything.
    """

    def __init__(self, name, work, build, rehearsal):
        self.name, self.work, self.build = name, work, build
        self.rehearsal = rehearsal
        self.rows, self.notes = [], []

    def path(self, name):
        return os.path.join(self.work, name)

    def built(self, name):
        """A file of the build; None if it is not there."""
        path = os.path.join(self.build, name)
        return path if os.path.exists(path) else None

    def environment(self):
        """For programs of the build: with the libraries of a pack. Not for
        Python, whose packages bring their own."""
        folders = filter(None, (os.environ.get("LD_LIBRARY_PATH"),
                                self.built("lib")))
        return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}

    # ---- Rows ---------------------------------------------------------------

    def truth(self, what, asked, got, right):
        """Something that is right or wrong, on any machine."""
        self._add(what, asked, got, bool(right))

    def number(self, what, value, low=None, high=None, form="%.3f"):
        """A measured number and its limits. A rehearsal does not judge it;
        without limits nobody does. None: it could not be measured."""
        asked = " and ".join(words + form % limit for words, limit in (
            ("at least ", low), ("at most ", high)) if limit is not None)
        right = value is not None and (low is None or value >= low) and (
            high is None or value <= high)
        if self.rehearsal or not asked:
            right = None
        got = "not measured" if value is None else form % value
        self._add(what, asked or "-", got, right)

    def note(self, text):
        """A line below the table."""
        self.notes.append(text)
        self.save(FAILED, "it did not come to its end")

    def _add(self, what, asked, got, right):
        self.rows.append({"what": what, "asked": str(asked), "got": str(got),
                          "right": right})
        print("%s: %s (asked: %s)" % (what, got, asked), flush=True)
        self.save(FAILED, "it did not come to its end")

    # ---- The end ------------------------------------------------------------

    def save(self, outcome, why):
        document = {"outcome": outcome, "why": why, "rows": self.rows,
                    "notes": self.notes}
        path = self.path(self.name + ".json")
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(document, f, indent=1)
        os.replace(path + ".new", path)

    def end(self, outcome, why):
        self.save(outcome, why)
        print(outcome + (": " + why if why else ""), flush=True)
        return STATUS[outcome]

    def judge(self):
        wrong = [row["what"] for row in self.rows if row["right"] is False]
        if wrong:
            return self.end(FAILED, "; ".join(wrong))
        return self.end(PASSED, "")


def arguments():
    parser = argparse.ArgumentParser(description="a step of bench/gpu_check")
    parser.add_argument("--work", required=True, help="folder of the results")
    parser.add_argument("--build", required=True, help="the build to check")
    parser.add_argument("--rehearse", action="store_true",
                        help="without a GPU, on what stands in for one")
    return parser.parse_args()


def main(run):
    """Runs a step and ends the process with its status."""
    given = arguments()
    name = os.path.basename(sys.argv[0])[len("step_"):-len(".py")]
    step = Step(name, given.work, given.build, given.rehearse)
    try:
        run(step)
    except Skipped as why:
        sys.exit(step.end(SKIPPED, str(why)))
    except Exception as error:  # whatever it is, it belongs on the page
        traceback.print_exc()
        sys.exit(step.end(FAILED, "%s: %s" % (type(error).__name__, error)))
    sys.exit(step.judge())
