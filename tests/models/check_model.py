#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets Spin go through every state of a model.

    check_model.py FILE [-DNAME...]              no error in any of them
    check_model.py FILE --finds BUG [-DNAME...]  with that bug one is found

The whole space has to be searched. Prints how many states there are.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
DEEPEST = 100000  # steps; a search that is cut there is none
NOT_ALL = ("Search not completed", "search truncated", "max search depth",
           "out of memory", "hash array is full")


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def must(command, folder):
    done = run(command, folder)
    if done.returncode:
        sys.exit("%s:\n%s" % (" ".join(command), done.stdout))
    return done.stdout


def verifier(model, defines, hasty, folder):
    """The program that searches, made of the model."""
    said = must(["spin", "-E-I" + ROOT, "-a", *defines,
                 os.path.join(ROOT, model)], folder)
    if said.strip():
        sys.exit("spin: " + said)
    must(["cc", "-O1" if hasty else "-O2", "-w", "-DCOLLAPSE", "-DNOFAIR",
          "-DSAFETY", "-o", "pan", "pan.c"], folder)
    return ["./pan", "-m%d" % DEEPEST, "-w22"]


def number(pattern, text):
    found = re.search(pattern, text)
    return int(float(found.group(1))) if found else None


def error_in(text):
    found = re.search(r"pan:\d+: (.*?) \(at depth", text)
    return found.group(1) if found else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--finds", metavar="BUG")
    parser.add_argument("--keep", metavar="FOLDER", help="pan, its trail")
    args, defines = parser.parse_known_args()
    if not shutil.which("spin"):
        print("skipped: spin is not installed")
        sys.exit(77)
    if args.finds:
        defines.append("-D" + args.finds)
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        search = verifier(args.model, defines, args.finds, folder)
        out = run(search, folder).stdout
    error, states = error_in(out), number(r"(\S+) states, stored", out)
    if args.finds:
        if not error:
            sys.exit("the planted bug was not found:\n" + out)
        print("found: " + error)
        return
    if error or number(r"errors: (\d+)", out) != 0:
        sys.exit("an error:\n" + out)
    if any(words in out for words in NOT_ALL):
        sys.exit("not all states were looked at:\n" + out)
    print("%d states, %d steps deep" % (
        states, number(r"depth reached (\d+)", out)))


main()
