# SPDX-License-Identifier: Apache-2.0
"""What the comparisons share: arguments, medians, what they say of the machine.

A fair comparison on a shared machine is made of rounds: A and B one after the
other on the same cores, again and again. What disturbs a round disturbs both,
so the ratio within a round is steadier than either number.
"""
import json
import os
import platform
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
LOADERBENCH = os.path.join(ROOT, "build", "tools", "loaderbench",
                           "loaderbench")


def add_common_arguments(parser, rounds):
    parser.add_argument("folder", help="images, one folder per class")
    parser.add_argument("--loaderbench", default=LOADERBENCH, metavar="PATH",
                        help="the tool to run [of build/]")
    parser.add_argument("--rounds", type=int, default=rounds, metavar="N",
                        help="rounds of A and B [%(default)s]")
    parser.add_argument("--epochs", type=int, default=5, metavar="E",
                        help="epochs in each measurement [%(default)s]")
    parser.add_argument("--batch-size", type=int, default=64, metavar="B",
                        help="samples in a batch [%(default)s]")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS",
                        help="end a run that takes longer; enough for 400 "
                        "images and the defaults, so give more with more "
                        "[%(default)s]")
    parser.add_argument("--json", metavar="FILE",
                        help="write everything as JSON, '-' for stdout")


def summary(values):
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "values": values}


def line(name, values):
    s = summary(values)
    return "%-14s %8.1f images/s   (%.1f to %.1f)" % (
        name, s["median"], s["min"], s["max"])


def ratio_line(name, s):
    return "%-14s %8.2f            (%.2f to %.2f)" % (
        name, s["median"], s["min"], s["max"])


def machine():
    model = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for text in f:
            if text.startswith("model name"):
                model = text.split(":", 1)[1].strip()
                break
    return {"cpu_model": model, "kernel": platform.release(),
            "cpus_allowed": len(os.sched_getaffinity(0))}


def write_json(document, path):
    if not path:
        return
    text = json.dumps(document, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
