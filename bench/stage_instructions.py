#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions an image takes in each stage of decoding.

    bench/stage_instructions.py LOADERBENCH [URI] [-- OPTION ...]

LOADERBENCH is one of a build with symbols; URI, of JPEG files or of what was
made of them, is 64 generated images where there is none. Options are those of
`loaderbench run`. Runs one epoch and then two under valgrind's callgrind: the
difference is the second epoch, without start-up. Other than times, these
numbers are nearly the same on a busy machine, and on another one with the same
vector instructions; they do not know how long an instruction takes.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# The first line whose file and function match has the cost. What the C library
# does counts for its caller. What none matches, reading and statistics, depends
# on how long it takes, and is left out.
STAGES = [
    (
        "unpack",
        r"formats/jpeg_(entropy|skip)|fdl_huffman_long|decode/packed/"
        r"|jpeg_packed|libjpeg.*decode_mcu|jpeg_fill_bit_buffer",
    ),
    (
        "upsampling and colour",
        r"jpeg_transform\.c:(rgb|upsample)|chroma_row"
        r"|libjpeg.*(ycc|upsample)",
    ),
    (
        "inverse transform",
        r"formats/jpeg_transform|formats/jpeg_rows" r"|libjpeg.*idct",
    ),
    ("headers and tables", r"formats/|libjpeg|libpng|libwebp|libz"),
    ("last pass", r"kernels/finish|kernels/half"),
    ("resampling", r"kernels/|decode/render_sample"),
    ("drawing, other steps", r"/decode/"),
]
# Lines of the file that name something, and whose numbers they share.
KINDS = {
    "ob": "ob",
    "cob": "ob",
    "fl": "fl",
    "fi": "fl",
    "fe": "fl",
    "cfi": "fl",
    "cfl": "fl",
    "fn": "fn",
    "cfn": "fn",
}
LIBC = re.compile(r"/(libc|libm|ld-linux)[^/]*$")


def functions(path: pathlib.Path) -> tuple[dict[str, int], int]:
    """Instructions by "object file:function" of a file, and its images."""
    names: dict[tuple[str, str], str] = {}
    now = dict.fromkeys(KINDS, "")
    costs: dict[str, int] = collections.Counter()
    images, called = 0, False
    for line in path.read_text(errors="replace").splitlines():
        m = re.match(r"(\w+)=\((\d+)\)(?: (.*))?$", line)
        if m and m[1] in KINDS:
            table = KINDS[m[1]]
            now[m[1]] = names.setdefault((table, m[2]), m[3] or "")
        elif line.startswith("calls="):
            called = True
            if now["cfn"] == "fdl_decoder_render":
                images += int(line[6:].split()[0])
        elif line and line[0] in "0123456789+-*":
            callee = now["cob"] or now["ob"]
            own = not LIBC.search(now["ob"]) and now["fn"] != "(below main)"
            if own and (not called or LIBC.search(callee)):
                costs["%(ob)s %(fl)s:%(fn)s" % now] += int(line.split()[-1])
            if called:
                now["cob"] = ""
            called = False
    return costs, images


def run(args: argparse.Namespace, uri: str, epochs: int, folder: str):
    out = pathlib.Path(folder) / ("callgrind.%d" % epochs)
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=%s" % out]
    command += [args.loaderbench, "run", uri, "--epochs", str(epochs)]
    command += "--workers 1 --depth 1 --batch-size 8 --reader memory".split()
    done = subprocess.run(
        [*command, "--dtype", "u8", *args.options],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return functions(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loaderbench")
    parser.add_argument("uri", nargs="?")
    parser.add_argument("options", nargs="*", metavar="-- OPTION")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        uri = args.uri
        if not uri:
            uri = folder + "/photos"
            subprocess.run(
                [args.loaderbench, "gen", uri, "--images", "64"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        one, begun = run(args, uri, 1, folder)
        two, images = run(args, uri, 2, folder)
    images -= begun
    sums: dict[str, float] = collections.Counter()
    for key, cost in two.items():
        stage = next(
            (name for name, what in STAGES if re.search(what, key)), None
        )
        if stage:
            sums[stage] += (cost - one.get(key, 0)) / images / 1000
    print("| thousand instructions an image, of %d | |\n|---|---|" % images)
    for name, _ in STAGES:
        print("| %s | %.0f |" % (name, sums[name]))
    print("| together | %.0f |" % sum(sums.values()))


if __name__ == "__main__":
    main()
