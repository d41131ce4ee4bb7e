# SPDX-License-Identifier: Apache-2.0
"""The reference of the C interface: a page of each header of include/feedline/.

Headers are regular (python/make_c.py holds them to that): a comment stands
above what it is about, with no blank line between, and lines of dashes divide a
header.
"""
import re

import plain_text

PART = re.compile(
    r"/\* ---- (?P<title>.+?) -+ \*/|"
    r"/\*(?P<comment>.*?)\*/(?P<gap>[ \t]*\n(?:[ \t]*\n)*)|"
    r"typedef struct (?P<handle>\w+) \w+;|"
    r"(?P<kind>struct|enum) (?P<name>\w+) \{.*?^\};|"
    r"FEEDLINE_API (?P<function>[^;]*);|"
    r"#define (?P<macro>FEEDLINE_\w+)(?:\\\n|[^\n])*|"
    r"#[^\n]*|extern \"C\" \{|\}|\s+", re.S | re.M)
# What every header has, and no program is to know.
HIDDEN = re.compile(r"FEEDLINE_(?:\w+_)?H|FEEDLINE_API")


def text_of(comment):
    """A comment without its stars."""
    return "\n".join(re.sub(r"^ \* ?", "", line)
                     for line in (" *" + comment).splitlines()).strip("\n")


class Page:
    """The page of one header."""

    def __init__(self, name, text):
        self.lines = []
        self.comment = ""  # that stands above the next declaration
        self.functions = []  # under one comment
        self.macros = []  # names and texts, in lines that follow each other
        # A struct may have the name of a function, but for Sphinx.
        self.taken = re.findall(r"\b(feedline_\w+)\(", text)
        head = re.match(r"/\* SPDX[^\n]*\n/\*(.*?)\*/", text, re.S)
        words = text_of(head.group(1)).split("\n", 1)
        title = "feedline/%s" % name
        self.add(title, "=" * len(title), "")
        self.add(*plain_text.rest("\n".join(words)))
        if name == "feedline.h":
            self.add(".. code-block:: c", "", "    #include <%s>" % title, "")
        self.read(text[head.end():])
        self.group_end()

    def add(self, *lines):
        self.lines += lines

    def read(self, text):
        at = 0
        while at < len(text):
            m = PART.match(text, at)
            if not m:
                raise SystemExit("not understood: %s" % text[at:at + 80])
            self.take(m)
            at = m.end()

    def take(self, m):
        if m.group("function"):
            self.functions.append(" ".join(m.group("function").split()))
            return
        if m.group("macro") and not self.functions:
            if not HIDDEN.fullmatch(m.group("macro")):
                self.macros.append((m.group("macro"), m.group()))
            return
        if m.group().isspace() and m.group().count("\n") < 2:
            return
        self.group_end()
        if m.group("title"):
            self.add("", m.group("title"), "-" * len(m.group("title")), "")
        elif m.group("comment") is not None:
            self.take_comment(m)
        elif m.group("handle"):
            self.declare("type", [m.group("handle")], None)
        elif m.group("name"):
            self.declare(m.group("kind"), [m.group("name")], m.group())

    def take_comment(self, m):
        """One that a blank line follows is about what comes, not about the next
        declaration alone."""
        text = text_of(m.group("comment"))
        if text.startswith("clang-format"):
            return
        if m.group("gap").count("\n") > 1:
            self.add(*plain_text.rest(text))
        else:
            self.comment = text

    def declare(self, kind, names, code):
        """A struct, an enum or macros, as the header has them."""
        directive = ".. c:%s:: " % kind
        if kind in ("struct", "enum") and names[0] in self.taken:
            directive = ".. describe:: %s " % kind
        self.add(directive + names[0])
        self.add(*(" " * len(directive) + more for more in names[1:]), "")
        self.body(code)

    def group_end(self):
        """Functions, or macros, that stood together are told of together."""
        macros, functions = self.macros, self.functions
        self.macros, self.functions = [], []
        if macros:
            names, texts = zip(*macros)
            self.declare("macro", list(names), "\n".join(texts))
        if functions:
            self.declare("function", functions, None)

    def body(self, code):
        self.add(*plain_text.indented(plain_text.rest(self.comment), 4))
        self.comment = ""
        if code:
            self.add("    .. code-block:: c", "")
            self.add(*plain_text.indented(code.splitlines(), 8), "")


def title_of(text):
    """What a header is about, by its first comment."""
    head = re.match(r"/\* SPDX[^\n]*\n/\*(.*?)\*/", text, re.S)
    first = text_of(head.group(1)).split("\n\n")[0]
    first = " ".join(first.split())
    return re.match(r"(.*?)(?:\.|:|;|$)(?:\s|$)", first).group(1)


def write(tree, target):
    """Pages of all headers of `tree` in the folder `target`; their names."""
    headers = sorted((tree / "include" / "feedline").glob("*.h"),
                     key=lambda path: (path.name != "feedline.h", path.name))
    for path in headers:
        page = Page(path.name, path.read_text(encoding="utf-8"))
        (target / (path.stem + ".rst")).write_text(
            "\n".join(page.lines) + "\n", encoding="utf-8")
    return [path.stem for path in headers]
