#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tuner against every static setting, with real images.

The consumer takes 0.3, 0.7, 1.0 and 1.5 times what the loader can do with all
cores and no consumer. For each of these, every number of workers x depth has
its turns with the tuner off; then the best of them and the tuner have theirs,
for the best of many measurements is one that was lucky. Turns are slices of
less than a second in one process (turns.c): the speed of a shared machine moves
by a tenth within seconds, and neighbours in time see the same of it.

  throughput  of the tuner at least 97 % of that of the best static setting, by
              the median of the ratios of neighbouring slices
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
    parser.add_argument("--build", default="build", metavar="FOLDER",
                        help="where feedline was built [%(default)s]")
    parser.add_argument("--loads", type=float, nargs="+", default=LOADS,
                        metavar="X", help="what the consumer takes, of what "
                        "the loader can do [%(default)s]")
    parser.add_argument("--workers", type=int, nargs="+", metavar="N",
                        help="[1 to twice the cores]")
    parser.add_argument("--depths", type=int, nargs="+", default=(2, 4, 8),
                        metavar="N", help="[%(default)s]")
    parser.add_argument("--batch-size", type=int, default=16, metavar="N",
                        help="[%(default)s]")
    parser.add_argument("--slice", type=float, default=0.4, metavar="T",
                        help="seconds of a turn [%(default)s]")
    parser.add_argument("--search", type=float, default=12, metavar="T",
                        help="seconds for the tuner before it is measured "
                        "[%(default)s]")
    parser.add_argument("--rounds", type=int, default=12, metavar="R",
                        help="turns of each point of the grid [%(default)s]")
    parser.add_argument("--duels", type=int, default=60, metavar="R",
                        help="turns of the best and the tuner [%(default)s]")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def turns(arguments, consumer_ms, search, rounds, *settings):
    """{setting: its slices, by round}."""
    words = [os.path.join(arguments.build, "bench/turns"),
             arguments.folder, arguments.batch_size, consumer_ms, search,
             arguments.slice, rounds] + list(settings)
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FEEDLINE_")}
    out = subprocess.run([str(w) for w in words], env=env, check=True,
                         stdout=subprocess.PIPE, universal_newlines=True).stdout
    slices = {s: [] for s in settings}
    for line in out.splitlines():
        _, setting, rate, stall, workers, depth, converged = line.split()
        slices[setting].append(
            {"images_per_second": float(rate), "stall": float(stall),
             "workers": int(workers), "depth": int(depth),
             "converged_batch": int(converged)})
    return slices


def name(point):
    return "%dx%d" % point


def rates(slices):
    return [s["images_per_second"] for s in slices]


def measure_grid(arguments, consumer_ms, points):
    slices = turns(arguments, consumer_ms, 0, arguments.rounds,
                   *[name(p) for p in points])
    return {p: statistics.median(rates(slices[name(p)])) for p in points}


def cheapest(grid, best):
    """The fewest workers, and then the least depth, of those as good."""
    return min(p for p in grid if grid[p] >= AS_GOOD * grid[best])


def measure_load(arguments, load, capacity, points):
    consumer_ms = 1e3 * arguments.batch_size / (load * capacity)
    grid = measure_grid(arguments, consumer_ms, points)
    best = max(grid, key=grid.get)
    slices = turns(arguments, consumer_ms, arguments.search, arguments.duels,
                   name(best), "auto")
    found, rivals = slices["auto"], rates(slices[name(best)])
    ratios = sorted(t / s for t, s in zip(rates(found), rivals))
    workers = statistics.median_high([t["workers"] for t in found])
    enough = cheapest(grid, best)
    ratio = statistics.median(ratios)
    return {"load": load, "consumer_ms": consumer_ms,
            "grid": [{"workers": w, "depth": d, "images_per_second": r}
                     for (w, d), r in sorted(grid.items())],
            "best": {"workers": best[0], "depth": best[1],
                     "images_per_second": statistics.median(rivals)},
            "cheapest": {"workers": enough[0], "depth": enough[1]},
            "tuned": found, "workers": workers, "ratios": ratios,
            "ratio": ratio, "fast": ratio >= AS_GOOD,
            "frugal": workers <= enough[0] + WORKERS_MORE}


def quartile(ratios, k):
    return ratios[k * (len(ratios) - 1) // 4]


def row(r):
    return ("| %.1f | %.0f | %s | %d | %.0f | %d x %d | %s | "
            "%.3f (%.3f to %.3f) | %s |"
            % (r["load"], r["best"]["images_per_second"],
               "%d x %d" % (r["best"]["workers"], r["best"]["depth"]),
               r["cheapest"]["workers"], statistics.median(rates(r["tuned"])),
               r["workers"], r["tuned"][-1]["depth"],
               max(t["converged_batch"] for t in r["tuned"]), r["ratio"],
               quartile(r["ratios"], 1), quartile(r["ratios"], 3),
               "yes" if r["fast"] and r["frugal"] else "no"))


def table(result):
    lines = ["| consumer / capacity | best static, images/s | workers x depth "
             "| cheapest as good | tuned, images/s | workers x depth "
             "| content since batch | tuned / best (quartiles) | reached |",
             "|---|---|---|---|---|---|---|---|---|"]
    return "\n".join(lines + [row(r) for r in result["loads"]])


def measure(arguments):
    cores = len(os.sched_getaffinity(0))
    workers = arguments.workers or range(1, 2 * cores + 1)
    points = [(w, d) for w in workers for d in arguments.depths]
    free = name((cores, 4))
    capacity = statistics.median(rates(turns(arguments, 0, 0, 5, free)[free]))
    print("capacity: %.0f images/s with %d workers" % (capacity, cores),
          file=sys.stderr)
    result = {"schema_version": 2, "comparison": "tuner",
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
    if not os.path.exists(os.path.join(arguments.build, "bench/turns")):
        sys.exit("%s has no bench/turns: configure it with "
                 "-DFEEDLINE_BENCH=ON and build it" % arguments.build)
    with tempfile.TemporaryDirectory() as tmp:
        if not arguments.folder:
            arguments.folder = os.path.join(tmp, "images")
            subprocess.run([os.path.join(arguments.build, "tools/loaderbench/"
                                         "loaderbench"), "gen",
                            arguments.folder, "--images", "256", "--quiet"],
                           check=True)
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
