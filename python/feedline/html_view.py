# SPDX-License-Identifier: Apache-2.0
"""A loader as a small piece of HTML, for notebooks.

It is complete in itself: no script, no style sheet, nothing fetched. Notebooks
remove style sheets and scripts from what they display, and have dark themes of
their own that no media query sees; hence inline styles, and not the style sheet
of the pages of loaderbench (bench/report/). Text takes the colour of the
notebook and tints are translucent, so it is readable on light and on dark.
Every word that comes from outside is escaped.
"""

from __future__ import annotations

import html
from typing import Any, List, Mapping, Tuple

from .table_view import Stats, bucket_words, duration, percent, rates, size

# Mid tones that stand out from white and from black alike.
COLOURS = {
    "fetch_queue": "#85b4e0",
    "fetch": "#3b82c4",
    "worker_wait": "#e8b98a",
    "prep": "#d07b2c",
    "transfer_queue": "#bda6e0",
    "transfer": "#8a63c9",
    "not_issued": "#a3cfaa",
    "slot": "#4c9a57",
    "wake": "#c45b7a",
}
OTHER_COLOUR = "#8b8b8b"
CELL = ' style="text-align:right;padding:1px 8px"'
NAME_CELL = ' style="text-align:left;padding:1px 8px"'


def segments(stats: Stats) -> List[Tuple[str, float]]:
    """Causes of waits and their shares of the wall time, above 0.1 %."""
    wall = stats["stats"]["wall_seconds"]
    if wall <= 0:
        return []
    buckets = stats["stall"]["buckets"].items()
    return [(k, v / wall) for k, v in buckets if v / wall > 0.001]


def stall_bar(stats: Stats) -> str:
    """The wall time as a bar: what was waited for, in colour, from the left."""
    parts = [
        '<span title="{0}: {1} %" style="display:inline-block;height:100%;'
        'width:{1}%;background:{2}"></span>'.format(
            html.escape(bucket_words(name)),
            percent(share),
            COLOURS.get(name, OTHER_COLOUR),
        )
        for name, share in segments(stats)
    ]
    return (
        '<div style="width:24em;height:0.9em;overflow:hidden;'
        "white-space:nowrap;font-size:1em;line-height:0;"
        'background:rgba(128,128,128,0.25)">%s</div>' % "".join(parts)
    )


def legend(stats: Stats) -> str:
    """The names of the bar's colours."""
    return ", ".join(
        '<span style="color:%s">&#9632;</span> %s %s %%'
        % (
            COLOURS.get(name, OTHER_COLOUR),
            html.escape(bucket_words(name)),
            percent(share),
        )
        for name, share in segments(stats)
    )


def stage_line(stage: Mapping[str, Any]) -> str:
    """A row of the table: name, items, seconds busy, median and 99th."""
    cells = (
        str(stage["items"]),
        "%.3f s" % stage["busy_seconds"],
        duration(stage["p50_us"] / 1e6, 1),
        duration(stage["p99_us"] / 1e6, 1),
    )
    return "<tr><td%s>%s</td>%s</tr>" % (
        NAME_CELL,
        html.escape(stage["name"]),
        "".join("<td%s>%s</td>" % (CELL, cell) for cell in cells),
    )


def stage_table(stats: Stats) -> str:
    """The stages, in the order of the path."""
    titles = ("items", "busy", "p50", "p99")
    head = "<tr><th%s>stage</th>%s</tr>" % (
        NAME_CELL,
        "".join("<th%s>%s</th>" % (CELL, title) for title in titles),
    )
    lines = "".join(stage_line(stage) for stage in stats["stages"])
    return '<table style="border-collapse:collapse">%s%s</table>' % (
        head,
        lines,
    )


def page(stats: Stats, title: str) -> str:
    """All of it, in one <div>; title: plain text, the loader's repr."""
    rate = rates(stats, None)
    verdict = stats["verdict"]
    action = html.escape(verdict["action"] or "")
    return (
        '<div style="font-family:sans-serif;font-size:90%%">'
        "<div><b>%s</b></div>"
        "<div>%.1f samples/s, %s/s read, waited %s %% of %.1f s</div>"
        "%s<div>%s</div>%s<div><b>%s</b>: %s%s</div></div>"
        % (
            html.escape(title),
            rate["samples_per_second"],
            size(rate["bytes_per_second"]),
            percent(rate["wait_fraction"]),
            stats["stats"]["wall_seconds"],
            stall_bar(stats),
            legend(stats),
            stage_table(stats),
            html.escape(verdict["code"]),
            html.escape(verdict["sentence"]),
            "<br><i>%s</i>" % action if action else "",
        )
    )


def message(title: str, text: str) -> str:
    """A loader that has no statistics, and why; both are plain text."""
    return (
        '<div style="font-family:sans-serif;font-size:90%%">'
        "<b>%s</b><br>%s</div>" % (html.escape(title), html.escape(text))
    )
