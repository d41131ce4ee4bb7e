# SPDX-License-Identifier: Apache-2.0
"""What the script of a report's page draws, in a browser."""
import json
import os
import random
import re
import subprocess

import report_document
from report_page import (Shown, at, close, damaged, embeds, extremes,
                         has_numbers, short_documents)
from support import (contains, damage, equal, expect, generate, main, put, skip,
                     tool)

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)><!--"


def case_numbers(tmp):
    document = report_document.document()
    page = Shown(tmp, document)
    has_numbers(page, document)
    for key in ("result.images_per_second", "stall.host_fraction",
                "stall.device_fraction", "verdict.confidence",
                "verdict.predicted_gain", "headroom.fed", "workers.threads",
                "gaps.period", "tuner.converged_batch"):
        assert key in page.keyed, key
    for part in ("1184", "11.3 %", "355\u202f072", "+13 %", "2.0 GiB", "319 ms",
                 document["verdict"]["sentence"], document["verdict"]["action"],
                 document["verdicts"][0]["sentence"], "9000 × 6000",
                 "trial better by 9.1 %", "log <b>", "(other)", "413 ms",
                 "decoding and augmenting, no core was free"):
        contains(page.text, part)
    embeds(page.value("document.getElementById('feedline-data').textContent"),
           [document])


def case_what_is_to_be_typed(tmp):
    document = report_document.document()
    document["verdict"]["action"] = "Store them: `loaderbench pack -x`; or not."
    page = Shown(tmp, document)
    contains(page.text, "Store them: loaderbench pack -x; or not.")
    equal(page.each(".action code"), ["loaderbench pack -x"])


def case_without_script(tmp):
    document = report_document.document()
    page = Shown(tmp, document, script=False)
    has_numbers(page, document, 12)
    equal(page.each("h2"), ["Stages"])
    visible = page.value("document.body.innerText")
    for part in (document["verdict"]["sentence"], "1184",
                 "need the script that the page carries"):
        contains(" ".join(visible.split()), part)


def case_two_runs_of_a_folder(tmp):
    """Date, host, command line and settings tell them apart."""
    one, other = report_document.document(), report_document.document()
    other.update(date="2026-11-23T10:11:12Z", host="node-<18>",
                 command_line="loaderbench run folder:/data/train --workers 3")
    other["config"]["workers"] = 3
    page = Shown(tmp, one, other)
    equal(len(page.each("header")), 2)
    heads = page.each("article")
    for part in ("2026-11-22 09:08:07 UTC", "on node-17", "--json 'a b'",
                 "batch size 256", "dtype u8"):
        contains(heads[0], part)
    for part in ("2026-11-23 10:11:12 UTC", "on node-<18>", "--workers 3",
                 "workers 3 ·"):
        contains(heads[1], part)
    rows = page.rows("Documents")
    equal([[os.path.basename(r[0])] + r[1:3] for r in rows], [
        ["0.json", "run", "2026-11-22 09:08:07 UTC"],
        ["1.json", "run", "2026-11-23 10:11:12 UTC"]], rows)
    equal(page.each("nav a", "document.querySelector(e.getAttribute('href'))"
                    ".localName"), ["article", "article"])


def case_sections(tmp):
    page = Shown(tmp, report_document.document(), report_document.sweep())
    equal(page.each("h2"),
          ["Verdict", "Where the time went", "Over time", "Stages", "Workers",
           "Tuner", "Headroom", "The consumer's own time",
           "Slow samples and long waits", "Samples that could not be used",
           "Machine and settings", "Workers by depth"])


def case_answer_first(tmp):
    """What it is about, the verdict, the numbers; how it was measured below."""
    page = Shown(tmp, report_document.document())
    equal(page.each("article > *", "e.className || e.localName")[:5],
          ["header", "verdict moderate", "tiles", "numbers", "settings"])


