# SPDX-License-Identifier: Apache-2.0
"""loaderbench report: what is on the page, and what makes none."""
import copy
import html.parser
import json
import os
import random
import re
import resource
import subprocess

import browser
import report_document
from support import (TOOL, contains, damage, equal, expect, generate, main,
                     skip, tool)

VOID = ("meta", "link", "br", "hr", "img", "input")
SHAPES = ("rect", "line", "circle")


def put(tmp, document, name="in.json"):
    path = os.path.join(tmp, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f)
    return path


def made(tmp, *documents):
    """The page of these documents, and its text."""
    page = os.path.join(tmp, "page.html")
    paths = [put(tmp, d, "%d.json" % i) for i, d in enumerate(documents)]
    done = expect(tool("report", *paths, "--out", page), 0)
    equal((done.out, done.err), ("", ""))
    with open(page, encoding="utf-8") as f:
        return page, f.read()


class Page(html.parser.HTMLParser):
    """Elements, whether they are closed as they should be, and their text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.keyed = [], [], {}
        self.text, self.titles, self.embedded = "", [], ""
        self.feed(text)
        self.close()
        equal(self.open, [])

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        equal(len(attrs), len(dict(attrs)), "repeated attributes")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "data":
            float(dict(attrs)["value"])
        if tag == "data" and "data-key" in dict(attrs):
            self.keyed[dict(attrs)["data-key"]] = dict(attrs)["value"]

    def handle_startendtag(self, tag, attrs):
        assert tag in SHAPES, tag
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        equal(tag, self.open.pop())

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.embedded += data
        elif self.open[-1:] == ["title"]:
            self.titles.append(data)
        elif self.open[-1:] != ["style"]:
            self.text += data


def at(document, key):
    for part in key.split("."):
        document = document[part]
    return document


def close(value, expected, what):
    off = abs(float(value) - expected)
    assert off <= 1e-8 * abs(expected), (what, value, expected)


def embeds(text, documents):
    """Not equal(): nobody wants to read that message."""
    assert json.loads(text) == documents, "the embedded data differ"


def has_numbers(page, document):
    """Each number that says where it is from is the one there."""
    assert len(page.keyed) >= 20, page.keyed
    for key, value in page.keyed.items():
        close(value, at(document, key), key)


def case_numbers(tmp):
    document = report_document.document()
    page = Page(made(tmp, document)[1])
    has_numbers(page, document)
    for key in ("result.images_per_second", "stall.host_fraction",
                "stall.device_fraction", "verdict.confidence",
                "verdict.predicted_gain", "headroom.fed", "workers.threads",
                "gaps.period", "tuner.converged_batch"):
        assert key in page.keyed, key
    for part in ("1184", "11.3 %", "355\u202f072", "+13 %", "2.0 GiB", "319 ms",
                 document["verdict"]["sentence"], document["verdict"]["action"],
                 document["verdicts"][0]["sentence"], "9000 × 6000",
                 "trial better by 9.1 %", "log <b>", "(other)", "412 ms",
                 "decoding and augmenting, no core was free"):
        contains(page.text, part)
    embeds(page.embedded, [document])


def case_two_runs_of_a_folder(tmp):
    """Date, host, command line and settings tell them apart."""
    one, other = report_document.document(), report_document.document()
    other.update(date="2026-11-23T10:11:12Z", host="node-<18>",
                 command_line="loaderbench run folder:/data/train --workers 3")
    other["config"]["workers"] = 3
    text = made(tmp, one, other)[1]
    heads = re.findall("<header>.*?</header>", text, re.S)
    equal(len(heads), 2)
    for part in ("2026-11-22 09:08:07 UTC", "<b>node-17</b>", "--json &#39;a b",
                 "batch size <b>", "dtype <b>u8</b>"):
        contains(heads[0], part)
    for part in ("2026-11-23 10:11:12 UTC", "<b>node-&lt;18&gt;</b>",
                 "--workers 3", 'data-key="config.workers">3<'):
        contains(heads[1], part)
    equal(text.count('<td class="date">2026-11-2'), 2)


def case_older_documents(tmp):
    """Those without date, host, command line and options."""
    document = report_document.document()
    for key in ("date", "host", "command_line", "options"):
        del document[key]
    text = made(tmp, document)[1]
    Page(text)
    contains(text, "<title>feedline: folder:/data/train</title>")
    assert "UTC" not in text and 'class="command"' not in text
    for key in ("date", "host", "command_line", "options"):
        document[key] = None
    contains(made(tmp, document)[1], "<title>feedline: folder:/data/train<")


def case_sections(tmp):
    text = made(tmp, report_document.document(), report_document.sweep())[1]
    equal(re.findall("<h2>([^<]*)</h2>", text),
          ["Verdict", "Where the time went", "Over time", "Stages", "Workers",
           "Tuner", "Head-room", "The consumer's own time",
           "Slow samples and long waits", "Samples that could not be used",
           "Machine and settings", "Workers by depth"])


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
          [{"type": "application/json", "id": "feedline-data"}])
    kinds = {tag for tag, _ in page.elements}
    assert not kinds & {"iframe", "object", "embed", "img", "base", "form"}


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
    equal(len([t for t, _ in page.elements if t == "script"]), 1)
    embeds(page.embedded, [document])
    assert "<!--" not in text and "<script>" not in text
    assert "\x07" not in text and "\x1b" not in text and "\u202e" not in text
    contains(page.text, "alert(1)")


def case_every_bar_has_words(tmp):
    text = made(tmp, report_document.document())[1]
    bars = re.findall("<g><title>([^<]*)</title>", text)
    over_time = [b for b in bars if re.match(r"[0-9.]+ to [0-9.]+ s: waited",
                                             b)]
    equal(len(over_time), 100)
    contains(over_time[0], "decoding and augmenting ")
    for tag, attributes in Page(text).elements:
        if tag == "svg":
            assert ("aria-label" in attributes or
                    attributes.get("aria-hidden") == "true"), attributes


def bar(text, label):
    """The parts of a bar: class, words and width in per cent."""
    drawn = re.search('aria-label="%s">(.*?)</svg>' % label, text, re.S)
    return {css: (words, float(width)) for words, width, css in re.findall(
        r'<title>([^:<]*):[^<]*</title><rect x="[^"]*" width="([0-9.]+)%" '
        r'height="36" class="([^"]*)"', drawn.group(1))}


def case_wait_for_decoding_is_split(tmp):
    document = report_document.document()
    stall = document["stall"]
    stall["buckets"] = dict.fromkeys(report_document.BUCKETS, 0.0)
    stall["buckets"].update(prep=16.0, wake=4.0)
    stall["prep"] = {"cpu_seconds": 3.0, "runq_seconds": 10.0,
                     "throttle_seconds": 2.0, "sleep_seconds": 1.0}
    label = "The consumer's waits by cause"
    parts = bar(made(tmp, document)[1], label)
    equal({css: width for css, (_, width) in parts.items()},
          {"c-cpu": 15.0, "c-runq": 50.0, "c-throttle": 10.0, "c-sleep": 5.0,
           "c-wake": 20.0})
    equal(parts["c-runq"][0], "decoding and augmenting, no core was free")
    # Without the split, and with a split of a part of it.
    stall["prep"] = None
    parts = bar(made(tmp, document)[1], label)
    equal({css: width for css, (_, width) in parts.items()},
          {"c-prep": 80.0, "c-wake": 20.0})
    stall["prep"] = {"cpu_seconds": 12.0}
    parts = bar(made(tmp, document)[1], label)
    equal({css: width for css, (_, width) in parts.items()},
          {"c-cpu": 60.0, "c-prep": 20.0, "c-wake": 20.0})


def case_a_colour_means_one_thing(tmp):
    """Those of the consumer's time, the causes and the workers' split."""
    text = made(tmp, report_document.document())[1]
    names = ["wait", "cpu", "runq", "throttle", "sleep"]
    fills = dict(re.findall(r"\.c-(\w+){fill:var\(--(\w+)\)}", text))
    for scheme in re.findall(r":root{([^}]*)}", text)[:2]:
        colours = dict(re.findall(r"--(\w+):#([0-9a-f]+)", scheme))
        seen = [colours[fills.get(name, name)]
                for name in names + report_document.BUCKETS]
        equal(len(seen), len(set(seen)), seen)


def case_columns_are_means(tmp):
    """1200 points are drawn as 100 columns of 12."""
    document = report_document.document()
    text = made(tmp, document)[1]
    table = text[text.index("Values of the 100 columns"):]
    row = re.search("<tbody>\n<tr>(.*?)</tr>", table, re.S).group(1)
    values = re.findall('<data value="([^"]*)"', row)
    points = document["timeline"][:12]
    close(values[0], points[-1]["seconds"], "seconds")
    close(values[1], sum(p["images_per_second"] for p in points) / 12, "rate")
    close(values[2], sum(p["host_fraction"] for p in points) / 12, "host")


def case_sweep(tmp):
    document = report_document.sweep()
    text = made(tmp, document)[1]
    shown = {float(v) for v in re.findall('<data value="([^"]*)"', text)}
    for point in document["grid"]:
        assert any(abs(point["images_per_second"] - v) < 1e-5 for v in shown)
    equal(text.count("<b>knee</b>"), 1)


def case_sweep_as_curves(tmp):
    """A point each, in the row of its depth; the knee is ringed once."""
    document = report_document.sweep()
    page = Page(made(tmp, document)[1])
    points = [a for t, a in page.elements
              if t == "circle" and a["class"] != "ring"]
    equal(len(points), len(document["grid"]))
    depths = {p["depth"] for p in document["grid"]}
    equal({a["class"] for a in points}, {"s%d" % i for i in range(len(depths))})
    heights = {}
    for point, circle in zip(sorted(document["grid"],
                                    key=lambda p: (p["depth"], p["workers"])),
                             points):
        heights[point["images_per_second"]] = float(circle["cy"])
    ordered = [y for _, y in sorted(heights.items())]
    equal(ordered, sorted(ordered, reverse=True))
    equal(len([a for t, a in page.elements
               if t == "circle" and a["class"] == "ring"]), 0)
    document["knee"] = document["grid"][22]
    page = Page(made(tmp, document)[1])
    equal(len([a for t, a in page.elements
               if t == "circle" and a["class"] == "ring"]), 1)


def case_io_depths_stand_apart(tmp):
    document = report_document.sweep()
    document["grid"] = [dict(p, io_depth=io) for p in document["grid"]
                        for io in (4, 64)]
    document["knee"] = document["grid"][44]
    document["settings"] = {"io_depth_varied": True}
    page, text = made(tmp, document)
    for io in (4, 64):
        contains(text, "<h3>I/O depth %d</h3>" % io)
    equal(text.count("<b>knee</b>"), 1)
    equal(text.count('class="heatmap"'), 2)
    Page(text)


def case_tune(tmp):
    document = report_document.tune()
    text = made(tmp, document)[1]
    page = Page(text)
    for key in ("tuner.converged_batch", "tune.steady.images_per_second",
                "tune.steady.images_per_cpu_second", "sweep_best.workers",
                "comparison.tuned.images_per_second",
                "comparison.below_fraction", "comparison.error_fraction",
                "knee.images_per_second"):
        assert key in page.keyed, key
    has_numbers(page, document)
    for line in document["tune"]["story"]:
        contains(page.text, line[2:] if line.startswith("- ") else line)
    for part in ("the model asks for <b>5</b>", "rolled back", "+33 %",
                 "the fewest workers < all"):
        contains(page.text, part)
    rows = text[text.index("Decisions of the tuner"):]
    rows = rows[:rows.index("</table>")]
    equal(rows.count("<tr>"), 1 + len(document["tuner"]["decisions"]))
    values = {float(v) for v in re.findall('<data value="([^"]*)"', rows)}
    for decision in document["tuner"]["decisions"]:
        for key in ("seconds", "batch", "before", "after", "predicted",
                    "measured", "error", "stall_before", "stall_after"):
            if decision[key] is not None:
                assert decision[key] in values, (key, decision)
    embeds(page.embedded, [document])


def case_decisions_count_from_the_beginning(tmp):
    """Marks stand in the chart's time, which begins behind the warm-up."""
    document = report_document.tune()

    def marks(begin):
        document["run"]["begin_seconds"] = begin
        page = Page(made(tmp, document)[1])
        return [float(a["x1"][:-1]) for t, a in page.elements
                if t == "line" and a.get("class") == "mark"]

    at_once, later = marks(0.0), marks(1.0)
    assert at_once and len(at_once) == len(later), (at_once, later)
    for a, b in zip(at_once, later):
        assert abs(a - b - 100 * 1.0 / 300) < 0.01, (a, b)


