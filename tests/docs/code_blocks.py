# SPDX-License-Identifier: Apache-2.0
"""The code blocks of pages, and what is done with each:

    code_blocks.py TREE list          all of them, and who runs each
    code_blocks.py TREE check BUILD   none is without; C is compiled and run,
                                      commands and options exist
    code_blocks.py TREE run BUILD     the tool's commands of docs/start and
                                      docs/howto run

A block has a language behind its ```. Python is run by
tests/python/test_markdown_examples.py. One that cannot be run has the reason
above it, `<!-- not run: REASON -->`, which the site shows. Output of programs
is `text`.
"""
import ast
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, Optional

LANGUAGES = ("python", "c", "sh", "cmake", "meson", "text", "diff")
NOT_CODE = ("text", "diff")
BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^\n]*?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S)
INDENTED = re.compile(r"(?<=\n\n)(?:    \S[^\n]*\n)+")
# Pages whose Python other tests run, and recipes, whose steps are indented.
RUN_BY = {"docs/recipes.md": "tests/python/test_torch_recipes.py",
          "docs/ray.md": "tests/python/test_ray.py",
          **{"docs/migrate/from-%s.md" % name:
             "tests/python/test_migration_examples.py"
             for name in ("dali", "ffcv", "tfdata", "torch", "webdataset")}}
# What the tree does not have, and a reader may.
COMMANDS = ("apt", "apt-get", "cc", "cmake", "ctest", "export", "git", "nsys",
            "pip", "python", "python3", "sed", "sh", "sudo", "true",
            "./train", "./minimal")
RUN_IN = ("docs/start/", "docs/howto/")


class Block(NamedTuple):
    """One block of a page."""

    page: str
    line: int
    language: str
    text: str
    reason: Optional[str]  # why it is not run

    @property
    def place(self) -> str:
        return "%s:%d" % (self.page, self.line)


def blocks(text, page=""):
    """The blocks of a page, in order."""
    found = []
    for m in BLOCK.finditer(text):
        found.append(Block(page, text.count("\n", 0, m.start("indent")) + 1,
                           m.group("language"), m.group("text"),
                           m.group("reason")))
    return found


def pages(tree):
    """What is read to learn to use or to change feedline. Results of a day are
    records, and rooms have a page for those who work in them."""
    found = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "python/README.md"]
    found += sorted(str(path.relative_to(tree))
                    for path in (tree / "docs").rglob("*.md"))
    return found


def all_blocks(tree):
    found = []
    for page in pages(tree):
        found += blocks((tree / page).read_text(encoding="utf-8"), page)
    return found


# ---- Style -------------------------------------------------------------------

def style_faults(tree):
    """Blocks that nobody would run, or could not know how to."""
    for page in pages(tree):
        text = (tree / page).read_text(encoding="utf-8")
        for block in blocks(text, page):
            if block.language not in LANGUAGES:
                yield "%s: a block is one of %s, not '%s'" % (
                    block.place, ", ".join(LANGUAGES), block.language)
            if block.reason is not None and len(block.reason.split()) < 3:
                yield "%s: a reason has some words" % block.place
            if block.language == "cmake" and block.reason is None:
                yield "%s: nobody runs this, and there is no reason" % \
                    block.place
        if page in RUN_BY:
            continue
        outside = BLOCK.sub(lambda m: re.sub(r"[^\n]", "", m.group()), text)
        for m in INDENTED.finditer(outside):
            yield "%s:%d: an indented block: put it between ```" % (
                page, outside.count("\n", 0, m.start()) + 1)


# ---- C -----------------------------------------------------------------------

AROUND = """#include <stdbool.h>
#include <stdlib.h>
%(headers)s
void train_step(void *images, void *labels, uint32_t count);
extern feedline_loader *l, *loader;
extern feedline_batch *batch;
extern void *stream;
extern struct feedline_batch_info info;
void queue_step(void *stream, void *images, void *labels, uint32_t count);
void example(void);
void example(void)
{
%(text)s
}
"""


def c_program(tree, text):
    """A block as a file: one without an #include is part of a function."""
    if "#include" in text:
        return text
    headers = sorted(path.name for path in
                     (tree / "include" / "feedline").glob("*.h"))
    return AROUND % {"text": text, "headers": "\n".join(
        "#include <feedline/%s>" % name for name in headers)}