def case_what_it_feeds(tmp):
    document = report_document.document()
    document["model"] = {
        "name": "resnet50@a100", "words": "ResNet-50 on an A100",
        "images_per_second": 2470.0, "loads_per_second": 1184.0,
        "fed_fraction": 0.479, "at_least": False, "more_cores": 7,
        "source": {"name": "NVIDIA", "date": "2021-03", "version": "21.03",
                   "url": "https://example.org/a?b=<c>", "what": "a table"}}
    page = Shown(tmp, document)
    has_numbers(page, document)
    for part in ("What it feeds: ResNet-50 on an A100",
                 "loads 1184 images/s, which is 0.479 of the 2470",
                 "about 7 more cores.", "https://example.org/a?b=<c>"):
        contains(page.text, part)
    equal(page.each("main [href]"), [])
    document["model"].update(fed_fraction=1.5, at_least=True, more_cores=0)
    page = Shown(tmp, document)
    contains(page.text, "at least 1184 images/s, which is 1.5 of")
    assert "more core" not in page.text
    document["model"].update(fed_fraction=0.5, more_cores=None)
    contains(Shown(tmp, document).text, "More cores would not help")


def case_one_of_something(tmp):
    """In the singular, and without a column that has nothing in it."""
    document = report_document.document()
    document["gaps"]["count"] = 1
    document["outliers"].update(count=1, median_wait_us=0)
    for wait in document["outliers"]["last"]:
        wait["path"] = None
    page = Shown(tmp, document)
    contains(page.text, "in 1 step the consumer")
    contains(page.text, "most batches were there at once")
    equal({len(row) for row in page.rows("Long waits")}, {5})
    assert "because of" not in page.text, page.text


def case_documents_of_different_kinds(tmp):
    """There is nothing to compare, so they are named in a line."""
    doctor = {"schema_version": 1, "command": "doctor", "findings": []}
    page = Shown(tmp, report_document.document(), doctor)
    equal(page.each("nav table"), [])
    equal(len(page.each("nav a")), 2)


def case_accessible(tmp):
    """axe-core finds nothing on a page with everything on it."""
    checker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                           "accessibility", "accessible")
    if not os.path.exists(checker):
        skip("no tests/accessibility")
    document = report_document.document()
    document["model"] = {"words": "ResNet-50 on an A100", "fed_fraction": 0.5,
                         "images_per_second": 2470.0, "more_cores": 2,
                         "loads_per_second": 1184.0}
    pages = []
    for name, documents in (
            ("one", [document]), ("two", [document, report_document.tune()]),
            ("mixed", [document, report_document.sweep()])):
        paths = [put(tmp, d, "%s%d.json" % (name, i))
                 for i, d in enumerate(documents)]
        pages.append(os.path.join(tmp, name + ".html"))
        expect(tool("report", *paths, "--out", pages[-1]), 0)
    done = subprocess.run([checker] + pages, stdout=subprocess.PIPE,
                          universal_newlines=True, check=False)
    if done.returncode == 77:
        skip(done.stdout.strip().replace("skipped: ", ""))
    equal(done.returncode, 0, done.stdout)


def case_hostile_texts(tmp):
    """Whatever a document says is text: nothing of it becomes an element."""
    document = report_document.document()
    document["dataset"]["uri"] = HOSTILE
    document["command_line"] = document["host"] = document["date"] = HOSTILE
    document["config"]["reader"] = HOSTILE
    document["verdict"].update(sentence=HOSTILE, code=HOSTILE, level=HOSTILE,
                               evidence={HOSTILE: HOSTILE})
    document["stages"][0]["name"] = HOSTILE
    document["phases"][0]["name"] = HOSTILE
    document["outliers"]["last"][0]["cause"] = "constructor"
    document["signals"] = {HOSTILE: HOSTILE, "__proto__": 1, "toString": "x"}
    document["tuner"]["decisions"] = [HOSTILE, {HOSTILE: [HOSTILE, None, True]}]
    page = Shown(tmp, document)
    equal(page.each("script", "e.type"), ["application/json", ""])
    equal(page.each("img, iframe, object, embed, base, form, [onerror]"), [])
    equal(page.each(".undrawn"), [])
    equal(page.each("h1"), [HOSTILE])
    assert page.text.count(HOSTILE) >= 10, page.text.count(HOSTILE)
    drawn = "".join(page.each("main, title"))
    assert not set(drawn) & set("\x07\x1b\u202e"), drawn
    equal(page.each("[href]", "e.getAttribute('href')"), ["data:,"])
    # A script that found its way into the page would not run.
    page.value("{const s = document.createElement('script'); "
               "s.textContent = 'window.ran = true'; document.body.append(s)}")
    equal(page.value("window.ran === undefined"), True)
    assert any("Content Security Policy" in c
               for c in page.browser.complaints())


