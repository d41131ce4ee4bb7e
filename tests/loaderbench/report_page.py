# SPDX-License-Identifier: Apache-2.0
"""Pages of the report, as files and as a browser shows them."""
import atexit
import copy
import html.parser
import json
import os

import browser
import report_document
from support import equal, expect, put, read, skip, tool

VOID = ("meta", "link", "br", "hr", "img", "input")
SHAPES = ("rect", "line", "circle")


def made(tmp, *documents):
    """The page of these documents, and its text."""
    page = os.path.join(tmp, "page.html")
    paths = [put(tmp, d, "%d.json" % i) for i, d in enumerate(documents)]
    done = expect(tool("report", *paths, "--out", page), 0)
    equal((done.out, done.err), ("", ""))
    return page, read(page)


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
            if "id" in self.elements[-1][1]:
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


def has_numbers(page, document, least=20):
    """Each number that says where it is from is the one there."""
    assert len(page.keyed) >= least, page.keyed
    for key, value in page.keyed.items():
        close(value, at(document, key), key)


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


def extremes():
    """The least document, and those with zeros or with numbers as large as
    they come."""
    full = report_document.document()
    yield {"schema_version": 1, "command": "run", "stages": [],
           "stall": {"host_fraction": 0, "buckets": {}}, "verdict": None,
           "result": {k: full["result"][k] for k in (
               "images", "batches", "seconds", "images_per_second")}}
    for value in (0, 1e300, -1e300, 2 ** 62):
        strange = copy.deepcopy(full)
        for key in strange["result"]:
            strange["result"][key] = value
        for stage in strange["stages"]:
            stage.update({k: value for k in stage if k != "name"})
        for point in strange["timeline"][::2]:
            point.update({k: value for k in point if k != "buckets"})
        yield strange


def places(value, way=()):
    """Where something is in a document."""
    if isinstance(value, (dict, list)):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield way + (key,)
            yield from places(value[key], way + (key,))


def damaged(dice, i):
    """The i-th document, with anything anywhere."""
    wholes = (report_document.document(), report_document.tune(),
              *short_documents().values())
    document = wholes[i % len(wholes)]
    if "timeline" in document:
        document["timeline"] = document["timeline"][::60]
    for _ in range(dice.choice((1, 1, 3, 9))):
        *way, last = dice.choice(list(places(document)))
        place = document
        for key in way:
            place = place[key]
        place[last] = dice.choice((None, True, -1, 0, 1e308, 1e-308, "", {},
                                   "<b>", [], [[]], [None], {"": {}},
                                   "x" * 5000, [1e308] * 100))
    return document


class Shown:
    """A page in a browser once its script has drawn. What it asks the network
    for, or complains about, fails the test. One browser serves all of them."""
    started = None

    def __init__(self, tmp, *documents, script=True):
        program = browser.find()
        if not program:
            skip("there is no Chromium")
        if not Shown.started:
            Shown.started = browser.Browser(program)
            atexit.register(Shown.started.close)
        self.browser = Shown.started
        self.path = made(tmp, *documents)[0]
        self.browser.call("Emulation.setScriptExecutionDisabled",
                          value=not script)
        self.browser.open(self.path)
        equal(self.browser.requests(), [])
        equal(self.browser.complaints(), [])
        self.text = self.value("document.querySelector('main').textContent")
        self.keyed = dict(self.each("article:first-of-type [data-key]",
                                    "[e.dataset.key, e.value]"))

    def value(self, expression):
        return self.browser.value(expression)

    def each(self, selector, expression="e.textContent"):
        """The expression of each element e, in the order of the page."""
        return self.value("[...document.querySelectorAll(%s)].map(e => %s)"
                          % (json.dumps(selector), expression))

    def section(self, title):
        """The text of a section."""
        found = self.each("section", "[e.querySelector('h2')?.textContent, "
                          "e.textContent]")
        return dict(found)[title]

    def rows(self, label):
        """The cells of the rows of a table."""
        return self.each(".scroll[aria-label=%s] tbody tr" % json.dumps(label),
                         "[...e.cells].map(c => c.textContent)")

    def values(self, selector):
        return [float(v) for v in self.each(selector + " data", "e.value")]