def c_faults(tree, build, work, block):
    source = work / "block.c"
    source.write_text(c_program(tree, block.text), encoding="utf-8")
    whole = "int main(" in block.text
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror",
               "-Wno-unused", "-I", str(tree / "include"), str(source)]
    command += ["-o", str(work / "block"), "-L", str(build), "-lfeedline",
                "-Wl,-rpath," + str(build)] if whole else ["-fsyntax-only"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        yield "%s: %s" % (block.place, done.stderr)
    elif whole:
        done = subprocess.run([work / "block", "folder:" + photos(build, work)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        if done.returncode or not done.stdout:
            yield "%s: status %d: %s" % (block.place, done.returncode,
                                         done.stdout)


# ---- Shell -------------------------------------------------------------------

def tool(build):
    return build / "tools" / "loaderbench" / "loaderbench"


def photos(build, work):
    folder = work / "photos"
    if not folder.exists():
        subprocess.run([tool(build), "gen", folder, "--images", "48",
                        "--classes", "3", "--quiet"], check=True)
    return str(folder)


def commands_of(text):
    """Lists of words: each command of a script, without variables before it."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"\$\([^)]*\)", "SUBSTITUTED", text)
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        words = []
        for word in list(lexer) + [";"]:
            if re.fullmatch(r"[|&;()]+", word):
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words.pop(0)
                if words:
                    yield words
                words = []
            else:
                words.append(word)


@functools.lru_cache(maxsize=None)
def help_of(build, command):
    """All of its options; None: there is no such command."""
    done = subprocess.run([tool(build), command, "--help-all"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def options_of(words):
    return [word.split("=")[0] for word in words
            if re.match(r"--[a-z]", word)]


def loaderbench_faults(build, words):
    if len(words) > 1 and words[1].startswith("-") or words[1:2] == ["help"]:
        return
    text = help_of(build, words[1]) if len(words) > 1 else None
    if text is None:
        yield "there is no command 'loaderbench %s'" % " ".join(words[1:2])
        return
    for option in options_of(words):
        name = re.sub("^--no-", "--", option)
        if not re.search(r"(^|[ ,])(%s|%s)\b(?!-)" % (option, name), text,
                         re.M):
            yield "loaderbench %s has no option %s" % (words[1], option)


def command_faults(tree, build, words):
    name = words[0]
    if name == "loaderbench":
        yield from loaderbench_faults(build, words)
    elif "/" in name and not name.startswith("."):
        path = tree / name
        built = re.match(r"build[\w-]*/", name)
        if built or path.is_file() and "--" not in " ".join(words):
            return
        if not path.is_file():
            yield "there is no %s" % name
            return
        text = path.read_text(encoding="utf-8", errors="replace")
        for option in options_of(words):
            if option.lstrip("-") not in text:
                yield "%s has no option %s" % (name, option)
    elif name == ".ci/run":
        if not (tree / name).is_file():
            yield "there is no .ci/run"
    elif name not in COMMANDS:
        yield "'%s' is no command that this test knows" % name


def shell_faults(tree, build, block):
    try:
        for words in commands_of(block.text):
            for fault in command_faults(tree, build, words):
                yield "%s: %s" % (block.place, fault)
    except ValueError as error:
        yield "%s: %s" % (block.place, error)


# ---- What is done ------------------------------------------------------------

def who(block):
    """Who runs a block, in words."""
    if block.language in NOT_CODE:
        return "no code"
    if block.reason is not None:
        return "not run: " + block.reason
    if block.language == "python":
        return RUN_BY.get(block.page, "tests/python/test_markdown_examples.py")
    if block.language == "sh" and block.page.startswith(RUN_IN):
        return "docs.code_runs"
    return "docs.code_blocks"


def python_faults(block):
    """One that is not run is read at least."""
    try:
        ast.parse(block.text)
    except SyntaxError as error:
        yield "%s: %s" % (block.place, error)


def check(tree, build):
    found = list(style_faults(tree))
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for block in all_blocks(tree):
            counts[who(block)] = counts.get(who(block), 0) + 1
            if block.language == "python":
                found += python_faults(block)
            elif block.language == "c" and block.reason is None:
                found += c_faults(tree, build, Path(folder), block)
            elif block.language == "sh":
                found += shell_faults(tree, build, block)
    for fault in found:
        print(fault)
    for name in sorted(counts):
        print("%d: %s" % (counts[name], name))
    return 1 if found or not counts else 0


def run_page(tree, build, page):
    """The commands of the tool that a page has, in a folder of their own; what
    needs a whole machine, such as pip install, is left out."""
    scripts = [block for block in all_blocks(tree)
               if block.page == page and block.language == "sh"
               and block.reason is None]
    lines = [line for block in scripts
             for line in re.sub(r"\\\n", " ", block.text).splitlines()
             if line.startswith("loaderbench ")]
    if not lines:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if "loaderbench gen photos" not in "".join(lines):
            photos(build, Path(folder))
        env = dict(os.environ, PATH="%s:%s" % (tool(build).parent,
                                               os.environ["PATH"]))
        for line in lines:
            done = subprocess.run(["sh", "-c", line], cwd=folder, env=env,
                                  stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                print("%s: '%s' fails with status %d:\n%s" % (
                    page, line, done.returncode, done.stdout))
                sys.exit(1)
    return len(lines)


def run(tree, build):
    n = sum(run_page(tree, build, page) for page in pages(tree)
            if page.startswith(RUN_IN))
    print("%d commands ran" % n)
    return 0 if n else 1


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("list", "check", "run"):
        sys.exit(__doc__)
    tree = Path(sys.argv[1]).resolve()
    if sys.argv[2] == "list":
        for block in all_blocks(tree):
            print("%s: %s: %s" % (block.place, block.language, who(block)))
        return 0
    if shutil.which("cc") is None:
        print("skipped: there is no compiler 'cc'")
        return 77
    build = Path(sys.argv[3]).resolve()
    return {"check": check, "run": run}[sys.argv[2]](tree, build)


if __name__ == "__main__":
    sys.exit(main())