def case_other_commands(tmp):
    head = {"schema_version": 1, "version": "0.1.0"}
    doctor = dict(head, command="doctor", host="node-17", findings=[
        {"id": "memlock", "level": "warning", "text": "8 MiB <only>",
         "remedy": "ulimit -l unlimited"}], facts={"memlock_bytes": 8388608})
    tune = dict(head, command="tune",
                tuner=report_document.document()["tuner"])
    text = made(tmp, doctor, tune)[1]
    contains(text, "<h1>node-17</h1>")
    text = Page(text).text
    for part in ("8 MiB <only>", "ulimit -l unlimited", "8.0 MiB",
                 "equal, with fewer"):
        contains(text, part)


def short_documents():
    """Of the commands that find a sentence and a table."""
    head = {"schema_version": 1, "version": "0.1.0", "host": "node-17"}
    side = {"step_ms": 28.5, "stall_fraction": 0.0125, "workers": 4,
            "images_per_second": 2245.5}
    return {
        "compare": dict(head, command="compare", metric="max_rss_bytes",
                        before=2 ** 20, after=2 ** 21, change_fraction=1.0,
                        noise_fraction=None, fail_below=0.03,
                        differences=["workers", "<depth>"], verdict="fail"),
        "merge": dict(head, command="merge", ranks=[
            {"rank": i, "file": "r%d<.json" % i, "images_per_second": 100 + i,
             "step_ms": 10.5, "wait_ms": 3.25 * i, "host_fraction": 0.25,
             "device_fraction": None, "verdict": "FED"} for i in (0, 1)],
            straggler={"rank": 1, "cause": "LOCK_BOUND",
                       "loader_at_fault": True}),
        "headroom": dict(head, command="headroom", uri="folder:/d", now=side,
                         predicted={"fed": 99.0, "two_workers": 0.5},
                         measured={"fed": 0.25, "two_workers": None},
                         fed=dict(side, workers=3), two_workers=None,
                         verdict=report_document.verdicts()[0]),
        "case": dict(head, command="case", name="v100", sentence="It <was>.",
                     before=dict(side, what="in series", workers=0),
                     after=dict(side, what="tuned"), points=[side])}


