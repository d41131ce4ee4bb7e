# SPDX-License-Identifier: Apache-2.0
"""loaderbench report: the file that it writes, what stands in it for readers
without scripts, and what makes none. What its script draws: test_page.py."""
import base64
import copy
import hashlib
import json
import os
import random
import re
import resource
import subprocess

import report_document
from report_page import (Page, at, close, damaged, embeds, extremes,
                         has_numbers, made, short_documents)
from support import (TOOL, contains, damage, equal, expect, generate, main,
                     put, read, tool)


def case_main_table(tmp):
    """Verdict and numbers are there without the script."""
    document = report_document.document()
    page = Page(made(tmp, document)[1])
    has_numbers(page, document, 12)
    for key in ("result.images_per_second", "stall.host_fraction",
                "stall.device_fraction", "verdict.confidence",
                "verdict.predicted_gain", "tuner.workers"):
        assert key in page.keyed, key
    for part in ("1184", "11.3 %", "355072", "2048.0 MiB", "jitter&co",
                 document["verdict"]["code"], document["verdict"]["sentence"],
                 document["verdict"]["action"]):
        contains(page.text, part)
    embeds(page.embedded, [document])


def case_main_tables_of_other_commands(tmp):
    short = short_documents()
    head = {"schema_version": 1, "version": "0.1.0"}
    doctor = dict(head, command="doctor", host="node-17", findings=[
        {"id": "memlock", "level": "warning", "text": "8 MiB <only>",
         "remedy": "ulimit -l unlimited"}])
    page = Page(made(tmp, *short.values(), doctor, report_document.sweep(),
                     report_document.tune())[1])
    for part in ("fail", "max_rss_bytes", "r1<.json", "25.0 %", "It <was>.",
                 "28.5", "8 MiB <only>", "ulimit -l unlimited"):
        contains(page.text, part)
    for point in report_document.sweep()["grid"]:
        contains(page.text, "%.0f" % point["images_per_second"])


def case_same_bytes(tmp):
    one = made(tmp, report_document.document(), report_document.sweep())[1]
    assert one == made(tmp, report_document.document(),
                       report_document.sweep())[1]



def case_older_documents(tmp):
    """Those without date, host, command line and options."""
    document = report_document.document()
    for key in ("date", "host", "command_line", "options"):
        del document[key]
    text = made(tmp, document)[1]
    contains(text, "<title>feedline: folder:/data/train</title>")
    assert "UTC" not in Page(text).text
    for key in ("date", "host", "command_line", "options"):
        document[key] = None
    contains(made(tmp, document)[1], "<title>feedline: folder:/data/train<")


def case_nothing_from_outside(tmp):
    page = Page(made(tmp, report_document.document(),
                     report_document.sweep())[1])
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href"):
                assert value.startswith("#") or value == "data:,", value
            if value and "url(" in value:
                equal(value, "url(#hatch)")
    equal([a for t, a in page.elements if t == "script"],
          [{"type": "application/json", "id": "feedline-data"}, {}])
    kinds = {tag for tag, _ in page.elements}
    assert not kinds & {"iframe", "object", "embed", "img", "base", "form"}


def case_only_its_own_script(tmp):
    """The policy names style and script by their hashes, and nothing else."""
    text = made(tmp, report_document.document())[1]
    policy = re.search('Security-Policy" content="([^"]*)"', text).group(1)
    own = {}
    for tag in ("style", "script"):
        content = re.search("<%s>(.*?)</%s>" % (tag, tag), text, re.S).group(1)
        digest = hashlib.sha256(content.encode()).digest()
        own[tag] = "'sha256-%s'" % base64.b64encode(digest).decode()
    equal(policy, "default-src 'none'; img-src data:; style-src %s; "
          "script-src %s" % (own["style"], own["script"]))


