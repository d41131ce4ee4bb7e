#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what compare_peers.py measured: one bar per loader, fastest first.

    draw_peers.py RESULTS.json OUTPUT [--dtype f32] [--cores 1]

writes OUTPUT-light.svg and OUTPUT-dark.svg: bars are medians, the thin lines
the range of all rounds, factors the medians of ratios within a round. Plain
text in, plain text out, so the pictures in the README can be checked against
the numbers (`ctest -R docs.pictures`).
"""
import argparse
import json
from xml.sax.saxutils import escape

NAMES = {"feedline": "feedline", "opencv": "simplejpeg + OpenCV",
         "ffcv": "FFCV (JPEG)", "dali": "DALI (CPU)", "tfdata": "tf.data",
         "torchvision_tensor": "torchvision v2, tensors", "spdl": "SPDL",
         "torchvision": "torchvision, Pillow"}
THEMES = {
    "light": {"text": "#1f2328", "quiet": "#59636e", "bar": "#b7c0cb",
              "ours": "#d9730d", "range": "#59636e"},
    "dark": {"text": "#e6edf3", "quiet": "#9198a1", "bar": "#4b5563",
             "ours": "#f0883e", "range": "#9198a1"},
}
# As wide as can still be read on a phone.
WIDTH, LEFT, RIGHT, TOP = 480, 172, 44, 40
PITCH, BAR = 25, 16
# Or else who divides one bar by another finds an error.
HOW = "Bars: medians; lines: all rounds; factors: median of each round's own"
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


def table_of(result, dtype, cores):
    for table in result["tables"]:
        if table["dtype"] == dtype and len(table["cores"]) == cores:
            return table
    raise SystemExit("no table of %s on %d cores" % (dtype, cores))


def rows_of(table):
    """(name, median, min, max, ratio), fastest first, without yardsticks."""
    rows = [(NAMES[r["name"]],) + tuple(
        r["images_per_second"][k] for k in ("median", "min", "max")) + (
            r.get("ratio", {}).get("median"),)
            for r in table["rows"] if r["name"] in NAMES]
    return sorted(rows, key=lambda row: -row[1])


def text(x, y, words, fill, more=""):
    return '<text x="%g" y="%g" fill="%s"%s>%s</text>' % (
        x, y, fill, more, escape(words))


def bar(y, row, scale, theme):
    name, median, low, high, ratio = row
    ours = name == "feedline"
    weight = ' font-weight="600"' if ours else ""
    middle = y + BAR / 2
    return [
        text(LEFT - 8, middle + 4.5, name, theme["text"],
             ' text-anchor="end"' + weight),
        '<rect x="%d" y="%g" width="%.1f" height="%d" rx="2" fill="%s"/>' % (
            LEFT, y, median * scale, BAR, theme["ours" if ours else "bar"]),
        '<path d="M%.1f %gH%.1f" stroke="%s"/>' % (
            LEFT + low * scale, middle, LEFT + high * scale, theme["range"]),
        text(LEFT + max(median, high) * scale + 8, middle + 4.5,
             "%.0f" % median, theme["text"], weight),
    ] + ([] if ours else [
        text(LEFT + max(median, high) * scale + 42, middle + 4.5,
             "feedline is %.1f times as fast" % ratio, theme["quiet"])])


def picture(result, table, theme):
    rows = rows_of(table)
    height = TOP + PITCH * len(rows) + 42
    scale = (WIDTH - LEFT - RIGHT) / max(row[3] for row in rows)
    cores = len(table["cores"])
    title = "Images per second on %s" % (
        "one core" if cores == 1 else "%d cores" % cores)
    note = "%d ImageNet JPEGs, random resized crop to 224, %s, %s, %s" % (
        result["images"], table["dtype"],
        result["machine"]["cpu_model"].replace("(R)", ""), result["date"])
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"'
        ' width="%d" height="%d" role="img" font-family="%s" font-size="13">'
        % (WIDTH, height, WIDTH, height, FONT),
        "<title>%s</title>" % escape(title),
        text(0, 18, title, theme["text"], ' font-size="15" font-weight="600"'),
    ]
    for place, row in enumerate(rows):
        lines += bar(TOP + PITCH * place, row, scale, theme)
    small = ' font-size="11"'
    lines += [text(0, height - 22, note, theme["quiet"], small),
              text(0, height - 6, HOW, theme["quiet"], small), "</svg>", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("output")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--cores", type=int, default=1)
    arguments = parser.parse_args()
    with open(arguments.results, encoding="utf-8") as file:
        result = json.load(file)
    table = table_of(result, arguments.dtype, arguments.cores)
    for name, theme in THEMES.items():
        path = "%s-%s.svg" % (arguments.output, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(picture(result, table, theme))


if __name__ == "__main__":
    main()