def case_sentence_and_table(tmp):
    documents = short_documents()
    text = made(tmp, *documents.values())[1]
    page = Page(text)
    for part in ("Fail: worse by more", "1.0 MiB", "2.0 MiB", "100.0 %",
                 "measure both with --repeat", "workers, <depth>",
                 "Rank 1 holds up the others: it waits for its loader "
                 "(LOCK_BOUND).", "r1<.json1", "folder:/d", "100 times",
                 "+25 %",
                 "before: in series", "after: tuned", "It <was>.", "28.5"):
        contains(page.text, part)
    equal(re.findall("<h1>([^<]*)</h1>", text)[2:], ["folder:/d", "v100"])
    documents["compare"]["verdict"] = "pass"
    documents["merge"]["straggler"] = None
    text = made(tmp, *documents.values())[1]
    contains(text, "Pass: not worse")
    contains(text, "No rank holds up the others.")


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


def case_slow_files_once(tmp):
    """The worst time of each file, without the folder that all are in."""
    document = report_document.document()
    one = document["slow_samples"][1]
    document["slow_samples"] = [
        dict(one, path="/data/tr/a/x.jpg", total_us=900000.0),
        dict(one, path="/data/tr/ab/<y>.jpg", total_us=800000.0),
        dict(one, path="/data/tr/a/x.jpg", total_us=700000.0)]
    document["outliers"] = None
    note = "because its worker was put off the core"
    text = made(tmp, document)[1]
    contains(text, "<code>/data/tr/</code>")
    equal(re.findall('<tr><td class="path">([^<]*)</td>', text)[:2],
          ["a/x.jpg", "ab/&lt;y&gt;.jpg"])
    assert ">900 ms<" in text and ">700 ms<" not in text
    assert note not in text
    document["workers"]["runq_seconds"] = 1702.5
    contains(made(tmp, document)[1], note)