def case_paths_with_markup(tmp):
    document = report_document.document()
    worst = "</script><script>alert(1)</script><!--\x07\x1b[31m]]>"
    document["dataset"]["uri"] = worst
    document["verdict"]["sentence"] = worst
    document["verdict"]["code"] = worst
    document["stages"][0]["name"] = worst
    document["phases"][0]["name"] = worst
    document["signals"] = {worst: worst}
    document["tuner"]["decisions"] = [worst, {worst: [worst, None, True]}]
    text = made(tmp, document)[1]
    page = Page(text)
    equal(len([t for t, _ in page.elements if t == "script"]), 2)
    embeds(page.embedded, [document])
    equal((text.count("<!--"), text.count("<script>")), (1, 1))
    assert "\x07" not in text and "\x1b" not in text and "\u202e" not in text
    contains(page.text, "alert(1)")


def case_a_colour_means_one_thing(tmp):
    """Those of the consumer's time, the causes and the workers' split."""
    text = made(tmp, report_document.document())[1]
    names = ["wait", "cpu", "runq", "throttle", "sleep"]
    fills = dict(re.findall(r"\.c-(\w+) { fill: var\(--(\w+)\)", text))
    for scheme in re.findall(r":root {([^}]*)}", text)[:2]:
        colours = dict(re.findall(r"--(\w+): #([0-9a-f]+)", scheme))
        seen = [colours[fills.get(name, name)]
                for name in names + report_document.BUCKETS]
        equal(len(seen), len(set(seen)), seen)


def case_contrast(tmp):
    """Text on cards: 4.5 to 1 in both schemes, as WCAG asks for."""
    text = made(tmp, report_document.sweep())[1]

    def light(colour):
        if len(colour) == 3:
            colour = "".join(2 * c for c in colour)
        parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
                 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    schemes = re.findall(r":root {([^}]*)}", text)[:2]
    equal(len(schemes), 2)
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): #([0-9a-f]+)", scheme))
        for under in ("card", "paper"):
            for ink in ("ink", "soft", "accent", "fed", "minor", "moderate",
                        "high", "unknown"):
                pair = sorted((light(colours[under]), light(colours[ink])))
                ratio = (pair[1] + 0.05) / (pair[0] + 0.05)
                assert ratio >= 4.5, (ink, under, ratio)


def case_real_comparison(tmp):
    """The documents of the tool itself, not only those made up here."""
    one, two = report_document.document(), report_document.document()
    two["result"]["images_per_second"] *= 1.25
    paths = [put(tmp, d, "run%d.json" % i) for i, d in enumerate((one, two))]
    written = os.path.join(tmp, "written.json")
    for command in ("compare", "merge"):
        expect(tool(command, *paths, "--json", written, "--quiet"), 0)
        page = expect(tool("report", written, "--out", "-"), 0).out
        Page(page)
        contains(page, 'data-key="change_fraction">25.0 %<'
                 if command == "compare" else "run1.json")


def case_least_document(tmp):
    for document in extremes():
        Page(made(tmp, document)[1])


def case_real_run(tmp):
    folder = generate(tmp)
    damage(folder, 1)
    page, numbers = os.path.join(tmp, "a.html"), os.path.join(tmp, "a.json")
    expect(tool("run", folder, "--epochs", 3, "--batch-size", 5, "--on-error",
                "zero", "--report", page, "--json", numbers), 0)
    document = json.loads(read(numbers))
    parsed = Page(read(page))
    for key, value in parsed.keyed.items():
        close(value, at(document, key), key)
    embeds(parsed.embedded, [document])
    contains(parsed.text, folder)
    # `report` makes the page from the file of numbers.
    again = os.path.join(tmp, "b.html")
    expect(tool("report", numbers, "--out", again), 0)
    embeds(Page(read(again)).embedded, [document])
    # The report of several runs is that of their medians.
    expect(tool("run", folder, "--epochs", 2, "--batch-size", 5, "--on-error",
                "zero", "--report", page, "--repeat", 2, "--quiet"), 0)


