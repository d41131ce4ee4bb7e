# SPDX-License-Identifier: Apache-2.0
"""Everything of the project that writes to a disk, as commands: each of them
once as it should be, so that others can compare.

A scene has a folder of its own with what it reads in `in`; what it writes goes
to `out`, which may be there already.
"""
import contextlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TESTS, "loaderbench"))

from support import (TOOL, digits, equal, expect, files_below,  # noqa: E402
                     generate, needs_packed, tool)

SERVER = os.path.join(TESTS, "store", "fault_server.py")


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


# A PNG of one pixel.
DOT = (b"\x89PNG\r\n\x1a\n" +
       chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
       chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))

# One of each thread: the n-th change is the same in each run.
STEADY = ("--workers", 1, "--tuner", "off", "--reader", "pread",
          "--io-depth", 1)


class Scene:
    """same: what must be equal in `out` after each run, as a function of it."""

    def __init__(self, tmp, name):
        self.source = os.path.join(tmp, "in")
        self.out = os.path.join(tmp, "out")
        self.env = {}
        self.stack = contextlib.ExitStack()
        getattr(self, "_" + name)()

    def command(self):
        return [TOOL] + [str(a) for a in self.arguments]

    def environment(self):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith("FEEDLINE_")}
        # Leaks are looked for by a tracer, and there is one already.
        options = clean.get("ASAN_OPTIONS", "")
        clean["ASAN_OPTIONS"] = options + ":detect_leaks=0"
        clean.update(self.env)
        return clean

    def run(self, front=(), **more):
        return subprocess.run([str(a) for a in front] + self.command(),
                              env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True,
                              check=False, **more)

    def clear(self):
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)

    def path(self, name):
        return os.path.join(self.out, name)

    # ---- What there is -----------------------------------------------------

    def _photos(self):
        generate(os.path.dirname(self.source), images=8, classes=2, name="in")

    def _pack(self):
        self._photos()
        self.arguments = ("pack", self.source, self.path("shards"),
                          "--shard-size", "400k", "--order", "random",
                          "--workers", 1)
        self.same = files_below

    def _pack_images(self):
        self._photos()
        with open(os.path.join(self.source, "class_001", "z.jpg"), "wb") as f:
            f.write(b"this is not an image\n")
        self.arguments = ("pack", self.source, self.path("shards"),
                          "--format", "jpeg", "--longest-side", 100,
                          "--on-error", "skip", "--sample", 2, "--quarantine",
                          self.path("bad.txt"), "--workers", 1)
        self.same = files_below

    def _unpack(self):
        tmp = os.path.dirname(self.source)
        photos = generate(tmp, images=4, classes=2, name="photos")
        needs_packed()
        expect(tool("pack", photos, self.source, "--store=packed"), 0)
        self.arguments = ("pack", "tar:" + self.source, self.path("files"),
                          "--unpack")
        self.same = files_below

    def _gen(self):
        self.arguments = ("gen", self.path("made"), "--images", 6, "--classes",
                          2, "--format", "tar", "--shard-images", 3,
                          "--force")
        self.same = files_below

    def _scan(self):
        self._photos()
        with open(os.path.join(self.source, "class_001", "z.jpg"), "wb") as f:
            f.write(b"this is not an image\n")
        self.arguments = ("scan", self.source, "--quarantine",
                          self.path("bad.txt"), "--workers", 1)
        self.same = files_below

    def _run(self):
        """The JPEG index, the log, metrics, a trace, results, a page."""
        self._photos()
        self.env = {"FEEDLINE_CACHE_DIR": self.path("cache")}
        self.arguments = ("run", self.source, "--epochs", 2, "--batch-size", 4,
                          "--jpeg-index=true", "--sink", "hash",
                          "--stats-log", self.path("log.jsonl"),
                          "--metrics", self.path("feedline.prom"),
                          "--trace", self.path("trace.json"),
                          "--json", self.path("run.json"),
                          "--report", self.path("page.html")) + STEADY
        self.same = self._stream

    def _stream(self, out):
        """And that each file is whole."""
        with open(os.path.join(out, "run.json"), encoding="utf-8") as f:
            document = json.load(f)
        with open(os.path.join(out, "trace.json"), encoding="utf-8") as f:
            assert json.load(f)["feedline_end"]["complete"], "the trace"
        torn = 0
        with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as f:
            lines = f.read().split("\n")
        equal(lines.pop(), "", "the end of the log")
        for line in lines:
            try:
                json.loads(line)
            except ValueError:
                torn += 1
        assert torn <= 1 and len(lines) > torn, (torn, lines)
        return document["result"]["stream_hash"]

    def _index(self):
        """The index of a large shard."""
        path = os.path.join(self.source, "many.tar")
        os.mkdir(self.source)
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as shard:
            for i in range(10000):
                info = tarfile.TarInfo("%05d.png" % i)
                info.size = len(DOT)
                shard.addfile(info, io.BytesIO(DOT))
        time.sleep(2.1)  # a younger one is not kept
        self.env = {"FEEDLINE_CACHE_DIR": self.path("cache")}
        self.arguments = ("run", "tar:" + path, "--batches", 1, "--warmup",
                          0, "--batch-size", 4) + STEADY
        self.same = files_below

    def _remote(self):
        """Chunks of a server's objects, on a disk."""
        tmp = os.path.dirname(self.source)
        photos = generate(tmp, images=8, classes=2, name="photos")
        expect(tool("pack", photos, self.source), 0)
        server = subprocess.Popen([sys.executable, "-B", SERVER, self.source],
                                  stdout=subprocess.PIPE,
                                  universal_newlines=True)
        self.stack.callback(server.wait)
        self.stack.callback(server.terminate)
        url = "tar:http://127.0.0.1:%d/shard-000000.tar" % int(
            server.stdout.readline())
        self.arguments = ("run", url, "--epochs", 2, "--batch-size", 4,
                          "--remote-cache", self.path("chunks"), "--sink",
                          "hash", "--json", self.path("run.json"), "--workers",
                          1, "--tuner", "off")
        self.same = self._stream_alone

    def _stream_alone(self, out):
        with open(os.path.join(out, "run.json"), encoding="utf-8") as f:
            return json.load(f)["result"]["stream_hash"]

    def _profile(self):
        """What a tuner has found."""
        digits(os.path.dirname(self.source), name="in")
        self.arguments = ("tune", self.source, "--consumer-ms", 4, "--hold", 0,
                          "--profile", self.path("profile.json"))
        self.same = self._document

    def _document(self, out):
        with open(os.path.join(out, "profile.json"), encoding="utf-8") as f:
            return json.load(f)["feedline_profile"]


NAMES = ("pack", "pack_images", "unpack", "gen", "scan", "run", "index",
         "remote", "profile")


def names_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)
