#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""planted.py: known causes, planted for real, and what the loader says first.

    tests/matrix/planted.py [--library build/libfeedline.so] [--only NAME]
                            [--seconds S] [--follow] [--gain] [--pairs N]
                            [--verbose]

Each cause is a program of its own: storage that is slow (pread is interposed),
a CPU quota of the kernel's, Python functions that sleep or hold the
interpreter, a mutex that nobody announces, images of 12 megapixels, neighbours
that take the cores. Printed is, for each, what was said first, whether anything
in the whole explanation contradicts it, and the action. With --follow each is
run again with exactly what the action asks for, where that can be done, in turn
with runs as it was; medians of these pairs are compared (planted_follow.py).
With --gain one command of the tool is asked instead, while the program runs,
and what it predicts is compared with what the advice brings (planted_gain.py).
All of that takes 20 to 25 minutes.

What other jobs on the machine do is no part of it: programs whose causes are
not about cores run with real-time precedence, the others above every nice
value, where that is permitted. What is not permitted is skipped, and said.

Exit status: 0 where the cause was said first in 19 of 20, nothing contradicts
and all advice that was followed helped (with --gain: as predicted within 20 %),
1 where not, 2 for a mistake in the arguments or where Pillow or a C compiler is
missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional

from planted_causes import CAUSES, Cause
from planted_follow import advised, compare, why_not
from planted_gain import ask, compare_gain, predicted_step
from planted_program import child, cores

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
ENOUGH = 0.95
BEGINS = "begins\n"

# ---- What was said ----------------------------------------------------------

UP = re.compile(r"[Uu]se more workers|Give more|workers=auto\.")
DOWN = re.compile(r"fewer workers: \d")


def contradictions(found: Any) -> List[str]:
    """Pairs that cannot both be followed, in all that was said."""
    wrong = []
    all_of_it = [found["verdict"], *found["verdicts"]]
    actions = " ".join(v["action"] for v in all_of_it)
    # The tuner's story is history, but for what it advises at its end.
    story = found["explain"]
    up = bool(UP.search(actions) or "Give more" in story)
    down = bool(DOWN.search(actions))
    if up and down:
        wrong.append("more workers and fewer workers")
    if down and found["headroom"]["two_workers"] > 0:
        wrong.append("fewer workers, and two more would gain")
    if "Pack" in actions:
        wrong.append("advice that the library cannot carry out")
    if "The cores are used up" in story and UP.search(actions):
        wrong.append("the cores are used up, and more workers")
    if "The cores are used up" in story and found["verdict"][
        "code"].startswith("FETCH"):
        wrong.append("the cores are used up, and it waits for reads")
    if re.search(r"fewer workers: 0|more workers: 0", actions):
        wrong.append("no workers at all")
    return wrong


def is_right(cause: Cause, found: Any) -> bool:
    codes = [found["verdict"]["code"]] + [v["code"] for v in found["verdicts"]]
    if cause.words and cause.words not in found["explain"]:
        return False
    if not cause.first:
        return True
    for choice in cause.first.split():
        first, _, also = choice.partition("+")
        if codes[0] == first and (not also or also in codes):
            return True
    return False


# ---- All of them ------------------------------------------------------------


