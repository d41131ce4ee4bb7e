#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""feedline and its peers where single runs are what counts, on one pinned core.

    bench/peers/compare_runs.py arrays          images of 32 x 32 in memory
    bench/peers/compare_runs.py start FOLDER    imports, and the first batch
    bench/peers/compare_runs.py list FOLDER     the same of a list of 14 million

Each round runs all of them, one after the other; the table has medians, and the
ratios those of runs of the same round. Packages are imported from the page
cache from the second round on. The list names the folder's files again and
again; it is written to the folder for temporary files, 0.6 to 1 GB, and
removed. PYTHONPATH and FEEDLINE_LIBRARY say where feedline is. One that fails
is listed with the reason and left out.
"""
import argparse
import os
import sys
import tempfile

import child
import peer
import side_by_side as sbs
from compare_peers import HERE, PYTHON

SPEED = {"images_per_second": ("images/s", "%.0f"),
         "images_per_cpu_second": ("by CPU time", "%.0f")}
START = {"import_seconds": ("imports, s", "%.2f"),
         "first_seconds": ("first batch, s", "%.2f"),
         "megabytes": ("memory, MB", "%.0f")}
# Name: peer_*.py and its --form; feedline first.
STARTING = {"feedline": ("feedline", "files"),
            "feedline.torch": ("feedline", "torch"),
            "torchvision": ("torchvision", "files"),
            "torchvision_tensor": ("torchvision_tensor", "files"),
            "opencv": ("opencv", "files"), "ffcv": ("ffcv", "files"),
            "dali": ("dali", "files"), "spdl": ("spdl", "files"),
            "tfdata": ("tfdata", "files")}
LISTING = ("feedline", "torchvision", "dali", "tfdata")
ARRAYS = ("feedline", "ffcv", "dali", "tfdata", "torch")


def script(arguments, name, *rest):
    return [arguments.python, os.path.join(HERE, name), *rest]


def start_command(arguments, name, *rest):
    program, form = STARTING[name]
    return script(arguments, "peer_%s.py" % program, "--first", "--form", form,
                  "--folder", arguments.folder, *rest)


def commands(arguments, listed):
    if arguments.subject == "arrays":
        return {name: script(arguments, "arrays_epoch.py", "--loader", name,
                             "--epochs", str(arguments.epochs))
                for name in ARRAYS}
    if arguments.subject == "start":
        return {name: start_command(arguments, name) for name in STARTING}
    return {name: start_command(arguments, name, "--list", listed)
            for name in LISTING}


def write_list(folder, entries, out):
    files, labels = peer.list_images(os.path.abspath(folder))
    lines = "".join("%s %d\n" % pair for pair in zip(files, labels))
    whole, rest = divmod(entries, len(files))
    for _ in range(whole):
        out.write(lines)
    out.write("".join(lines.splitlines(True)[:rest]))
    out.flush()


def measure(arguments, listed):
    """{name: results, one a round}, and {name: why not}"""
    core = {min(os.sched_getaffinity(0))}
    results, failed = {}, {}
    for i in range(arguments.rounds):
        for name, command in commands(arguments, listed).items():
            if name in failed:
                continue
            try:
                found, others = child.run(command, core, arguments.limit)
            except child.Failed as e:
                failed[name] = str(e)
                continue
            results.setdefault(name, []).append(found)
            print("round %d: %s, others took %.0f %%" % (
                i + 1, name, 100 * others), file=sys.stderr)
    return {k: v for k, v in results.items() if k not in failed}, failed


def cell(runs, field, form):
    s = sbs.summary([r[field] for r in runs])
    return "%s (%s to %s)" % tuple(
        form % s[k] for k in ("median", "min", "max"))


def ratio(ours, theirs, field):
    s = sbs.summary([b[field] / a[field] for a, b in zip(ours, theirs)])
    return "%.2f" % s["median"]


def print_table(results, columns):
    """Of each peer also what it has times as much as feedline."""
    ours = results.get("feedline", [])
    print("| | %s |" % " | ".join("%s (range) | / feedline" % title
                                  for title, _ in columns.values()))
    print("|---" * (2 * len(columns) + 1) + "|")
    for name, runs in results.items():
        parts = [(cell(runs, field, form),
                  ratio(ours, runs, field) if ours else "")
                 for field, (_, form) in columns.items()]
        print("| %s | %s |" % (name, " | ".join(
            text for pair in parts for text in pair)))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", choices=("arrays", "start", "list"))
    parser.add_argument("folder", nargs="?",
                        help="images, one folder per class")
    parser.add_argument("--python", default=PYTHON, metavar="PATH",
                        help="where the peers are installed "
                        "[build/peers-venv/bin/python]")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--epochs", type=int, default=1, metavar="E",
                        help="of arrays, that count [%(default)s]")
    parser.add_argument("--entries", type=int, default=14000000, metavar="N",
                        help="of the list [%(default)s]")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS",
                        help="end a run that takes longer [%(default)s]")
    arguments = parser.parse_args()
    if arguments.subject != "arrays" and not arguments.folder:
        parser.error("%s needs a folder" % arguments.subject)
    return arguments


def main():
    child.end_with_its_child()
    arguments = parse()
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as listed:
        if arguments.subject == "list":
            write_list(arguments.folder, arguments.entries, listed)
        results, failed = measure(arguments, listed.name)
    m = sbs.machine()
    print("%s, Linux %s" % (m["cpu_model"], m["kernel"]))
    print_table(results, SPEED if arguments.subject == "arrays" else START)
    for name, reason in failed.items():
        print("%s failed: %s" % (name, reason))


if __name__ == "__main__":
    main()
