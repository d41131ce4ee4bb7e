# SPDX-License-Identifier: Apache-2.0
"""The text of comments and docstrings as reStructuredText.

Both are written to be read where they are: paragraphs, lists of "- ", terms
with an explanation behind a colon, and indented examples, with `names` here and
there.
"""
import re

TERM = re.compile(r"([*]{0,2}[a-z_]\w*(?:, [*]{0,2}[a-z_]\w*)*): +(\S.*)")
ITEM = re.compile(r"(-|\d+\.) +")
# What is a name without being marked: of the C interface, or a page's.
NAME = re.compile(
    r"`+([^`\n]+(?:\n[^`\n]+)?)`+|"
    r"\b(feedline_\w+(?:\(\))?|FEEDLINE_\w+(?![*\w]))|"
    r"(?<![\w/])((?:docs|feedline|bench|findings|examples)/[\w./-]*\w)|"
    r"\[([^\]\n]+)\]\((https?://[^)\s]+)\)")


def escaped(text):
    return re.sub(r"([\\*`|]|_(?!\w)|(?<!\w)_)", r"\\\1", text)


def inline(text):
    """A paragraph's text with its names as literals."""
    found, at = [], 0
    for m in NAME.finditer(text):
        found.append(escaped(text[at:m.start()]))
        if m.group(4):
            found.append("`%s <%s>`__" % (m.group(4), m.group(5)))
        else:
            name = " ".join((m.group(1) or m.group(2) or m.group(3)).split())
            found.append(marked("``%s``" % name) if name else "")
        at = m.end()
    return joined(found + [escaped(text[at:])])


def marked(text):
    """What is marked touches words only behind an escaped blank."""
    return "\\ %s\\ " % text


def joined(parts):
    """Of a paragraph. An escaped blank at the end of a line would join it with
    the next one."""
    return re.sub(r"\\ (?=\n|$)", "", "".join(parts))


def indent_of(line):
    return len(line) - len(line.lstrip())


def paragraphs(text):
    """Lists of lines, between blank ones; those of an example are in it."""
    parts, part = [], []
    for line in text.expandtabs().splitlines() + [""]:
        if line.strip():
            part.append(line.rstrip())
        elif part and parts and is_example(part) and is_example(parts[-1]):
            parts[-1] += [""] + part
            part = []
        elif part:
            parts.append(part)
            part = []
    return parts


def is_example(lines):
    return indent_of(lines[0]) >= 2


def indented(lines, by):
    return ["%s%s" % (" " * by, line) if line else "" for line in lines]


def literal(lines):
    least = min(indent_of(line) for line in lines if line)
    return ["::", ""] + ["    " + line[least:] for line in lines] + [""]


def items(lines, begin):
    """The items of a paragraph: lists of lines that one begins with `begin`."""
    found = []
    for line in lines:
        if begin(line) or not found:
            found.append([])
        found[-1].append(line.strip())
    return found


def one(lines):
    """A paragraph: a list, terms or running text."""
    if is_example(lines):
        return literal(lines)
    if ITEM.match(lines[0]) or any(line.startswith("- ") for line in lines):
        return listed(lines)
    told = items(lines, lambda line: indent_of(line) == 0)
    n = next((n for n, item in enumerate(told)
              if not TERM.match(" ".join(item))), len(told))
    if n == len(told) or n >= 2 and len(told) < len(lines):
        after = [line for item in told[n:] for line in item]
        return terms(told[:n]) + (one(after) if after else [])
    split = next((n for n, line in enumerate(lines)
                  if n and indent_of(line) >= 4), None)
    if split and indent_of(lines[-1]) >= 2:  # an example that follows at once
        return one(lines[:split]) + literal(lines[split:])
    return [inline("\n".join(line.strip() for line in lines)), ""]


def listed(lines):
    head = next(n for n, line in enumerate(lines) if ITEM.match(line))
    found = one(lines[:head]) if head else []
    tail = next((n for n, line in enumerate(lines) if n > head and
                 indent_of(line) == 0 and not ITEM.match(line)),
                len(lines))
    for item in items(lines[head:tail], ITEM.match):
        mark = ITEM.match(item[0]).group(1) + " "
        text = inline("\n".join(item)[len(mark):].lstrip())
        found.append(mark + text.replace("\n", "\n" + " " * len(mark)))
    found.append("")
    return found + (one(lines[tail:]) if lines[tail:] else [])


def terms(told):
    """What each of some names means."""
    found = []
    for item in told:
        name, words = TERM.match(" ".join(item)).groups()
        found += ["``%s``" % name, "    " + inline(words)]
    return found + [""]


def rest(text):
    """Lines of reStructuredText."""
    found = []
    for lines in paragraphs(text):
        found += one(lines)
    return "\n".join(found).split("\n")