def case_no_device_no_rows_of_it(tmp):
    document = report_document.document()
    contains(made(tmp, document)[1], "a bus of twice the speed")
    document["transfer"] = None
    document["stages"][4].update(p50_us=0, p90_us=0, p99_us=0, max_us=0)
    document["stall"]["buckets"]["transfer_queue"] = 1e-6
    text = made(tmp, document)[1]
    assert "a bus of twice the speed" not in text
    assert '<th scope="row">transfer</th>' not in text
    assert "<span>waiting to be copied to the device</span><b>" not in text


def case_two_large_numbers(tmp):
    document = report_document.document()
    for device, large in ((0.1, "stall.device_fraction"),
                          (None, "stall.host_fraction")):
        document["stall"]["device_fraction"] = device
        text = made(tmp, document)[1]
        tiles = re.search('<ul class="tiles".*?</ul>', text, re.S).group(0)
        equal(re.findall('data-key="([^"]*)"', tiles),
              ["result.images_per_second", large])
        line = re.search('<p class="numbers">.*?</p>', text, re.S).group(0)
        equal("stall.host_fraction" in line, device is not None)
        contains(line, "</b> failed samples")


def case_round_ticks(tmp):
    document = report_document.document()
    for point in document["timeline"]:
        point["seconds"] *= 7.61 / 300
    text = made(tmp, document)[1]
    equal(re.findall(r'text-anchor="\w+">([0-9.]+ s)</text>', text)[:4],
          ["0 s", "2 s", "4 s", "6 s"])


