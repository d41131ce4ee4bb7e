# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a line on a terminal, in a pipe only if asked for."""
import os
import re

from support import equal, expect, generate, main, on_terminal, tool

# What each shows while it works, and the work.
LONG = (
    (("gen", "made", "--images", 24), r"gen: \d+ of 24 images, [\d.]+/s"),
    (("scan", "set"), r"scan: \d+ of 24 samples, [\de+.]+/s"),
    (("pack", "set", "shards"), r"pack: \d+ of 24 samples, [\de+.]+/s"),
    (("pack", "set", "again", "--format", "jpeg"),
     r"pack: \d+ of 24 samples, [\de+.]+/s"),
    (("io", "set", "--seconds", 0.01, "--rounds", 1),
     r"io: \d+ of \d+ measurements, [\de+.]+/s"),
    (("run", "set", "--seconds", 0.5, "--batch-size", 4),
     r"\d+ images, \d+ images/s( \(\d+ %)?"),
    (("tune", "set", "--seconds", 0.5, "--batch-size", 4),
     r"\d\.\d s: .*; workers \d"),
    (("sweep", "set", "--workers", 1, "--depth", 2, "--seconds", 0.3,
      "--repeat", 1, "--batch-size", 4),
     r"(1/1, 1 worker, depth 2|not counted): \d+ images, \d+ images/s"),
    (("headroom", "set", "--seconds", 0.3, "--batch-size", 4),
     r"now: \d+ images, \d+ images/s \(\d+ %"),
)


def shown(text):
    """The lines that replaced each other."""
    return [part.split("\r")[0].split("\n")[0]
            for part in text.split("\r\x1b[K")[1:]]


def without_warnings(lines):
    """Those of the machine, such as a file system without direct reads."""
    return [line for line in lines
            if not line.startswith("loaderbench: warning: ")]


def case_on_a_terminal(tmp):
    generate(tmp)
    for words, pattern in LONG:
        with on_terminal(tmp, *words, "--quiet") as running:
            text = running.rest()
            equal(running.returncode, 0, text)
        lines = without_warnings(shown(text))
        assert any(re.match(pattern, line) for line in lines), (words, lines)
        for line in lines:
            assert len(line) < 80, line
        # The last one takes away what was there.
        last = shown(text)[-1]
        assert last.startswith("loaderbench: warning: ") or not last, words


def case_narrow(tmp):
    generate(tmp)
    with on_terminal(tmp, "run", "set", "--seconds", 0.4, "--batch-size", 4,
                     "--quiet", columns=20) as running:
        lines = shown(running.rest())
        equal(running.returncode, 0)
    assert lines and max(map(len, lines)) < 20, lines


def case_in_a_pipe(tmp):
    """Nothing, or lines of their own."""
    generate(tmp)
    os.chdir(tmp)
    for words, pattern in LONG:
        words = ["other" if w == "made" else "more" if w == "shards" else
                 "most" if w == "again" else w for w in words]
        done = expect(tool(*words, "--quiet"), 0)
        equal(without_warnings(done.err.splitlines()), [], words)
    for words, pattern in LONG:
        done = expect(tool(*words, "--quiet", "--progress"), 0)
        lines = done.err.splitlines()
        assert any(re.match("loaderbench: " + pattern, line)
                   for line in lines), (words, lines)
        assert "\r" not in done.err and "\x1b" not in done.err, done.err


def case_time_left(tmp):
    """Of a limit that is known. After a slow start it is thought to be long."""
    generate(tmp)
    with on_terminal(tmp, "run", "set", "--seconds", 2.5, "--batch-size",
                     4) as running:
        text = running.rest()
    left = re.findall(r"\((\d+) %, (\d+) s left\)", text)
    assert left, text
    parts = [int(part) for part, _ in left]
    equal(parts, sorted(parts))
    assert 0 <= int(left[-1][1]) <= int(left[0][1]), left


if __name__ == "__main__":
    main(globals())
