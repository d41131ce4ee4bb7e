# SPDX-License-Identifier: Apache-2.0
"""What the theme and Sphinx leave undone for those who listen to a page or use
the keyboard: axe-core finds each of these (tests/accessibility/)."""
import re
from pathlib import Path

MENDED = (
    # Captions in the menu are headings without a level.
    (r'(<p class="caption" role="heading")(?=>)', r'\1 aria-level="2"'),
    # Two landmarks of one kind need names.
    (r'<aside class="sidebar-drawer"(?=>)', r'\g<0> aria-label="All pages"'),
    (r'<aside class="toc-drawer[^"]*"(?=>)', r'\g<0> aria-label="This page"'),
    # What is wider than a phone scrolls, by keys too.
    (r'<pre(?=>)', r'\g<0> tabindex="0"'),
    (r'<div class="table-wrapper[^"]*"(?=>)', r'\g<0> tabindex="0"'),
    # Nothing is a heading of nothing.
    (r'<th class="(head[^"]*)"><p></p></th>', r'<td class="\1"></td>'),
    # That says nothing.
    (r'<p>Bases: <code[^>]*><span class="pre">object</span></code></p>\n', ""),
    # Arguments on lines of their own are no list of definitions.
    (r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>",
     r'<span class="arguments">\n\1</span>'),
    (r"(?<=\n)<dd>(.*)</dd>(?=\n(?:<dd>|</span>))", r"<span>\1</span>"),
)
SEARCH = (r'(<article role="main"[^>]*>)', r"\1<h1>Search</h1>")


def mend(app, failed):
    if failed:
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        changes = MENDED + ((SEARCH,) if path.name == "search.html" else ())
        for pattern, mended in changes:
            text = re.sub(pattern, mended, text)
        path.write_text(text, encoding="utf-8")


def bare_bases(app, name, obj, options, bases):
    """Classes of torch, which is not there, are not named as bases."""
    bases[:] = [base for base in bases
                if getattr(base, "__module__", "").startswith(
                    ("feedline", "builtins"))] or [object]


def setup(app):
    app.connect("build-finished", mend, priority=900)
    app.connect("autodoc-process-bases", bare_bases)
    return {"parallel_read_safe": True}
