#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""planted.py: known causes, planted for real, and what the loader says first.

    tests/matrix/planted.py [--library build/libfeedline.so] [--only NAME]
                            [--seconds S] [--images FOLDER] [--verbose]

Each cause is a program of its own: storage that is slow (pread is interposed),
a CPU quota of the kernel's, Python functions that sleep or hold the
interpreter, a mutex that nobody announces, images of 12 megapixels, neighbours
that take the cores. Printed is, for each, what was said first, whether anything
in the whole explanation contradicts it, and the action.

What other jobs on the machine do is no part of it: programs whose causes are
not about cores run with real-time precedence, the others above every nice
value, where that is permitted. What is not permitted is skipped, and said.

Exit status: 0 where the cause was said first in 19 of 20 and nothing
contradicts, 1 where not, 2 for a mistake in the arguments. Needs Pillow and a C
compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
ENOUGH = 0.95
FED = "FED FED_OVERPROVISIONED"


class Cause(NamedTuple):
    what: str
    first: str  # codes, any of which is right; "": words decide
    options: Dict[str, Any] = {}
    step: float = 0.004  # seconds asleep with each batch
    reads: str = ""  # see planted_reads.c
    folder: str = ""
    images: str = "photos"
    function: str = ""  # of Python, on each image
    operation: str = ""  # of planted_op.c
    quota: float = 0
    neighbours: int = 0
    spin: int = 0
    cores: int = 0
    consumer: str = "step"
    about_cores: bool = False
    words: str = ""  # that explain() must have


SLOW = "PREP_BOUND_TUNABLE"
LATENCY = "FETCH_LATENCY_BOUND"
AUTO: Dict[str, Any] = {}
TWO = {"workers": 2, "depth": 4, "io_depth": 16}

