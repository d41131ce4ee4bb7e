#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tuner against every static setting, with real images.

The consumer takes 0.3, 0.7, 1.0 and 1.5 times what the loader can do with all
cores and no consumer. For each of these, every number of workers x depth is
measured with the tuner off, in rounds forth and back; then the best of them and
the tuner in turns, for the best of many measurements is one that was lucky.
The medians of their ratios count:

  throughput  of the tuner at least 97 % of that of the best static setting
  workers     at most one more than the cheapest static setting that is as good,
              by the same 3 %

Exit status 1 if one of them is missed.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

LOADS = (0.3, 0.7, 1.0, 1.5)
AS_GOOD = 0.97
WORKERS_MORE = 1


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?",
                        help="of images, one folder per class [made by "
                        "loaderbench gen]")
    parser.add_argument("--loaderbench", default="loaderbench",
                        help="the tool [%(default)s]")
    parser.add_argument("--loads", type=float, nargs="+", default=LOADS,
                        metavar="X", help="what the consumer takes, of what "
                        "the loader can do [%(default)s]")
    parser.add_argument("--workers", type=int, nargs="+", metavar="N",
                        help="[1 to twice the cores]")
    parser.add_argument("--depths", type=int, nargs="+", default=(2, 4, 8),
                        metavar="N", help="[%(default)s]")
    parser.add_argument("--batch-size", type=int, default=16, metavar="N",
                        help="[%(default)s]")
    parser.add_argument("--seconds", type=float, default=2, metavar="T",
                        help="of each measurement [%(default)s]")
    parser.add_argument("--search", type=float, default=20, metavar="T",
                        help="seconds for the tuner before it is measured "
                        "[%(default)s]")
    parser.add_argument("--rounds", type=int, default=2, metavar="R",
                        help="of the grid [%(default)s]")
    parser.add_argument("--duels", type=int, default=5, metavar="R",
                        help="of the best against the tuner [%(default)s]")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def tool(arguments, *words):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FEEDLINE_")}
    return subprocess.run([arguments.loaderbench] + [str(w) for w in words],
                          env=env, check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout


def run(arguments, consumer_ms, *words, warmup=6, seconds=None):
    out = tool(arguments, "run", arguments.folder, "--json", "-",
               "--batch-size", arguments.batch_size, "--consumer-ms",
               "%.3f" % consumer_ms, "--warmup", warmup, "--seconds",
               seconds or arguments.seconds, *words)
    return json.loads(out)


def static(arguments, consumer_ms, workers, depth):
    doc = run(arguments, consumer_ms, "--tuner", "off", "--workers", workers,
              "--depth", depth, warmup=depth + 4)
    return doc["result"]["images_per_second"], doc["stall"]["host_fraction"]


def tuned(arguments, consumer_ms, step_seconds):
    """After as many batches as the search may take."""
    doc = run(arguments, consumer_ms, "--tuner", "auto",
              warmup=max(10, int(arguments.search / step_seconds)))
    return {"images_per_second": doc["result"]["images_per_second"],
            "stall": doc["stall"]["host_fraction"],
            "workers": doc["tuner"]["workers"],
            "depth": doc["tuner"]["depth"],
            "converged_batch": doc["tuner"].get("converged_batch"),
            "decisions": len(doc["tuner"].get("decisions", []))}


def measure_grid(arguments, consumer_ms, points):
    rates = {p: [] for p in points}
    for i in range(arguments.rounds):
        for p in points if i % 2 == 0 else points[::-1]:
            rates[p].append(static(arguments, consumer_ms, *p)[0])
    return {p: statistics.median(r) for p, r in rates.items()}


def cheapest(grid, best):
    """The fewest workers, and then the least depth, of those as good."""
    return min(p for p in grid if grid[p] >= AS_GOOD * grid[best])


def measure_load(arguments, load, capacity, points):
    batch = arguments.batch_size
    consumer_ms = 1e3 * batch / (load * capacity)
    step_seconds = batch / (min(load, 1) * capacity)
    grid = measure_grid(arguments, consumer_ms, points)
    best = max(grid, key=grid.get)
    rivals, found = [], []
    for i in range(arguments.duels):
        for who in ("static", "tuned") if i % 2 == 0 else ("tuned", "static"):
            if who == "static":
                rivals.append(static(arguments, consumer_ms, *best)[0])
            else:
                found.append(tuned(arguments, consumer_ms, step_seconds))
    ratios = [t["images_per_second"] / s for t, s in zip(found, rivals)]
    workers = statistics.median_high([t["workers"] for t in found])
    enough = cheapest(grid, best)
    return {"load": load, "consumer_ms": consumer_ms,
            "grid": [{"workers": w, "depth": d, "images_per_second": r}
                     for (w, d), r in sorted(grid.items())],
            "best": {"workers": best[0], "depth": best[1],
                     "images_per_second": statistics.median(rivals)},
            "cheapest": {"workers": enough[0], "depth": enough[1]},
            "tuned": found, "workers": workers, "ratios": ratios,
            "ratio": statistics.median(ratios),
            "fast": statistics.median(ratios) >= AS_GOOD,
            "frugal": workers <= enough[0] + WORKERS_MORE}


def row(r):
    batches = sorted(t["converged_batch"] for t in r["tuned"]
                     if t["converged_batch"] is not None)
    return ("| %.1f | %.0f | %d x %d | %d | %.0f | %d | %s | "
            "%.3f (%.3f to %.3f) | %s |"
            % (r["load"], r["best"]["images_per_second"], r["best"]["workers"],
               r["best"]["depth"], r["cheapest"]["workers"],
               statistics.median(t["images_per_second"] for t in r["tuned"]),
               r["workers"], batches[len(batches) // 2] if batches else "none",
               r["ratio"], min(r["ratios"]), max(r["ratios"]),
               "yes" if r["fast"] and r["frugal"] else "no"))


def table(result):
    lines = ["| consumer / capacity | best static, images/s | workers x depth "
             "| cheapest as good | tuned, images/s | workers | batches to find "
             "| tuned / best (range) | reached |",
             "|---|---|---|---|---|---|---|---|---|"]
    return "\n".join(lines + [row(r) for r in result["loads"]])


def measure(arguments):
    cores = len(os.sched_getaffinity(0))
    workers = arguments.workers or range(1, 2 * cores + 1)
    points = [(w, d) for w in workers for d in arguments.depths]
    capacity = statistics.median(
        static(arguments, 0, cores, 4)[0] for _ in range(3))
    print("capacity: %.0f images/s with %d workers" % (capacity, cores),
          file=sys.stderr)
    result = {"schema_version": 1, "comparison": "tuner",
              "date": datetime.date.today().isoformat(),
              "machine": {"cores": cores, "kernel": platform.release()},
              "batch_size": arguments.batch_size, "capacity": capacity,
              "loads": []}
    for load in arguments.loads:
        result["loads"].append(measure_load(arguments, load, capacity, points))
        print(row(result["loads"][-1]), file=sys.stderr)
    return result


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as tmp:
        if not arguments.folder:
            arguments.folder = os.path.join(tmp, "images")
            tool(arguments, "gen", arguments.folder, "--images", 256,
                 "--quiet")
        result = measure(arguments)
    print(table(result))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    reached = all(r["fast"] and r["frugal"] for r in result["loads"])
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
