# SPDX-License-Identifier: Apache-2.0
"""What axe-core finds on HTML files, as a desktop and a phone show them by day
and by night, and as they are printed; and whether they must be moved sideways.

    check_pages.py AXE.min.js PAGE.html... | --selftest
"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "loaderbench"))

import browser  # noqa: E402

SKIPPED = 77
# Width in pixels, colours, medium.
LOOKS = ((1280, "light", "screen"), (1280, "dark", "screen"),
         (390, "light", "screen"), (390, "dark", "screen"),
         (794, "light", "print"))
# Asked of every look: a page that has to be moved sideways is hard to read.
SIDEWAYS = """(({clientWidth, scrollWidth}) => scrollWidth > clientWidth ? [{
    rule: "reflow", help: "What is wider than the page must scroll by itself",
    where: [...document.body.querySelectorAll("*")].filter(e =>
        e.getBoundingClientRect().right > clientWidth).map(e =>
        e.localName + (e.id && "#" + e.id)).join(" > "),
    html: "", why: `It is ${scrollWidth} pixels wide.`}] : []
    )(document.documentElement)"""
RUN = """axe.run(document, {resultTypes: ["violations"]}).then(found =>
    found.violations.flatMap(rule => rule.nodes.map(node => ({
        rule: rule.id, help: rule.help, where: node.target.join(" "),
        html: node.html.slice(0, 200), why: node.failureSummary}))))"""


def sends_on(page):
    """Its reader is at another page before it can be looked at."""
    with open(page, encoding="utf-8") as f:
        return '<meta http-equiv="refresh" content="0;' in f.read()


class Checker:
    """A browser that asks axe-core about one page after another."""

    def __init__(self, program, axe):
        self.browser = browser.Browser(program)
        with open(axe, encoding="utf-8") as f:
            self.axe = f.read()

    def close(self):
        self.browser.close()

    def faults(self, page):
        """(look, fault) of each fault of a page; those that a look before has
        shown are left out."""
        seen = set()
        if not os.path.isfile(page):  # else: the browser's own page
            sys.exit("%s: no such file" % page)
        if sends_on(page):
            return
        for look in LOOKS:
            self.browser.look_like(*look)
            self.browser.open(page)
            self.browser.value(self.axe + ";0")
            for fault in self.answer(RUN) + self.browser.value(SIDEWAYS):
                key = (fault["rule"], fault["where"])
                if key not in seen:
                    seen.add(key)
                    yield look, fault

    def answer(self, promise):
        answer = self.browser.call("Runtime.evaluate", expression=promise,
                                   awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit("axe-core: %r" % answer["exceptionDetails"])
        return answer["result"]["value"]


def show(page, look, fault):
    print("%s, %d px wide, %s, %s: %s (%s)\n    at %s\n    %s\n    %s" % (
        (page,) + look + (fault["help"], fault["rule"], fault["where"],
                          fault["html"], fault["why"].replace("\n", "\n    "))))


def check(checker, pages):
    n = 0
    for page in pages:
        for look, fault in checker.faults(page):
            show(page, look, fault)
            n += 1
    print("%d faults of accessibility on %d pages" % (n, len(pages)))
    return 1 if n else 0


# ---- Self-test ---------------------------------------------------------------

PAGE = """<!doctype html><html %s><head><meta charset="utf-8"><title>A</title>
<meta name="viewport" content="width=device-width"><style>%s</style></head>
<body><main><h1>A</h1><p>Words</p>%s</main></body></html>"""
ENGLISH = 'lang="en"'
PALE = "p { color: #bbb; background: #fff }"
PLANTED = (  # the rule that sees it, the look that shows it first, the page
    (None, None, PAGE % (ENGLISH, "", "")),
    ("html-has-lang", LOOKS[0], PAGE % ("", "", "")),
    ("image-alt", LOOKS[0], PAGE % (ENGLISH, "", '<img src="data:,">')),
    ("label", LOOKS[0], PAGE % (ENGLISH, "", '<input type="text">')),
    ("color-contrast", LOOKS[1], PAGE % (
        ENGLISH, "@media (prefers-color-scheme: dark) { %s }" % PALE, "")),
    ("color-contrast", LOOKS[2], PAGE % (
        ENGLISH, "@media (max-width: 600px) { %s }" % PALE, "")),
    ("color-contrast", LOOKS[4], PAGE % (
        ENGLISH, "@media print { %s }" % PALE, "")),
    ("reflow", LOOKS[2], PAGE % (ENGLISH, "main { width: 1000px }", "")),
    (None, None, '<meta http-equiv="refresh" content="0; url=page.html">'),
)


def selftest(checker):
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        for rule, look, text in PLANTED:
            with open(page, "w", encoding="utf-8") as f:
                f.write(text)
            found = [(at, fault["rule"]) for at, fault in checker.faults(page)]
            if found != ([(look, rule)] if rule else []):
                sys.exit("selftest: found %r, not %r" % (found, (look, rule)))
    print("selftest: every fault was seen")
    return 0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    axe, pages = sys.argv[1], sys.argv[2:]
    program = browser.find()
    if program is None:
        print("skipped: no browser (Debian: apt-get install chromium)")
        return SKIPPED
    checker = Checker(program, axe)
    try:
        if pages == ["--selftest"]:
            return selftest(checker)
        return check(checker, pages)
    finally:
        checker.close()


if __name__ == "__main__":
    sys.exit(main())