CAUSES: Dict[str, Cause] = {
    "reads-40ms": Cause(
        "reads of 40 ms, 2 workers",
        LATENCY,
        {**TWO, "io_depth": 8},
        reads="40000 0 0 0",
    ),
    "reads-40ms-auto": Cause(
        "reads of 40 ms, all auto",
        LATENCY + " " + FED,
        AUTO,
        0.01,
        reads="40000 0 0 0",
    ),
    "disk-5mb": Cause(
        "a disk of 5 MB/s", "FETCH_BW_BOUND", TWO, reads="0 5000000 0 0"
    ),
    "disk-30mb-auto": Cause(
        "a server of 30 MB/s, all auto",
        "FETCH_BW_BOUND",
        AUTO,
        reads="0 30000000 0 0",
    ),
    "disk-10mb-large-files": Cause(
        "a disk of 10 MB/s, files of 1 MB",
        "FETCH_BW_BOUND",
        {**TWO, "batch_size": 2},
        reads="0 10000000 0 0",
        images="padded",
    ),
    "reads-20ms-io2": Cause(
        "reads of 20 ms, 2 at a time",
        LATENCY,
        {**TWO, "io_depth": 2},
        reads="20000 0 0 0",
        words="Raise io_depth",
    ),
    "slow-folder": Cause(
        "one class folder of four is slow, 90 ms",
        LATENCY + " HEAD_OF_LINE DEPTH_LIMITED",
        {**TWO, "io_depth": 4},
        reads="90000 0 0 0",
        folder="/class2/",
    ),
    "slow-reads-2-percent": Cause(
        "2 % of the reads take 400 ms",
        LATENCY + " HEAD_OF_LINE DEPTH_LIMITED",
        {**TWO, "io_depth": 4},
        reads="1000 0 400000 50",
    ),
    "quota-0.5-auto": Cause(
        "a quota of 0.5 cores, all auto",
        "CPU_THROTTLED",
        AUTO,
        quota=0.5,
        about_cores=True,
    ),
    "quota-0.6-fast-consumer": Cause(
        "a quota of 0.6 cores, 4 workers, steps of 5 ms",
        "CPU_THROTTLED",
        {**TWO, "workers": 4},
        0.005,
        quota=0.6,
        about_cores=True,
    ),
    "interpreter": Cause(
        "a function that computes in Python, 4 workers",
        "LOCK_BOUND",
        {**TWO, "workers": 4},
        0.001,
        function="compute",
        words="compute",
    ),
    "sleep-auto": Cause(
        "a function that sleeps 10 ms, all auto",
        SLOW + " " + FED,
        AUTO,
        0.02,
        function="sleepy",
    ),
    "sleep-2": Cause(
        "the same, 2 workers",
        SLOW,
        TWO,
        0.02,
        function="sleepy",
        words="sleepy",
    ),
    "sleep-2-neighbours": Cause(
        "the same, and 2 neighbours compute",
        SLOW,
        TWO,
        0.02,
        function="sleepy",
        neighbours=2,
        about_cores=True,
        words="sleepy",
    ),
    "sleep-8-neighbours": Cause(
        "the same with 8 workers, which need the cores, too",
        SLOW + " OVERSUBSCRIBED " + FED,
        {**TWO, "workers": 8},
        0.002,
        function="sleepy",
        neighbours=2,
        about_cores=True,
        words="sleepy",
    ),
    "mutex-auto": Cause(
        "an operation that sleeps under its own mutex, all auto",
        "LOCK_BOUND",
        AUTO,
        operation="mutexed",
    ),
    "large-images": Cause(
        "12 megapixels for 224 x 224, on 2 cores",
        "LARGE_IMAGES",
        {**TWO, "workers": 2},
        0.001,
        images="large",
        about_cores=True,
        cores=2,
    ),
    "large-images-neighbours": Cause(
        "the same beside 2 neighbours, named first or second",
        "LARGE_IMAGES OVERSUBSCRIBED+LARGE_IMAGES",
        {**TWO, "batch_size": 4},
        0.001,
        images="large",
        neighbours=2,
        about_cores=True,
    ),
    "pauses": Cause(
        "the program pauses for 0.6 s every 20 batches",
        "CONSUMER_HOST_BOUND",
        TWO,
        0.01,
        consumer="pauses",
        words="every 20 steps",
    ),
    "consumer": Cause(
        "the program itself takes 30 ms a batch", FED, TWO, 0.03
    ),
    "keeps-batches": Cause(
        "the program keeps 30 batches; explain() says so",
        "",
        TWO,
        0.01,
        consumer="keeps",
        words="The program keeps",
    ),
    "neighbours": Cause(
        "3 workers beside 4 neighbours",
        "OVERSUBSCRIBED",
        {**TWO, "workers": 3},
        0.001,
        neighbours=4,
        about_cores=True,
        words="other processes",
    ),
    "one-core": Cause(
        "4 workers on one core",
        "OVERSUBSCRIBED",
        {**TWO, "workers": 4},
        0.001,
        cores=1,
        about_cores=True,
        words="fewer workers",
    ),
    "foreign-threads": Cause(
        "3 threads of the program compute",
        "FOREIGN_CPU",
        TWO,
        0.001,
        spin=3,
        cores=1,
        about_cores=True,
        words="blas_worker",
    ),
    "one-worker": Cause(
        "1 worker by hand, functions that wait 5 ms",
        SLOW,
        {**TWO, "workers": 1},
        0.002,
        function="nap5",
    ),
    "short-epochs": Cause(
        "epochs of 4 batches; none is slow to start",
        SLOW,
        {**TWO, "workers": 2},
        0.002,
        function="nap5",
        images="few",
    ),
}

# ---- The planted program ----------------------------------------------------


def sleepy(image: Any) -> None:
    time.sleep(0.01)


def nap5(image: Any) -> None:
    time.sleep(0.005)


def nap2(image: Any) -> None:
    time.sleep(0.002)


def compute(image: Any) -> None:
    total = 0
    for i in range(30000):
        total += i * i


FUNCTIONS: Dict[str, Callable[[Any], None]] = {
    f.__name__: f for f in (sleepy, nap5, nap2, compute)
}


def write(path: str, text: str) -> bool:
    try:
        Path(path).write_text(text)
    except OSError:
        return False
    return True


def take_precedence(cause: Cause) -> None:
    if not cause.about_cores:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        except OSError:
            pass
        return
    try:
        os.setsid()
        write("/proc/self/autogroup", "-20")
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except OSError:
        pass