def case_absent_keys(tmp):
    """A key of a later version that is absent takes nothing else away."""
    full = report_document.tune()
    full["timeline"] = full["timeline"][::60]
    needed = {"schema_version", "command", "tuner"}
    absent = sorted(set(full) - needed)
    page = Shown(tmp, *({k: v for k, v in full.items() if k != key}
                        for key in absent))
    equal(page.each(".undrawn"), [])
    articles = page.each("article")
    equal(len(articles), len(absent))
    for key, article in zip(absent, articles):
        contains(article, "depth 14")
        if key != "verdict":
            contains(article, full["verdict"]["sentence"])
    page = Shown(tmp, {k: full[k] for k in needed})
    equal(page.each("h2"), ["Tuner"])
    needed |= {"version"}
    null = Shown(tmp, {k: v if k in needed else None for k, v in full.items()})
    equal(null.each("h2"), ["Tuner"])


def case_every_bar_has_words(tmp):
    page = Shown(tmp, report_document.document())
    bars = page.each("g > title")
    over_time = [b for b in bars if re.match(r"[0-9.]+ to [0-9.]+ s: waited",
                                             b)]
    equal(len(over_time), 100)
    contains(over_time[0], "decoding and augmenting ")
    equal(page.each("svg:not([aria-label]):not([aria-hidden=true])"), [])
    equal(page.each("svg[aria-label]:not([role=img])"), [])


def bar(page, label):
    """The parts of a bar: class, words and width in per cent."""
    return {css: (words.split(":")[0], float(width[:-1]))
            for words, width, css in page.each(
                "svg[aria-label=\"%s\"] g" % label,
                "[e.querySelector('title').textContent, "
                "...['width', 'class'].map(n => e.querySelector('rect')"
                ".getAttribute(n))]")}


def case_wait_for_decoding_is_split(tmp):
    document = report_document.document()
    stall = document["stall"]
    stall["buckets"] = dict.fromkeys(report_document.BUCKETS, 0.0)
    stall["buckets"].update(prep=16.0, wake=4.0)
    label = "The consumer's waits by cause"

    def widths(split):
        stall["prep"] = split
        parts = bar(Shown(tmp, document), label)
        return {css: width for css, (_, width) in parts.items()}, parts

    drawn, parts = widths({"cpu_seconds": 3.0, "runq_seconds": 10.0,
                           "throttle_seconds": 2.0, "sleep_seconds": 1.0})
    equal(drawn, {"c-cpu": 15.0, "c-runq": 50.0, "c-throttle": 10.0,
                  "c-sleep": 5.0, "c-wake": 20.0})
    equal(parts["c-runq"][0], "decoding and augmenting, no core was free")
    # Without the split, and with a split of a part of it.
    equal(widths(None)[0], {"c-prep": 80.0, "c-wake": 20.0})
    equal(widths({"cpu_seconds": 12.0})[0],
          {"c-cpu": 60.0, "c-prep": 20.0, "c-wake": 20.0})


def case_columns_are_means(tmp):
    """1200 points are drawn as 100 columns of 12."""
    document = report_document.document()
    page = Shown(tmp, document)
    contains(page.text, "Values of the 100 columns")
    values = page.values("[aria-label='Values over time'] tbody "
                         "tr:first-child")
    points = document["timeline"][:12]
    close(values[0], points[-1]["seconds"], "seconds")
    close(values[1], sum(p["images_per_second"] for p in points) / 12, "rate")
    close(values[2], sum(p["host_fraction"] for p in points) / 12, "host")


