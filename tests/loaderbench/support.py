# SPDX-License-Identifier: Apache-2.0
"""What the tests of the tool share. Python's standard library only.

A test is a function case_NAME(tmp) that gets an empty folder; the script runs
the one that its argument names. A failed assertion fails it.
"""
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

TOOL = os.environ.get("LOADERBENCH", "loaderbench")
IMAGES = 24  # of the small set: 4 classes of 6


class Done:
    def __init__(self, process):
        self.rc = process.returncode
        self.out = process.stdout
        self.err = process.stderr


def tool(*arguments, env=None):
    """Runs loaderbench without any FEEDLINE_* of the caller."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith("FEEDLINE_")}
    clean.update(env or {})
    return Done(subprocess.run([TOOL] + [str(a) for a in arguments], env=clean,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               universal_newlines=True, check=False))


def equal(value, expected, what=""):
    if value != expected:
        raise AssertionError("%s: %r, expected %r" % (what, value, expected))


def contains(text, part):
    if part not in text:
        raise AssertionError("%r is not in %r" % (part, text))


def expect(done, rc, message=None):
    """The exit status and, for a mistake, one clear line."""
    if done.rc != rc:
        raise AssertionError("exit status %d, expected %d\n%s%s"
                             % (done.rc, rc, done.out, done.err))
    for line in done.err.splitlines():
        if not line.startswith("loaderbench: "):
            raise AssertionError("on standard error: %r" % line)
    if message is not None:
        contains(done.err, message)
    return done


def json_of(*arguments, env=None, rc=0):
    """What a command writes as JSON."""
    return json.loads(expect(tool(*arguments, "--json", "-", env=env), rc).out)


def measured(*arguments, env=None, rc=0):
    return json_of("run", *arguments, env=env, rc=rc)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def put(tmp, content, name="in.json"):
    """A file of that document, and its path."""
    path = os.path.join(tmp, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(content, f)
    return path


def fits(text, columns=80):
    for line in text.splitlines():
        assert len(line) <= columns, line


def on_double(costs="devices=1", nvml=None):
    """The environment in which the double of the CUDA driver is the GPU, and
    that of NVML, which says what the file `nvml` has."""
    double, ml = (os.environ.get("LOADERBENCH_" + name)
                  for name in ("DOUBLE", "NVML"))
    if not double or nvml and not ml:
        skip("the library was built without the CUDA transfer")
    env = {"FEEDLINE_LIBCUDA": double, "CUDA_DOUBLE": costs + ",strict=1"}
    if nvml:
        env.update(FEEDLINE_NVML=ml, FEEDLINE_NVML_DOUBLE=nvml)
    return env


def generate(tmp, images=IMAGES, classes=4, seed=0, name="set"):
    folder = os.path.join(tmp, name)
    expect(tool("gen", folder, "--images", images, "--classes", classes,
                "--seed", seed, "--quiet"), 0)
    return folder


def digits(tmp, images=IMAGES, name="digits"):
    """Raw images in the format of MNIST: hardly any work."""
    folder = os.path.join(tmp, name)
    os.mkdir(folder)
    for kind, header, content in (
            ("images-idx3", (0x803, images, 28, 28),
             bytes(i * 7 % 256 for i in range(images * 28 * 28))),
            ("labels-idx1", (0x801, images),
             bytes(i % 4 for i in range(images)))):
        with open(os.path.join(folder, "train-%s-ubyte" % kind), "wb") as f:
            f.write(struct.pack(">%dI" % len(header), *header) + content)
    return folder


def files_below(folder):
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def damage(folder, count=2):
    """`count` files become nonsense; returns their paths."""
    paths = sorted(os.path.join(folder, p) for p in files_below(folder))
    for path in paths[:count]:
        with open(path, "wb") as f:
            f.write(b"this is not an image\n")
    return paths[:count]


def interrupted(tmp, logged, *arguments):
    """Sends Ctrl-C once a loader has logged `logged`; what was printed."""
    log = os.path.join(tmp, "stats.jsonl")
    env = dict(os.environ, FEEDLINE_STATS_LOG=log,
               FEEDLINE_STATS_INTERVAL="1s")
    running = subprocess.Popen([TOOL] + [str(a) for a in arguments], env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               universal_newlines=True)
    while running.poll() is None:
        if os.path.exists(log):
            with open(log, encoding="utf-8") as f:
                if logged in f.read():
                    break
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    for line in err.splitlines():
        assert line.startswith("loaderbench: "), line
    equal(running.returncode, 130, out + err)
    os.unlink(log)
    return out


class on_terminal:
    """loaderbench with standard output and error on a terminal of 24 x 80, in
    the folder `where`."""

    def __init__(self, where, *arguments, columns=80):
        self.where, self.arguments, self.columns = where, arguments, columns
        self.text, self.returncode = "", None

    def __enter__(self):
        self.end, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, self.columns, 0, 0))
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("FEEDLINE_")}
        env["TERM"] = "xterm"
        self.process = subprocess.Popen(
            [TOOL] + [str(a) for a in self.arguments], cwd=self.where, env=env,
            stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        return self

    def read(self):
        """False: it has closed its end."""
        try:
            more = os.read(self.end, 65536)
        except OSError:
            more = b""
        self.text += more.decode(errors="replace")
        return bool(more)

    def until(self, part):
        while part not in self.text:
            assert self.read(), "%r did not come: %s" % (part, self.text)

    def send_signal(self, number):
        self.process.send_signal(number)

    def rest(self):
        """All that it printed, once it has ended."""
        while self.read():
            pass
        self.returncode = self.process.wait()
        return self.text

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.end)


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def has_packed():
    """A build without libjpeg's jpegint.h decodes no packed JPEG."""
    return "packed JPEG" in expect(tool("--version"), 0).out


def needs_packed():
    if not has_packed():
        skip("built without jpegint.h")


def main(cases):
    name = sys.argv[1]
    tmp = tempfile.mkdtemp(prefix="loaderbench-")
    try:
        cases["case_" + name](tmp)
    finally:
        shutil.rmtree(tmp)