GROUPS = (
    ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "%d", "cpu.shares", "262144"),
    (
        "/sys/fs/cgroup/cpu,cpuacct",
        "cpu.cfs_quota_us",
        "%d",
        "cpu.shares",
        "262144",
    ),
    ("/sys/fs/cgroup", "cpu.max", "%d 100000", "cpu.weight", "10000"),
)


def join_quota(cores: float) -> Optional[Path]:
    """The group that this process is now in, or None: not permitted."""
    for root, file, text, weight_file, weight in GROUPS:
        group = Path(root) / ("feedline-planted-%d" % os.getpid())
        if not Path(root, "cgroup.procs").exists():
            continue
        try:
            group.mkdir()
        except OSError:
            continue
        if write(str(group / file), text % int(cores * 100000)):
            write(str(group / weight_file), weight)
            if write(str(group / "cgroup.procs"), str(os.getpid())):
                return group
        group.rmdir()
    return None


class Neighbours:
    """Processes that compute, with the precedence of this one."""

    def __init__(self, n: int) -> None:
        self.children = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(n)
        ]

    def end(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()


def consume(loader: Any, cause: Cause, until: float, kept: List[Any]) -> int:
    batches = 0
    while True:
        for batch in loader:
            time.sleep(cause.step)
            if cause.consumer == "pauses" and batches % 20 == 19:
                time.sleep(0.6)
            if cause.consumer == "keeps":
                kept.append(batch)
                if len(kept) > 28:
                    kept.pop(0)
            else:
                batch.release()
            batches += 1
            if time.monotonic() > until:
                return batches


def play(cause: Cause, images: str, helper: str, seconds: float) -> Any:
    import feedline

    pipeline = feedline.Pipeline("none").add("resize", width=224, height=224)
    if cause.function:
        pipeline.python(FUNCTIONS[cause.function], cause.function)
    if cause.operation:
        pipeline.load(helper).add(cause.operation)
    options = {
        "batch_size": 16,
        "reader": "pread",
        "dtype": "u8",
        "live": False,
        "seed": 1,
        "shuffle": True,
        **cause.options,
    }
    loader = feedline.Loader(
        feedline.Dataset.open("folder:" + images), pipeline, **options
    )
    if cause.spin:
        ctypes.CDLL(helper).planted_spin(cause.spin)
    began = time.monotonic()
    kept: List[Any] = []  # until explain() has seen them
    batches = consume(loader, cause, began + seconds, kept)
    rate = batches * 16 / (time.monotonic() - began)
    stats, words = loader.stats(), loader.explain()
    return {
        "verdict": stats["verdict"],
        "verdicts": stats["verdicts"],
        "headroom": stats["headroom"],
        "workers": stats["stats"]["workers"],
        "explain": words,
        "images_per_second": rate,
    }


def child(name: str, images: str, helper: str, seconds: float) -> int:
    cause = CAUSES[name]
    if cause.cores:
        mine = sorted(os.sched_getaffinity(0))
        if len(mine) < cause.cores:
            print(json.dumps({"skipped": "too few cores here"}))
            return 0
        os.sched_setaffinity(0, mine[: cause.cores])
    if cause.quota and join_quota(cause.quota) is None:
        print(json.dumps({"skipped": "no control group may be made here"}))
        return 0
    take_precedence(cause)
    neighbours = Neighbours(cause.neighbours)
    try:
        found = play(cause, images, helper, seconds)
    finally:
        neighbours.end()
    print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # threads that spin go too


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
        "code"
    ].startswith("FETCH"):
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