def case_findings_worst_first(tmp):
    found = [("a_note", "note"), ("in_order", "ok"), ("an_error", "error"),
             ("of_later", "disaster"), ("a_warning", "warning")]
    doctor = {"schema_version": 1, "command": "doctor", "version": "0.1.0",
              "findings": [{"id": name, "level": level, "text": "t",
                            "remedy": "r"} for name, level in found]}
    text = made(tmp, doctor)[1]
    Page(text)
    equal(re.findall(r'<td class="badge (\w+)">.*?</span> (\w+)</td>'
                     r"<td>([a-z ]*)</td>", text),
          [("high", "error", "an error"), ("moderate", "warning", "a warning"),
           ("unknown", "note", "a note"), ("unknown", "disaster", "of later"),
           ("fed", "ok", "in order")])
    contains(text, "<summary>1 in order</summary>")
    doctor["findings"] = doctor["findings"][1:2]
    contains(made(tmp, doctor)[1], "Nothing is wrong.")


def facts(text):
    return dict(re.findall("<dt>([^<]*)</dt><dd>(?:<data[^>]*>)?([^<]*)", text))


def case_machine_in_words(tmp):
    document = report_document.document()
    document["machine"] = {"cpus_online": 8, "cpus_allowed": 8,
                           "cpus_usable": 4, "cpu_quota": None,
                           "memory_bytes": 2 ** 34,
                           "memory_limit_bytes": 2 ** 34, "new_key": 7}
    document["signals"] = {"psi_cpu_some": 0.938, "host_busy": 1,
                           "consumer_cores": 0.000576, "foreign_name": "",
                           "throttled_seconds": 0, "throttled_fraction": 0,
                           "memory_bytes": 2 ** 30, "quota_cores": 4.0}
    document["config"] = {"sink": None, "trace": "", "seed": 3}
    del document["run"], document["options"]
    equal(facts(made(tmp, document)[1]), {
        "cores of the machine": "8", "cores usable at once": "4",
        "memory of the machine": "16.0 GiB", "new key": "7",
        "some task waited for a core": "93.8 %",
        "load of the machine&#39;s cores": "100.0 %",
        "cores used by the consumer&#39;s thread": "0.000576",
        "stopped by the CPU quota": "0.0 %",
        "memory used by this process": "1.0 GiB", "seed": "3"})


