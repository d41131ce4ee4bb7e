#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what compare_peers.py wrote: one panel per type and number of cores.

    plot_peers.py RESULTS.json OUTPUT.svg
"""
import json
import sys


def panel(axes, table):
    rows = table["rows"]
    places = range(len(rows) - 1, -1, -1)
    speed = [r["images_per_second"] for r in rows]
    medians = [s["median"] for s in speed]
    ranges = [[s["median"] - s["min"] for s in speed],
              [s["max"] - s["median"] for s in speed]]
    colours = ["tab:orange" if r["name"] == "feedline" else "tab:blue"
               for r in rows]
    axes.barh(places, medians, xerr=ranges, color=colours, height=0.7,
              capsize=2)
    axes.set_yticks(places, [r["name"] for r in rows])
    axes.set_xlabel("images per second, median and range")
    axes.set_title("%s, %d core%s" % (table["dtype"], len(table["cores"]),
                                      "s" if len(table["cores"]) > 1 else ""))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        import matplotlib
    except ImportError:
        sys.exit("matplotlib is not installed in %s" % sys.prefix)
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with open(sys.argv[1], encoding="utf-8") as f:
        result = json.load(f)
    tables = result["tables"]
    figure, axes = pyplot.subplots(
        len(tables), 1, squeeze=False, layout="constrained",
        figsize=(8, sum(1 + 0.3 * len(t["rows"]) for t in tables)))
    for ax, table in zip(axes[:, 0], tables):
        panel(ax, table)
    figure.suptitle("%s, %s" % (result["machine"]["cpu_model"],
                                result["date"]))
    figure.savefig(sys.argv[2])


if __name__ == "__main__":
    main()