def case_sweep(tmp):
    """Each point in the table and as a point of the curve of its depth."""
    document = report_document.sweep()
    page = Shown(tmp, document)
    shown = page.values(".heatmap")
    for point in document["grid"]:
        assert any(abs(point["images_per_second"] - v) < 1e-5 for v in shown)
    equal([b for b in page.each(".heatmap b") if b == "knee"], ["knee"])
    heats = page.each(".heat", "parseFloat(e.style.getPropertyValue('--heat'))")
    assert len(set(heats)) > 5 and max(heats) == 50, heats
    circles = page.each("circle:not(.ring)", "[e.getAttribute('class'), "
                        "parseFloat(e.getAttribute('cy'))]")
    equal(len(circles), len(document["grid"]))
    depths = {p["depth"] for p in document["grid"]}
    equal({css for css, _ in circles}, {"s%d" % i for i in range(len(depths))})
    heights = {}
    for point, (_, y) in zip(sorted(document["grid"],
                                    key=lambda p: (p["depth"], p["workers"])),
                             circles):
        heights[point["images_per_second"]] = y
    ordered = [y for _, y in sorted(heights.items())]
    equal(ordered, sorted(ordered, reverse=True))
    knee = next(p for p in document["grid"]
                if (p["workers"], p["depth"]) == (6, 8))
    equal(page.each(".ring", "parseFloat(e.getAttribute('cy'))"),
          [heights[knee["images_per_second"]]])
    document["knee"] = None
    equal(Shown(tmp, document).each(".ring"), [])


def case_io_depths_stand_apart(tmp):
    document = report_document.sweep()
    document["grid"] = [dict(p, io_depth=io) for p in document["grid"]
                        for io in (4, 64)]
    document["knee"] = document["grid"][44]
    document["settings"] = {"io_depth_varied": True}
    page = Shown(tmp, document)
    equal([t for t in page.each("h3") if "I/O depth" in t],
          ["I/O depth 4", "I/O depth 64"])
    equal([b for b in page.each(".heatmap b") if b == "knee"], ["knee"])
    equal(len(page.each(".heatmap")), 2)
    equal(len(page.each(".ring")), 1)


def case_tune(tmp):
    document = report_document.tune()
    page = Shown(tmp, document)
    for key in ("tuner.converged_batch", "tune.steady.images_per_second",
                "tune.steady.images_per_cpu_second", "sweep_best.workers",
                "comparison.tuned.images_per_second",
                "comparison.below_fraction", "comparison.error_fraction",
                "knee.images_per_second"):
        assert key in page.keyed, key
    has_numbers(page, document)
    for line in document["tune"]["story"]:
        contains(page.text, line[2:] if line.startswith("- ") else line)
    equal(len(page.each(".story li")), 2)
    for part in ("the model asks for <b>5</b>", "rolled back", "+33 %",
                 "the fewest workers < all"):
        contains(page.text, part)
    label = "Decisions of the tuner"
    equal(len(page.rows(label)), len(document["tuner"]["decisions"]))
    values = page.values("[aria-label='%s']" % label)
    for decision in document["tuner"]["decisions"]:
        for key in ("seconds", "batch", "before", "after", "predicted",
                    "measured", "error", "stall_before", "stall_after"):
            if decision[key] is not None:
                assert decision[key] in values, (key, decision)


def case_decisions_count_from_the_beginning(tmp):
    """Marks stand in the chart's time, which begins behind the warm-up."""
    document = report_document.tune()

    def marks(begin):
        document["run"]["begin_seconds"] = begin
        return Shown(tmp, document).each(
            "line.mark", "parseFloat(e.getAttribute('x1'))")

    at_once, later = marks(0.0), marks(1.0)
    assert at_once and len(at_once) == len(later), (at_once, later)
    for a, b in zip(at_once, later):
        assert abs(a - b - 100 * 1.0 / 300) < 0.01, (a, b)