def only_numbers(text):
    """No place in a drawing that is none."""
    found = re.search(r'"-?(nan|inf)[%"]', text)
    assert not found, text[found.start() - 200:found.end()]


def case_least_document(tmp):
    full = report_document.document()
    least = {k: full[k] for k in ("schema_version", "command")}
    least["result"] = {k: full["result"][k] for k in
                       ("images", "batches", "seconds", "images_per_second")}
    least["stall"] = {"host_fraction": 0, "buckets": {}}
    least["stages"] = []
    least["verdict"] = None
    Page(made(tmp, least)[1])
    # Zeros, and numbers as large as they come, are no trouble either.
    for value in (0, 1e300, -1e300, 2 ** 62):
        strange = copy.deepcopy(full)
        for key in strange["result"]:
            strange["result"][key] = value
        for stage in strange["stages"]:
            stage.update({k: value for k in stage if k != "name"})
        for point in strange["timeline"][::2]:
            point.update({k: value for k in point if k != "buckets"})
        text = made(tmp, strange)[1]
        Page(text)
        only_numbers(text)


def case_real_run(tmp):
    folder = generate(tmp)
    damage(folder, 1)
    page, numbers = os.path.join(tmp, "a.html"), os.path.join(tmp, "a.json")
    expect(tool("run", folder, "--epochs", 3, "--batch-size", 5, "--on-error",
                "zero", "--report", page, "--json", numbers), 0)
    with open(numbers, encoding="utf-8") as f:
        document = json.load(f)
    with open(page, encoding="utf-8") as f:
        parsed = Page(f.read())
    for key, value in parsed.keyed.items():
        close(value, at(document, key), key)
    embeds(parsed.embedded, [document])
    contains(parsed.text, folder)
    contains(parsed.text, "class_")
    # The same from the file.
    again = os.path.join(tmp, "b.html")
    expect(tool("report", numbers, "--out", again), 0)
    with open(again, encoding="utf-8") as f:
        embeds(Page(f.read()).embedded, [document])
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


def case_locale(tmp):
    path = put(tmp, report_document.document())
    plain = expect(tool("report", path, "--out", "-"), 0).out
    for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "POSIX"):
        equal(tool("report", path, "--out", "-", env={"LC_ALL": name}).out,
              plain)


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

    schemes = re.findall(r":root{([^}]*)}", text)[:2]
    equal(len(schemes), 2)
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+):#([0-9a-f]+)", scheme))
        for under in ("card", "paper"):
            for ink in ("ink", "soft", "accent", "fed", "minor", "moderate",
                        "high", "unknown"):
                pair = sorted((light(colours[under]), light(colours[ink])))
                ratio = (pair[1] + 0.05) / (pair[0] + 0.05)
                assert ratio >= 4.5, (ink, under, ratio)