def make_images(root: Path) -> None:
    """photos: 256 files of about 106 KiB; the others are made of these."""
    from PIL import Image

    counts = {"photos": 256, "padded": 96, "large": 24, "few": 64}
    for kind, count in counts.items():
        for i in range(count):
            folder = root / kind / ("class%d" % (i % 4))
            folder.mkdir(parents=True, exist_ok=True)
            size = (4000, 3000) if kind == "large" else (500, 375)
            path = folder / ("%04d.jpg" % i)
            if i >= 8 and kind == "large":
                first = root / kind / ("class%d" % (i % 4))
                path.write_bytes((first / ("%04d.jpg" % (i % 8))).read_bytes())
                continue
            noise = Image.effect_noise((size[0] // 4, size[1] // 4), 60 + i)
            image = noise.resize(size).convert("RGB")
            quality = 97 if i % 3 else 88  # files of several sizes
            image.save(path, quality=92 if kind == "large" else quality)
            if kind == "padded":
                with open(path, "r+b") as file:
                    file.truncate(600000 + 37000 * (i % 24))


def build_helpers(root: Path, library: Path) -> Dict[str, str]:
    """Shared objects of this folder, by name: planted_NAME.so."""
    compiler = os.environ.get("CC", "cc")
    sources = {"reads": "planted_reads.c slow_reads.c nap.c",
               "op": "planted_op.c", "cores": "cores.c nap.c"}
    helpers = {n: str(root / ("planted_%s.so" % n)) for n in sources}
    for name, path in helpers.items():
        files = [str(HERE / file) for file in sources[name].split()]
        own = [str(library)] if name == "op" else []
        subprocess.run([compiler, "-O2", "-g", "-fPIC", "-shared",
                        "-D_GNU_SOURCE", "-I" + str(TREE),
                        "-I" + str(TREE / "include"),
                        "-o", path, *files, *own, "-ldl", "-lpthread"],
                       check=True)
    return helpers


def run(cause: Cause, arguments: Any, root: Path, helpers: Dict[str, str],
        asks: bool = False) -> Any:
    environment = dict(os.environ)
    environment["PYTHONPATH"] = str(TREE / "python")
    environment["FEEDLINE_LIBRARY"] = str(Path(arguments.library).resolve())
    if cause.reads:
        environment["LD_PRELOAD"] = helpers["reads"]
        environment["PLANTED_READS"] = cause.reads
        if cause.folder:
            environment["PLANTED_FOLDER"] = cause.folder
    command = [sys.executable, str(Path(__file__).resolve()), "--child",
               json.dumps(cause._asdict()), "--images",
               str(root / cause.images), "--helper", helpers["op"],
               "--seconds", str(arguments.seconds)]
    told: Dict[str, Any] = {}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                          text=True) as process:
        first = process.stdout.readline() if process.stdout else ""
        if asks and first == BEGINS:
            told = ask(arguments.tool, process.pid,
                       max(arguments.seconds - 1.5, 1))
        out, _ = process.communicate()
    cores(helpers["op"]).cores_forget(process.pid)
    if process.returncode != 0:
        return {"failed": "ended with %d" % process.returncode}
    if asks and first == BEGINS and not told:
        return {"failed": "the tool saw nothing"}
    if first != BEGINS:
        return json.loads(first)  # why it was skipped
    found = json.loads(out)
    found["verdict"].update(told)
    return found


class Score:
    def __init__(self, outcome: str) -> None:
        self.outcome = outcome
        self.runs = self.right = self.contradicting = 0
        self.followed = self.helped = 0

    def add(self, name: str, found: Any, verbose: bool) -> None:
        cause = CAUSES[name]
        if "skipped" in found:
            print("%-26s skipped: %s" % (name, found["skipped"]))
            return
        self.runs += 1
        if "failed" in found:
            print("%-26s FAILED: %s" % (name, found["failed"]))
            return
        right, wrong = is_right(cause, found), contradictions(found)
        self.right += right
        self.contradicting += bool(wrong)
        v = found["verdict"]
        print(
            "%-26s %-5s %s (%s)%s"
            % (
                name,
                "right" if right else "WRONG",
                v["code"],
                v["level"],
                "; CONTRADICTS: " + "; ".join(wrong) if wrong else "",
            )
        )
        print("%-26s       %s" % ("", v["action"]))
        if verbose or not right or wrong:
            print(
                "    planted: %s\n    %s\n    %s"
                % (cause.what, v["sentence"], json.dumps(v["evidence"]))
            )
            for other in found["verdicts"]:
                print(
                    "    also %s: %s %s"
                    % (other["code"], other["sentence"], other["action"])
                )
        if verbose or wrong:
            print("    | " + found["explain"].replace("\n", "\n    | "))
        sys.stdout.flush()

    def add_followed(self, words: str, better: bool) -> None:
        self.followed += 1
        self.helped += better
        print("%-26s       %s" % ("", words))
        sys.stdout.flush()

    def end(self) -> int:
        print(
            "%d of %d said first, %d contradict"
            % (self.right, self.runs, self.contradicting)
        )
        if self.followed:
            print(
                "%d of %d pieces of advice that were followed %s"
                % (self.helped, self.followed, self.outcome)
            )
        good = self.runs and self.right >= ENOUGH * self.runs
        good = good and self.helped == self.followed
        return 0 if good and not self.contradicting else 1


def missing() -> Optional[str]:
    """What this needs, and does not find."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        return "Pillow, to make the images (Debian: python3-pil, or pip)"
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        return "a C compiler (%s; CC names another)" % compiler
    return None


def parse() -> Any:
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--library", default=str(TREE / "build" / "libfeedline.so"))
    p.add_argument("--only", action="append", choices=sorted(CAUSES))
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--follow", action="store_true")
    p.add_argument("--gain", action="store_true")
    p.add_argument("--tool", default=str(
        TREE / "build" / "tools" / "loaderbench" / "loaderbench"))
    p.add_argument("--pairs", type=int, default=3)
    p.add_argument("--list", action="store_true")
    p.add_argument("--child", help=argparse.SUPPRESS)
    p.add_argument("--images", help=argparse.SUPPRESS)
    p.add_argument("--helper", help=argparse.SUPPRESS)
    return p.parse_args()


def follow(cause: Cause, found: Any, arguments: Any, root: Path,
           helpers: Dict[str, str], score: Score) -> None:
    if "verdict" not in found:
        return
    steps = advised(cause, found)
    if arguments.gain:
        one = predicted_step(found, steps)
        steps = [one] if one else []
    if not steps:
        print("%-26s       %s" % ("", why_not(found)))
    before = [found]
    after: List[List[Any]] = [[] for _ in steps]
    for pair in range(arguments.pairs):
        if steps and pair > 0:
            before.append(
                run(cause, arguments, root, helpers, arguments.gain))
        for runs, step in zip(after, steps):
            runs.append(run(step.cause, arguments, root, helpers))
    for runs, step in zip(after, steps):
        result = compare_gain if arguments.gain else compare
        score.add_followed(*result(step, before, runs))


def play_all(arguments: Any, score: Score) -> None:
    with tempfile.TemporaryDirectory(prefix="feedline-planted-") as folder:
        root = Path(folder)
        make_images(root)
        helpers = build_helpers(root, Path(arguments.library).resolve())
        for name in arguments.only or CAUSES:
            cause = CAUSES[name]
            found = run(cause, arguments, root, helpers, arguments.gain)
            score.add(name, found, arguments.verbose)
            if arguments.follow or arguments.gain:
                follow(cause, found, arguments, root, helpers, score)


def main() -> int:
    arguments = parse()
    if arguments.child:
        return child(Cause(**json.loads(arguments.child)), arguments.images,
                     arguments.helper, arguments.seconds)
    if arguments.list:
        for name, cause in CAUSES.items():
            print("%-26s %s" % (name, cause.what))
        return 0
    lacks = missing()
    if lacks:
        print("planted.py needs %s" % lacks, file=sys.stderr)
        return 2
    if not Path(arguments.library).exists():
        print("no library at %s: build it" % arguments.library, file=sys.stderr)
        return 2
    score = Score("gained as predicted" if arguments.gain else "helped")
    play_all(arguments, score)
    return score.end()


if __name__ == "__main__":
    sys.exit(main())