def case_sentence_and_table(tmp):
    documents = short_documents()
    page = Shown(tmp, *documents.values())
    for part in ("Fail: worse by more", "1.0 MiB", "2.0 MiB", "100.0 %",
                 "measure both with --repeat", "workers, <depth>",
                 "Rank 1 holds up the others: it waits for its loader "
                 "(LOCK_BOUND).", "r1<.json1", "folder:/d", "100 times",
                 "+25 %",
                 "before: in series", "after: tuned", "It <was>.", "28.5"):
        contains(page.text, part)
    equal(page.each("h1")[2:], ["folder:/d", "v100"])
    documents["compare"]["verdict"] = "pass"
    documents["merge"]["straggler"] = None
    page = Shown(tmp, *documents.values())
    contains(page.text, "Pass: not worse")
    contains(page.text, "No rank holds up the others.")
    documents["merge"]["straggler"] = {"rank": 0, "loader_at_fault": False}
    contains(Shown(tmp, documents["merge"]).text,
             "its loader is not the cause")


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
    page = Shown(tmp, document)
    contains(page.section("Slow samples and long waits"), "Files in /data/tr/")
    equal([r[0] for r in page.rows("Slow samples")],
          ["a/x.jpg", "ab/<y>.jpg"])
    assert "900 ms" in page.text and "700 ms" not in page.text
    assert note not in page.text
    document["workers"]["runq_seconds"] = 1702.5
    contains(Shown(tmp, document).text, note)


def case_no_device_no_rows_of_it(tmp):
    document = report_document.document()
    contains(Shown(tmp, document).text, "a bus of twice the speed")
    document["transfer"] = None
    document["stages"][4].update(p50_us=0, p90_us=0, p99_us=0, max_us=0)
    document["stall"]["buckets"]["transfer_queue"] = 1e-6
    page = Shown(tmp, document)
    assert "a bus of twice the speed" not in page.text
    assert "transfer" not in [r[0] for r in page.rows("Stages")]
    assert "waiting to be copied to the device" not in \
        page.each(".legend:not(.inline) span")


def case_two_large_numbers(tmp):
    document = report_document.document()
    for device, large in ((0.1, "stall.device_fraction"),
                          (None, "stall.host_fraction")):
        document["stall"]["device_fraction"] = device
        page = Shown(tmp, document)
        equal(page.each(".tiles [data-key]", "e.dataset.key"),
              ["result.images_per_second", large])
        line = page.each(".numbers [data-key]", "e.dataset.key")
        equal("stall.host_fraction" in line, device is not None)
        contains(page.each(".numbers")[0], "1 failed samples")


def case_round_ticks(tmp):
    document = report_document.document()
    for point in document["timeline"]:
        point["seconds"] *= 7.61 / 300
    ticks = [t for t in Shown(tmp, document).each("svg.axis text")
             if re.match(r"[0-9.]+ s$", t)]
    equal(ticks[:4], ["0 s", "2 s", "4 s", "6 s"])


def case_findings_worst_first(tmp):
    found = [("a_note", "note"), ("in_order", "ok"), ("an_error", "error"),
             ("of_later", "disaster"), ("a_warning", "warning")]
    doctor = {"schema_version": 1, "command": "doctor", "version": "0.1.0",
              "host": "node-17", "facts": {"memlock_bytes": 8388608},
              "findings": [{"id": name, "level": level, "text": "8 <only>",
                            "remedy": "r"} for name, level in found]}
    page = Shown(tmp, doctor)
    equal(page.each("h1"), ["node-17"])
    contains(page.text, "8.0 MiB")
    equal([r[1:3] for r in page.rows("Findings")],
          [["an error", "8 <only>"], ["a warning", "8 <only>"],
           ["a note", "8 <only>"], ["of later", "8 <only>"]])
    equal(page.each("td.badge", "e.className.split(' ')[1]"),
          ["high", "moderate", "unknown", "unknown", "fed"])
    contains(page.text, "1 in order")
    doctor["findings"] = doctor["findings"][1:2]
    contains(Shown(tmp, doctor).text, "Nothing is wrong.")