def make_images(root: Path, sources: Optional[str]) -> None:
    """photos: 256 files of about 106 KiB; the others are made of these."""
    from PIL import Image

    for kind, count in (
        ("photos", 256),
        ("padded", 96),
        ("large", 24),
        ("few", 64),
    ):
        for i in range(count):
            folder = root / kind / ("class%d" % (i % 4))
            folder.mkdir(parents=True, exist_ok=True)
            size = (4000, 3000) if kind == "large" else (500, 375)
            path = folder / ("%04d.jpg" % i)
            if i >= 8 and kind == "large":
                path.write_bytes(
                    (
                        root
                        / kind
                        / ("class%d" % (i % 4))
                        / ("%04d.jpg" % (i % 8))
                    ).read_bytes()
                )
                continue
            noise = Image.effect_noise((size[0] // 4, size[1] // 4), 60 + i)
            image = noise.resize(size).convert("RGB")
            quality = 97 if i % 3 else 88  # files of several sizes
            image.save(path, quality=92 if kind == "large" else quality)
            if kind == "padded":
                with open(path, "r+b") as file:
                    file.truncate(600000 + 37000 * (i % 24))


def build_helpers(root: Path, library: Path) -> Dict[str, str]:
    compiler = os.environ.get("CC", "cc")
    common = [
        compiler,
        "-O2",
        "-g",
        "-fPIC",
        "-shared",
        "-D_GNU_SOURCE",
        "-I" + str(TREE / "include"),
        "-I" + str(HERE),
    ]
    reads, op = root / "planted_reads.so", root / "planted_op.so"
    subprocess.run(
        [
            *common,
            "-o",
            str(reads),
            str(HERE / "planted_reads.c"),
            str(HERE / "slow_reads.c"),
            str(HERE / "nap.c"),
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    subprocess.run(
        [
            *common,
            "-o",
            str(op),
            str(HERE / "planted_op.c"),
            str(library),
            "-lpthread",
        ],
        check=True,
    )
    return {"reads": str(reads), "op": str(op)}


def forget_groups(pid: int) -> None:
    for root, *_ in GROUPS:
        group = Path(root) / ("feedline-planted-%d" % pid)
        if group.exists():
            try:
                group.rmdir()
            except OSError:
                pass


def run(name: str, arguments: Any, root: Path, helpers: Dict[str, str]) -> Any:
    cause = CAUSES[name]
    environment = dict(os.environ)
    environment["PYTHONPATH"] = str(TREE / "python")
    environment["FEEDLINE_LIBRARY"] = str(Path(arguments.library).resolve())
    if cause.reads:
        environment["LD_PRELOAD"] = helpers["reads"]
        environment["PLANTED_READS"] = cause.reads
        if cause.folder:
            environment["PLANTED_FOLDER"] = cause.folder
    command = [
        sys.executable,
        str(Path(__file__).resolve()),
        "--child",
        name,
        "--images",
        str(root / cause.images),
        "--helper",
        helpers["op"],
        "--seconds",
        str(arguments.seconds),
    ]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        out, _ = process.communicate()
    forget_groups(process.pid)
    if process.returncode != 0:
        return {"failed": "ended with %d" % process.returncode}
    return json.loads(out)


class Score:
    def __init__(self) -> None:
        self.runs = self.right = self.contradicting = 0

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

    def end(self) -> int:
        print(
            "%d of %d said first, %d contradict"
            % (self.right, self.runs, self.contradicting)
        )
        good = self.runs and self.right >= ENOUGH * self.runs
        return 0 if good and not self.contradicting else 1


def parse() -> Any:
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--library", default=str(TREE / "build" / "libfeedline.so"))
    p.add_argument("--only", action="append", choices=sorted(CAUSES))
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--child", help=argparse.SUPPRESS)
    p.add_argument("--images", help=argparse.SUPPRESS)
    p.add_argument("--helper", help=argparse.SUPPRESS)
    return p.parse_args()


def main() -> int:
    arguments = parse()
    if arguments.child:
        return child(
            arguments.child,
            arguments.images,
            arguments.helper,
            arguments.seconds,
        )
    if arguments.list:
        for name, cause in CAUSES.items():
            print("%-26s %s" % (name, cause.what))
        return 0
    score = Score()
    with tempfile.TemporaryDirectory(prefix="feedline-planted-") as folder:
        root = Path(folder)
        make_images(root, None)
        helpers = build_helpers(root, Path(arguments.library).resolve())
        for name in arguments.only or CAUSES:
            score.add(
                name, run(name, arguments, root, helpers), arguments.verbose
            )
    return score.end()


if __name__ == "__main__":
    sys.exit(main())
