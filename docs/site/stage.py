# SPDX-License-Identifier: Apache-2.0
"""Lays out what Sphinx reads, in a folder of its own:

    stage.py TREE TARGET LOADERBENCH

every file of the tree, so that all relative links of the pages lead
somewhere; the pages of the reference, made of headers, manual and rules; and in
docs/index.md the menu, which is the lists of links there.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import c_reference
import python_reference
import tool_reference
import verdict_reference

SECTION = re.compile(r"^## (.+)\n((?:(?!^## ).*\n)*)", re.M)
ENTRY = re.compile(r"^- \[[^\]]*\]\(([\w./-]+)\.md\)", re.M)
PICTURE = re.compile(r"<picture>.*?</picture>", re.S)


def files_of(tree):
    """git's, and what is new; of a source package all."""
    done = subprocess.run(["git", "-C", str(tree), "ls-files", "-z", "--cached",
                           "--others", "--exclude-standard"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    if done.returncode == 0:
        return sorted(set(filter(None, done.stdout.split("\0"))))
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*")
                  if path.is_file() and not re.match(
                      r"build|\.", str(path.relative_to(tree))))


def lay_out(tree, target):
    """The files: the same ones, or copies on another file system. Not symbolic
    links, which Sphinx follows, out of the folder that it knows."""
    for name in files_of(tree):
        there = target / name
        if not (tree / name).is_file():
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(tree / name, there, follow_symlinks=False)
        except OSError:
            shutil.copyfile(tree / name, there)


def replace(target, name, text):
    """A page in place of what is there."""
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")


def with_menu(text):
    """The page of contents with a hidden table of contents for each list."""

    def section(m):
        entries = ENTRY.findall(m.group(2))
        if not entries:
            return m.group()
        return "%s\n```{toctree}\n:hidden:\n:caption: %s\n\n%s\n```\n\n" % (
            m.group(), m.group(1), "\n".join(entries))

    return SECTION.sub(section, text)


def themed(m):
    """The picture for light and for dark pages: by the reader's choice here,
    and not by the system's."""
    alt = re.search(r'alt="([^"]*)"', m.group()).group(1)
    dark = re.search(r'srcset="([^"]*)"', m.group()).group(1)
    light = re.search(r'<img src="([^"]*)"', m.group()).group(1)
    return "\n".join("```{image} %s\n:alt: %s\n:class: only-%s\n```\n" % (
        path, alt, theme) for theme, path in (("light", light), ("dark", dark)))


def c_pages(tree, target):
    """The pages of the headers, and the list of them."""
    folder = target / "docs" / "reference" / "c"
    folder.mkdir(parents=True)
    found = []
    for name in c_reference.write(tree, folder):
        head = (tree / "include" / "feedline" / (name + ".h")).read_text(
            encoding="utf-8")
        found.append((name, c_reference.title_of(head)))
    return "".join("- [feedline/%s.h](c/%s): %s\n" % (name, name, title)
                   for name, title in found) + menu(
        "c/" + name for name, _ in found)


def menu(entries):
    return "\n```{toctree}\n:hidden:\n\n%s\n```\n" % "\n".join(entries)


def add(target, name, text):
    """To what a page says by itself."""
    page = (target / name).read_text(encoding="utf-8")
    replace(target, name, page + "\n" + text)


def main():
    tree, target, program = map(Path, sys.argv[1:])
    tree = tree.resolve()
    shutil.rmtree(target, ignore_errors=True)
    lay_out(tree, target)
    reference = target / "docs" / "reference"
    add(target, "docs/reference/c.md", c_pages(tree, target))
    for name, text in python_reference.pages():
        replace(target, "docs/reference/%s.rst" % name, text)
    add(target, "docs/reference/python.md", menu(
        name for name, _ in python_reference.pages()))
    manual = tree / "docs" / "man" / "loaderbench.1.scd"
    (reference / "loaderbench.rst").write_text(tool_reference.page(
        manual.read_text(encoding="utf-8"),
        tool_reference.help_texts(program)), encoding="utf-8")
    add(target, "docs/reference/tool.md",
        tool_reference.commands(program) + menu(["loaderbench"]))
    replace(target, "docs/reference/verdicts.md", verdict_reference.page(tree))
    add(target, "docs/measurements.md", menu(
        "/bench/results/" + path.stem
        for path in sorted((tree / "bench" / "results").glob("*.md"))))
    index = (tree / "docs" / "index.md").read_text(encoding="utf-8")
    replace(target, "docs/index.md", PICTURE.sub(themed, with_menu(index)))


if __name__ == "__main__":
    os.umask(0o022)
    main()