def case_in_a_browser(tmp):
    program = browser.find()
    if not program:
        skip("there is no Chromium")
    documents = [report_document.document(), report_document.sweep(),
                 report_document.tune(), *short_documents().values()]
    page = made(tmp, *documents)[0]
    b = browser.Browser(program)
    try:
        for width, scheme in ((390, "dark"), (1280, "light")):
            b.look_like(width, scheme)
            b.open(page)
            equal(b.requests(), [])
            equal(b.complaints(), [])
            # Nothing sticks out: only tables scroll, in themselves.
            equal(b.value("document.documentElement.scrollWidth"), width)
            equal(b.value("[...document.querySelectorAll('h2, p, li, svg')]"
                          ".filter(e => e.getBoundingClientRect().right > "
                          "innerWidth + 1).length"), 0)
        equal(b.value("document.title"), "feedline: folder:/data/train, "
              "2026-11-22 09:08:07 UTC and 6 more")
        embeds(b.value("document.getElementById('feedline-data').textContent"),
               documents)
        shown = b.value("[...document.querySelectorAll('#run-1 [data-key]')]"
                        ".map(e => [e.dataset.key, e.value, e.textContent])")
        assert len(shown) >= 20, shown
        for key, value, text in shown:
            close(value, at(documents[0], key), key)
            assert re.match(r"[+-]?[0-9]", text), (key, text)
        # That a request or an error would have been seen:
        b.value("console.error('seen'); new Image().src = 'http://seen/'; 0")
        assert any("seen" in c for c in b.complaints()), b.events
        b.look_like(720, media="print")
        b.open(page)
        equal(b.complaints(), [])
    finally:
        b.close()


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
    with open(beside, encoding="utf-8") as f:
        contains(f.read(), "</html>")
    os.unlink(beside)
    expect(tool("report", "--out", page), 2, "FILE.json... is missing")


def places(value, way=()):
    """Where something is in a document."""
    if isinstance(value, (dict, list)):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield way + (key,)
            yield from places(value[key], way + (key,))


def case_anything_anywhere(tmp):
    """Whatever stands in a document: a page that is whole, or a message."""
    seed = int(os.environ.get("FDL_TEST_SEED", "24301"), 0)
    print("FDL_TEST_SEED=%d" % seed)
    dice = random.Random(seed)
    wholes = (report_document.document(), report_document.tune(),
              *short_documents().values())
    for whole in wholes[:2]:
        whole["timeline"] = whole["timeline"][::60]
    pages = 0
    for i in range(150):
        document = copy.deepcopy(wholes[i % len(wholes)])
        for _ in range(dice.choice((1, 1, 3, 9))):
            *way, last = dice.choice(list(places(document)))
            place = document
            for key in way:
                place = place[key]
            place[last] = dice.choice((None, True, -1, 0, 1e308, 1e-308, "", {},
                                       "<b>", [], [[]], [None], {"": {}},
                                       "x" * 5000, [1e308] * 100))
        page = os.path.join(tmp, "page.html")
        done = tool("report", put(tmp, document), "--out", page)
        assert done.rc in (0, 3), (done.rc, done.err)
        if done.rc == 3:
            equal(len(done.err.splitlines()), 1)
            continue
        pages += 1
        with open(page, encoding="utf-8") as f:
            text = f.read()
        Page(text)
        only_numbers(text)
    assert 20 < pages < 150, pages


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
    with open(page, encoding="utf-8") as f:
        equal(f.read(), "the old page")
    equal(sorted(os.listdir(tmp)), ["in.json", "page.html"])


if __name__ == "__main__":
    main(globals())
