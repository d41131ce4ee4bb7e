# SPDX-License-Identifier: Apache-2.0
"""The tool's manual, docs/man/loaderbench.1.scd, as a page of the site.

The manual is in scdoc's language: *bold*, _underlined_, tabs before what
explains the line above. A part about a command ends with its help, as the tool
prints it.
"""
import re
import subprocess

import plain_text

LISTED = re.compile(
    r"^  ([a-z0-9]+)(?: \S+)*? {2,}(\S.*(?:\n {10,}\S.*)*)", re.M)


def inline(text):
    """Words with marks as reStructuredText: options are literals, as they are
    typed."""
    text = re.sub(r"\\(.)", r"\1", text.replace("++", ""))
    found, at = [], 0
    for m in re.finditer(r"\*([^*\n]+)\*|(?<!\w)_([^_\n][^\n]*?)_(?!\w)", text):
        found.append(plain_text.escaped(text[at:m.start()]))
        found.append(plain_text.marked(
            "``%s``" % m.group(1) if m.group(1) else
            "*%s*" % plain_text.escaped(m.group(2))))
        at = m.end()
    return plain_text.joined(found + [plain_text.escaped(text[at:])])


def block(lines):
    """A paragraph: running text, a table, an example, or a line and what
    explains it."""
    if lines[0].startswith("```"):
        return ["::", ""] + plain_text.indented(lines[1:-1], 4) + [""]
    if lines[0].startswith("|"):
        return table(lines)
    first = [line for line in lines if not line.startswith("\t")]
    rest = [line.strip() for line in lines if line.startswith("\t")]
    if rest and not first:
        typed = [re.sub(r"[+][+]$", "", line[1:]) for line in lines]
        return ["::", ""] + plain_text.indented(typed, 4) + [""]
    if rest:
        text = inline("\n".join(rest)).replace("\n", "\n    ")
        return [inline(" ".join(first)), "    " + text, ""]
    if len(lines) > 1 and all(line.endswith("++") for line in lines[:-1]):
        return ["| " + inline(line) for line in lines] + [""]
    return [inline("\n".join(lines)), ""]


def table(lines):
    """One of two columns, as terms."""
    found = []
    for line in lines:
        if line.startswith("|"):
            found.append("``%s``" % line.lstrip("|[ ").strip())
        else:
            found.append("    " + inline(line.lstrip(":< ")))
    return found + [""]


def page(text, help_of):
    """reStructuredText of a manual; help_of: from a command to its help."""
    found = ["loaderbench", "===========", ""]
    command = None
    told = set()

    def close():
        if command in help_of:
            told.add(command)
            found.extend(["``loaderbench %s --help-all``:" % command, "",
                          ".. code-block:: text", ""])
            found.extend(plain_text.indented(help_of[command], 4) + [""])

    for lines in paragraphs(text.split("\n", 1)[1]):
        if not lines[0].startswith("# "):
            found += block(lines)
            continue
        close()
        title = lines[0][2:].capitalize().replace("Uris", "URIs")
        command = lines[0][2:].lower()
        if command in help_of:
            title = "loaderbench " + command
            found += ["", ".. _%s:" % title.replace(" ", "-")]
        found += ["", title, "-" * len(title), ""]
        found += block(lines[1:]) if lines[1:] else []
    close()
    untold = set(help_of) - told
    if untold:
        raise SystemExit("the manual does not tell of %s" % ", ".join(untold))
    return "\n".join(found)


def paragraphs(text):
    """Lists of lines; what is between ``` is one."""
    part, fenced = [], False
    for line in text.splitlines() + [""]:
        fenced ^= line.startswith("```")
        if line.strip() or fenced:
            part.append(line.rstrip())
        elif part:
            yield part
            part = []


def said(program, *arguments):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def summaries(program):
    """From each command of the program to what it is for."""
    listed = said(program, "--help").split("Commands:", 1)[1].split("\n\n")[0]
    return {name: " ".join(words.split())
            for name, words in LISTED.findall(listed)}


def help_texts(program):
    """From each command of the program to the lines of its --help-all."""
    return {name: said(program, name, "--help-all").splitlines()
            for name in summaries(program)}


def commands(program):
    """The list of them, for a page in Markdown."""
    return "\n".join("- {ref}`loaderbench %s <loaderbench-%s>`: %s"
                     % (name, name, words)
                     for name, words in summaries(program).items()) + "\n"