def case_run_to_standard_output(tmp):
    done = expect(tool("run", generate(tmp), "--epochs", 1, "--report", "-"), 0)
    assert done.out.startswith("<!DOCTYPE html>"), done.out[:80]
    assert done.out.endswith("</html>\n"), done.out[-80:]


def case_timeline_sums(tmp):
    done = expect(tool("run", generate(tmp), "--batch-size", 4, "--seconds",
                       1.2, "--consumer-ms", 2, "--json", "-"), 0)
    document = json.loads(done.out)
    points, before, images = document["timeline"], 0, 0
    assert 2 <= len(points) <= 1200, len(points)
    for p in points:
        assert p["seconds"] > before, points
        images += p["images_per_second"] * (p["seconds"] - before)
        before = p["seconds"]
        assert 0 <= p["host_fraction"] <= 1, p
        equal(p["device_fraction"], None)
        assert p["workers"] >= 1 and p["depth"] >= 1, p
    assert abs(images - document["result"]["images"]) < 1, images
    assert abs(before - document["result"]["seconds"]) < 1e-6, before
    for cause, seconds in document["stall"]["buckets"].items():
        of_points = sum(p["buckets"][cause] for p in points)
        assert abs(of_points - seconds) < 1e-6, (cause, of_points, seconds)


def case_the_library_has_more(tmp):
    """What the statistics of the library have is in the document."""
    done = expect(tool("run", generate(tmp), "--epochs", 2, "--json", "-"), 0)
    stats = json.loads(done.out)["stats"]
    parts = (stats["user_seconds"] + stats["wait_seconds"] +
             stats["api_seconds"])
    assert abs(parts - stats["wall_seconds"]) < 1e-6, stats


def case_statistics(tmp):
    """What stats() gives is as good as a document of run."""
    done = expect(tool("run", generate(tmp), "--epochs", 2, "--json", "-"), 0)
    stats = json.loads(done.out)
    own = ("schema_version", "command", "version", "date", "host", "options",
           "command_line", "dataset", "machine", "result", "config", "run",
           "timeline", "interrupted", "failures")
    for key in own:
        del stats[key]
    account = stats["stats"]
    page = Page(made(tmp, stats)[1])
    speed = account["samples"] / account["wall_seconds"]
    shown = float(page.keyed["result.images_per_second"])
    assert abs(shown - speed) < 1e-6 * speed, (shown, speed)
    equal(float(page.keyed["result.batches"]), account["batches"])
    contains(page.text, stats["verdict"]["sentence"])
    path = put(tmp, stats)
    contains(expect(tool("compare", path, path), 0).out, "pass")
    contains(expect(tool("merge", path, path), 0).out, "No rank holds up")
    for key in ("samples", "wall_seconds"):
        less = copy.deepcopy(stats)
        del less["stats"][key]
        contains(expect(tool("report", put(tmp, less), "--out", "-"), 3).err,
                 "is missing")


def case_locale(tmp):
    path = put(tmp, report_document.document())
    plain = expect(tool("report", path, "--out", "-"), 0).out
    for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "POSIX"):
        equal(tool("report", path, "--out", "-", env={"LC_ALL": name}).out,
              plain)


