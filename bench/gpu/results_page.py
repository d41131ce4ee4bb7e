# SPDX-License-Identifier: Apache-2.0
"""The page of results: Markdown, and the same as JSON."""
import json
import os

REHEARSAL = ("REHEARSAL. No GPU took part: a double of the CUDA driver and the "
             "CPU stood in for it. The numbers say that the steps run, and "
             "nothing about any hardware.")
WORDS = {True: "yes", False: "**NO**", None: "-"}


def _cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def _table(head, rows):
    lines = ["| %s |" % " | ".join(head), "|%s" % ("---|" * len(head))]
    lines += ["| %s |" % " | ".join(_cell(c) for c in row) for row in rows]
    return lines


def _step(step):
    """The part of one step, if it has anything to say."""
    if not step["rows"] and not step["notes"]:
        return []
    lines = ["", "## %s: %s" % (step["name"], step["title"]), ""]
    if step["rows"]:
        lines += _table(("", "asked for", "came", "met"), (
            (row["what"], row["asked"], row["got"], WORDS[row["right"]])
            for row in step["rows"]))
        lines += [""] * bool(step["notes"])
    return lines + ["- " + " ".join(note.split()) for note in step["notes"]]


def markdown(doc):
    lines = ["# GPU check, " + doc["date"], ""]
    if doc["rehearsal"]:
        lines += ["**%s**" % REHEARSAL, ""]
    lines += ["    " + line for line in doc["hardware"]]
    counts = [step["outcome"] for step in doc["steps"]]
    lines += ["", "%d passed, %d failed, %d skipped; %d s in all." % (
        counts.count("passed"), counts.count("failed"),
        counts.count("skipped"), doc["seconds"]), ""]
    lines += _table(("step", "", "outcome", "s"), (
        (s["name"], s["title"], s["outcome"] + (
            ": " + s["why"] if s["why"] else ""), "%.0f" % s["seconds"])
        for s in doc["steps"]))
    for step in doc["steps"]:
        lines += _step(step)
    return "\n".join(lines) + "\n"


def write(doc, folder):
    """Writes both, and returns the path of the page."""
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, "%s-gpu%s" % (
        doc["date"], "-rehearsal" if doc["rehearsal"] else ""))
    for ending, text in ((".json", json.dumps(doc, indent=1) + "\n"),
                         (".md", markdown(doc))):
        with open(name + ending, "w", encoding="utf-8") as f:
            f.write(text)
    return name + ".md"