def case_machine_in_words(tmp):
    document = report_document.document()
    document["machine"] = {"cpus_online": 8, "cpus_allowed": 8,
                           "cpus_usable": 4, "cpu_quota": None,
                           "memory_bytes": 2 ** 34,
                           "memory_limit_bytes": 2 ** 34, "new_key": 7}
    document["signals"] = {"psi_cpu_some": 0.938, "host_busy": 1,
                           "consumer_cores": 0.000576, "process_cores": 1.5,
                           "foreign_cores": 0.25, "foreign_name": "python",
                           "throttled_seconds": 0, "throttled_fraction": 0,
                           "memory_bytes": 2 ** 30, "quota_cores": 4.0}
    document["config"] = {"sink": None, "trace": "", "seed": 3}
    del document["run"], document["options"]
    equal(dict(Shown(tmp, document).each(
        ".facts > div", "[...e.children].map(c => c.textContent)")), {
            "cores of the machine": "8", "cores usable at once": "4",
            "memory of the machine": "16.0 GiB", "new key": "7",
            "some task waited for a core": "93.8 %",
            "load of the machine's cores": "100.0 %",
            "cores used by the consumer's thread": "0.000576",
            "stopped by the CPU quota": "0.0 %",
            "cores used by this process": "1.5",
            "of these, by the program's other threads": "0.25",
            "the busiest of those threads": "python",
            "memory used by the process or its container": "1.0 GiB",
            "seed": "3"})


def case_fits_any_screen_and_paper(tmp):
    documents = [report_document.document(), report_document.sweep(),
                 report_document.tune(), *short_documents().values()]
    page = Shown(tmp, *documents)
    b = page.browser
    for width, scheme in ((390, "dark"), (1280, "light")):
        b.look_like(width, scheme)
        b.open(page.path)
        equal(b.complaints(), [])
        # Nothing sticks out: only tables scroll, in themselves.
        equal(b.value("document.documentElement.scrollWidth"), width)
        equal(page.each("h2, p, li, svg", "e.getBoundingClientRect().right > "
                        "innerWidth + 1").count(True), 0)
    equal(b.value("document.title"), "feedline: folder:/data/train, "
          "2026-11-22 09:08:07 UTC and 6 more")
    assert len(page.keyed) >= 20, page.keyed
    for key, value in page.keyed.items():
        close(value, at(documents[0], key), key)
    # That a request or an error would have been seen:
    b.value("console.error('seen'); new Image().src = 'http://seen/'; 0")
    assert any("seen" in c for c in b.complaints()), b.events
    b.look_like(720, media="print")
    b.open(page.path)
    equal(b.complaints(), [])
    b.value("dispatchEvent(new Event('beforeprint')); 0")
    equal(page.each("details:not([open])"), [])


def only_numbers(page):
    """No place in a chart that is none, and no part that was not drawn."""
    equal(page.each("svg, svg *", "[...e.attributes].map(a => a.value)"
                    ".find(v => /NaN|Infinity|undefined/.test(v))")
          .count(None), len(page.each("svg, svg *", "0")))
    equal(page.each(".undrawn"), [])


def case_least_document(tmp):
    least, *others = extremes()
    only_numbers(Shown(tmp, least))
    only_numbers(Shown(tmp, *others))


def case_real_run(tmp):
    folder = generate(tmp)
    path = damage(folder, 1)[0]
    done = expect(tool("run", folder, "--epochs", 3, "--batch-size", 5,
                       "--on-error", "zero", "--json", "-"), 0)
    page = Shown(tmp, json.loads(done.out))
    only_numbers(page)
    contains(page.each("h1")[0], folder)
    equal({r[0] for r in page.rows("Failures")}, {path})
    contains(page.section("Where the time went"), "The consumer's time")


def case_anything_anywhere(tmp):
    """Whatever stands in a document that is accepted: all of it is drawn."""
    seed = int(os.environ.get("FDL_TEST_SEED", "24301"), 0)
    print("FDL_TEST_SEED=%d" % seed)
    dice = random.Random(seed)
    accepted = []
    for i in range(80):
        document = damaged(dice, i)
        done = tool("report", put(tmp, document, "any.json"), "--out",
                    os.path.join(tmp, "any.html"))
        if done.rc == 0:
            accepted.append(document)
    assert 10 < len(accepted) < 80, len(accepted)
    # Several share a page, which takes the browser a second.
    for i in range(0, len(accepted), 8):
        only_numbers(Shown(tmp, *accepted[i:i + 8]))


if __name__ == "__main__":
    main(globals())