def case_bad_input(tmp):
    page = os.path.join(tmp, "page.html")
    good = report_document.sweep()

    def refused(content, rc, *parts):
        path = os.path.join(tmp, "bad.json")
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes)
                    else json.dumps(content).encode())
        done = expect(tool("report", path, "--out", page), rc, path)
        equal(len(done.err.splitlines()), 1)
        for part in parts:
            contains(done.err, part)
        assert not os.path.exists(page)

    refused(dict(good, schema_version=2), 3, "schema_version 2", "reads 1")
    refused(dict(good, schema_version="1"), 3, "no schema_version")
    refused({}, 3, "no schema_version")
    refused([good], 3, "no schema_version")
    refused(dict(good, command="gen"), 3, "'gen'")
    refused(b"", 3, "is empty")
    refused(json.dumps(good, indent=1).encode()[:200], 3, "line ", "column ")
    refused(b'{"schema_version": 1,\n "command": nul}', 3, "line 2")
    refused(b'{"schema_version": 1, "command": "\xff"}', 3, "line 1")
    refused(b"[" * 100000, 3, "line 1")
    del good["grid"]
    refused(good, 3, "grid is missing")
    full = report_document.document()
    for key in ("result", "result.seconds", "stall", "stall.buckets", "stages",
                "verdict"):
        less = copy.deepcopy(full)
        *way, last = key.split(".")
        del (at(less, way[0]) if way else less)[last]
        refused(less, 3, key + " is missing")
    for key, wrong, words in (("timeline", {}, "a list"),
                              ("phases", [1], "phases[0]"),
                              ("stages", [None], "stages[0]"),
                              ("tuner", "off", "an object"),
                              ("slow_samples", 3, "a list"),
                              ("machine", [], "an object"),
                              ("date", 20261122, "a text"),
                              ("command_line", ["loaderbench"], "a text"),
                              ("options", [], "an object")):
        refused(dict(full, **{key: wrong}), 3, key, words)
    full["result"]["seconds"] = "1.5"
    refused(full, 3, "result.seconds is not a number")
    missing = os.path.join(tmp, "missing.json")
    expect(tool("report", missing, "--out", page), 2, missing)
    expect(tool("report", tmp, "--out", page), 2, "directory")
    path = put(tmp, report_document.sweep())
    beside = path[:-len(".json")] + ".html"
    equal(expect(tool("report", path), 0).out, beside + "\n")
    contains(read(beside), "</html>")
    os.unlink(beside)
    expect(tool("report", "--out", page), 2, "FILE.json... is missing")


def case_anything_anywhere(tmp):
    """Whatever stands in a document: a page that is whole, or a message."""
    seed = int(os.environ.get("FDL_TEST_SEED", "24301"), 0)
    print("FDL_TEST_SEED=%d" % seed)
    dice = random.Random(seed)
    pages = 0
    for i in range(75):
        document = damaged(dice, i)
        page = os.path.join(tmp, "page.html")
        done = tool("report", put(tmp, document), "--out", page)
        assert done.rc in (0, 3), (done.rc, done.err)
        if done.rc == 3:
            equal(len(done.err.splitlines()), 1)
            continue
        pages += 1
        Page(read(page))
    assert 10 < pages < 75, pages


def case_one_bad_of_several(tmp):
    page = os.path.join(tmp, "page.html")
    good = put(tmp, report_document.sweep())
    bad = put(tmp, {"schema_version": 9}, "bad.json")
    expect(tool("report", good, bad, "--out", page), 3, bad)
    assert not os.path.exists(page)


def case_page_cannot_be_written(tmp):
    path = put(tmp, report_document.document())
    expect(tool("report", path, "--out", "/dev/full"), 4, "No space left")
    missing = os.path.join(tmp, "missing", "page.html")
    expect(tool("report", path, "--out", missing), 4, missing)
    # A page that is there stays when the new one does not fit.
    page = os.path.join(tmp, "page.html")
    with open(page, "w", encoding="utf-8") as f:
        f.write("the old page")

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run(
        ["/bin/sh", "-c", "trap '' XFSZ; exec \"$@\"", "-", TOOL, "report",
         path, "--out", page], preexec_fn=small_files, stderr=subprocess.PIPE,
        universal_newlines=True, check=False)
    equal(done.returncode, 4)
    contains(done.stderr, "page.html: File too large")
    equal(read(page), "the old page")
    equal(sorted(os.listdir(tmp)), ["in.json", "page.html"])


if __name__ == "__main__":
    main(globals())
