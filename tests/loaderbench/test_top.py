# SPDX-License-Identifier: Apache-2.0
"""loaderbench top: on a terminal of its own, beside a loader that works, and
beside one that is killed."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from support import (TOOL, contains, equal, expect, generate, json_of, main,
                     on_double, skip, tool)

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
LIMIT = 60  # seconds until something that must come has come


class Run:
    """A loader that works until it is ended."""

    def __init__(self, tmp, *arguments, env=None):
        folder = os.path.join(tmp, "set")
        if not os.path.isdir(folder):
            generate(tmp)
        self.process = subprocess.Popen(
            [TOOL, "run", folder, "--seconds", "600", "--batch-size", "4",
             "--consumer-ms", "5", "--quiet", "--warmup", "1"]
            + [str(a) for a in arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, **(env or {})))
        self.pid = self.process.pid
        self.wait_for_page()

    def wait_for_page(self):
        end = time.monotonic() + LIMIT
        while True:
            done = tool("top", self.pid, "--json", "-", "--interval", "0.1")
            if done.rc == 0 and json.loads(done.out)["total"]["batches"] > 0:
                return
            if time.monotonic() > end:
                raise AssertionError("no page: " + done.err)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Screen:
    """What a terminal without wrapping would show."""

    def __init__(self, width, height):
        self.text = ""
        self.width, self.height = width, height
        self.rows = {}
        self.x = self.y = 0
        self.other = self.hidden = False
        self.longest = 0

    def resize(self, width, height):
        self.width, self.height = width, height
        self.longest = 0

    def put(self, text):
        self.text += text
        token = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]|[^\x1b]")
        at = 0
        while at < len(self.text):
            found = token.match(self.text, at)
            if not found:
                break  # half a sequence
            self.obey(found.group())
            at = found.end()
        self.text = self.text[at:]

    def obey(self, t):
        if t == "\r":
            self.x = 0
        elif t == "\n":
            self.y += 1
            if self.y >= self.height:
                raise AssertionError("the screen scrolled")
        elif not t.startswith("\x1b"):
            row = self.rows.get(self.y, "").ljust(self.x)
            self.rows[self.y] = row[:self.x] + t + row[self.x + 1:]
            self.x += 1
            self.longest = max(self.longest, self.x)
        elif t == "\x1b[H":
            self.x = self.y = 0
        elif t in ("\x1b[K", "\x1b[J"):
            if t == "\x1b[J":
                self.rows = {y: r for y, r in self.rows.items() if y <= self.y}
            # Behind the last column it stands on the last character.
            at = min(self.x, self.width - 1)
            self.rows[self.y] = self.rows.get(self.y, "")[:at]
        elif t in (ENTER, LEAVE):
            self.other = t == ENTER
        elif t in ("\x1b[?25l", "\x1b[?25h"):
            self.hidden = t.endswith("l")
        elif not (t.endswith("m") or t.startswith("\x1b[?7")):
            raise AssertionError("a sequence nobody asked for: %r" % t)

    def shown(self):
        return "\n".join(self.rows.get(y, "") for y in range(self.height))


class Top:
    """loaderbench top on a terminal."""

    def __init__(self, *arguments, width=80, height=24):
        self.ours, self.theirs = pty.openpty()
        self.screen = Screen(width, height)
        self.set_size(width, height)
        self.before = termios.tcgetattr(self.theirs)
        self.raw = b""
        self.process = subprocess.Popen(
            [TOOL, "top"] + [str(a) for a in arguments], stdin=self.theirs,
            stdout=self.theirs, stderr=subprocess.PIPE,
            env=dict(os.environ, TERM="xterm"))

    def set_size(self, width, height):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ,
                    struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds):
        ready, _, _ = select.select([self.ours], [], [], seconds)
        if ready:
            data = os.read(self.ours, 65536)
            self.raw += data
            self.screen.put(data.decode("utf-8", "replace"))

    def until(self, condition):
        """Reads until the screen is as it should be."""
        end = time.monotonic() + LIMIT
        while not condition(self.screen.shown()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError("never came; rc %r:\n%s"
                                     % (self.process.poll(),
                                        self.screen.shown()))
            self.read(0.1)

    def until_text(self, text):
        self.until(lambda shown: text in shown)

    def resize(self, width, height):
        self.set_size(width, height)
        self.process.send_signal(signal.SIGWINCH)
        self.screen.resize(width, height)

    def press(self, key):
        os.write(self.ours, key.encode())

    def quits(self):
        self.press("q")
        return self.ends(0)

    def ends(self, rc):
        """It ends, and leaves the terminal as it was. Returns its messages."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise AssertionError("does not end")
            self.read(0.05)
        while select.select([self.ours], [], [], 0)[0]:
            self.read(0)
        messages = self.process.stderr.read().decode()
        self.process.stderr.close()
        equal(self.process.returncode, rc, "exit status; " + messages)
        equal(self.screen.other, False, "still on the other screen")
        equal(self.screen.hidden, False, "cursor still hidden")
        contains(self.raw.decode("utf-8", "replace"), "\x1b[?7h")
        after = termios.tcgetattr(self.theirs)
        equal(after, self.before, "modes of the terminal")
        os.close(self.ours)
        os.close(self.theirs)
        return messages


def numbers(shown):
    return set(re.findall(r"\d[\d.:]*", shown))


def up(shown):
    return re.search(r"up [\d:]+", shown).group()


def batches(shown):
    found = re.search(r"batches (\d+)", shown)
    return int(found.group(1)) if found else -1


def case_attaches(tmp):
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "0.3")
        top.until_text("process %d, loader 0" % run.pid)
        for words in ("images/s", "read MB/s", "host stall", "queue ",
                      "workers", "CPU:", "q quit"):
            top.until_text(words)
        first = batches(top.screen.shown())
        top.until(lambda shown: batches(shown) > first)
        assert top.screen.other and top.screen.hidden
        assert top.screen.longest <= 80, top.screen.longest
        top.press("h")
        top.until_text("pause, continue")
        top.press("h")
        top.until_text("images/s")
        equal(top.quits(), "")


def case_pauses(tmp):
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "0.2")
        top.until_text("images/s")
        top.press(" ")
        top.until_text("paused; space continues")
        at = batches(top.screen.shown())
        end = time.monotonic() + 1.5  # six updates that it does not show
        while time.monotonic() < end:
            top.read(0.1)
            equal(batches(top.screen.shown()), at)
        top.press(" ")
        top.until(lambda shown: batches(shown) > at)
        top.quits()


def case_killed(tmp):
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "0.2")
        top.until_text("images/s")
        run.process.kill()  # nobody has waited for it yet
        top.until_text("is gone")
        top.until_text("images/s")
        run.process.wait()
        top.quits()


def case_dies_before_it_quits(tmp):
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "0.2")
        top.until_text("images/s")
        run.process.kill()
        run.process.wait()
        top.until_text("is gone")
        contains(top.quits(), "is gone")


def case_ends_with_help_open(tmp):
    """The last state is shown, which nobody could see behind the help."""
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "0.2")
        top.until_text("images/s")
        top.press("h")
        top.until_text("pause, continue")
        run.process.kill()
        top.until_text("is gone")
        top.until_text("images/s")
        run.process.wait()
        top.quits()


def case_history(tmp):
    """A character for each update so far."""
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "0.2", height=30)
        top.until(lambda shown: re.search(r"^  so far +[_.:=+*#%@-]{5}",
                                          shown, re.M))
        top.quits()


def case_waits_for_a_loader(tmp):
    folder = generate(tmp)
    later = subprocess.Popen(
        ["sh", "-c", 'read x; exec "$0" "$@"', TOOL, "run", folder,
         "--seconds", "600", "--batch-size", "4", "--quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        expect(tool("top", later.pid, "--once"), 2)
        top = Top(later.pid, "--wait", "--interval", "0.2")
        later.stdin.write(b"\n")
        later.stdin.close()
        top.until_text("images/s")
        top.quits()
    finally:
        later.kill()
        later.wait()
    expect(tool("top", later.pid, "--wait"), 2, "no process")


def case_small(tmp):
    with Run(tmp) as run:
        for width, height in ((40, 10), (20, 4), (200, 60)):
            top = Top(run.pid, "--interval", "0.2", width=width, height=height)
            top.until_text("process" if height < 5 else "host stall")
            if width >= 40:  # below that the title has no room for it
                first = up(top.screen.shown())
                top.until(lambda shown, at=first: up(shown) != at)
            assert top.screen.longest <= width, top.screen.longest
            title = top.screen.rows[0]  # it is cut, and nothing more is lost
            assert width - 10 < len(title) <= width or width == 200, title
            assert title.endswith(">") or width == 200, title
            top.quits()


def case_numbers_are_whole(tmp):
    """A number that has no room is left out: half of it would be another."""
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "0.2", width=200)
        top.until_text("images/s")
        top.until(lambda shown: batches(shown) > 100)
        top.press(" ")
        top.until_text("paused; space continues")
        all_of = numbers(top.screen.shown())
        for width in range(64, 20, -1):
            top.resize(width, 24)
            top.until(lambda shown, most=width:
                      max(map(len, shown.split("\n"))) <= most)
            shown = top.screen.shown()
            assert numbers(shown) <= all_of, "%d columns:\n%s" % (width, shown)
        top.quits()


def case_resized(tmp):
    with Run(tmp) as run:
        top = Top(run.pid, "--interval", "30")  # only the size changes
        top.until_text("q quit")
        top.resize(40, 8)
        # All of it: a part may be drawn when the rest is read.
        top.until(lambda shown: "q quit" not in shown and "host stall" in shown
                  and max(map(len, shown.split("\n"))) <= 40)
        top.resize(100, 30)
        top.until_text("q quit")
        assert top.screen.longest <= 100, top.screen.longest
        top.quits()


def case_signals(tmp):
    with Run(tmp) as run:
        for number in (signal.SIGINT, signal.SIGTERM):
            top = Top(run.pid)
            top.until_text("images/s")
            top.process.send_signal(number)
            top.ends(130)


def case_ctrl_c(tmp):
    """The key, on a terminal that is the process's own."""
    with Run(tmp) as run:
        pid, fd = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.execvp(TOOL, [TOOL, "top", str(run.pid)])
        seen = b""
        while b"images/s" not in seen:
            seen += os.read(fd, 4096)
        os.write(fd, b"\x03")
        try:
            while True:
                seen += os.read(fd, 4096)
        except OSError:
            pass
        _, status = os.waitpid(pid, 0)
        equal(os.WEXITSTATUS(status), 130)
        contains(seen.decode("utf-8", "replace"), LEAVE)
        os.close(fd)


def case_once(tmp):
    with Run(tmp) as run:
        done = expect(tool("top", run.pid, "--once", "--interval", "0.3"), 0)
        contains(done.out, "process %d, loader 0" % run.pid)
        contains(done.out, "host stall")
        assert "\x1b" not in done.out, done.out
        # Without a terminal it goes on, as text.
        process = subprocess.Popen(
            [TOOL, "top", str(run.pid), "--interval", "0.2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = 0
        for line in process.stdout:
            assert "\x1b" not in line, line
            seen += line.startswith("process ")
            if seen == 3:
                run.process.kill()
                break
        out, err = process.communicate()
        contains(out, "is gone")
        contains(err, "is gone")
        equal(process.returncode, 0)


def case_json(tmp):
    with Run(tmp) as run:
        doc = json_of("top", run.pid)
        while doc["rates"]["images_per_second"] == 0:  # others had the cores
            doc = json_of("top", run.pid)
        equal((doc["schema_version"], doc["command"]), (1, "top"))
        equal(doc["process"]["pid"], run.pid)
        equal(doc["queue"]["batch_size"], 4)
        assert 0 <= doc["stall"]["host_fraction"] <= 1, doc["stall"]
        total = sum(doc["stall"]["causes"].values())
        assert abs(total - doc["stall"]["host_fraction"]) < 0.01, doc["stall"]
        equal(doc["gpu"], None)
        equal(doc["stall"]["device_fraction"], None)
        assert doc["verdict"]["code"], doc["verdict"]
        equal(doc["tuner"]["mode"], "auto")
        assert doc["tuner"]["state"], doc["tuner"]
        equal(doc["stuck_workers"], 0)
        text = expect(tool("top", run.pid, "--once", "--interval", "0.3"), 0)
        contains(text.out, "tuner: auto, ")
        assert doc["placement"] is None and "placement" not in text.out, text


def case_placement(tmp):
    cpu = min(os.sched_getaffinity(0))
    with Run(tmp, env={"FEEDLINE_AFFINITY": str(cpu)}) as run:
        words = "workers on CPUs %d" % cpu
        equal(json_of("top", run.pid)["placement"], words)
        text = expect(tool("top", run.pid, "--once"), 0).out
        contains(text, "placement: " + words)


def case_device(tmp):
    """What there is more of with a GPU, on the doubles of CUDA and NVML."""
    with Run(tmp, "--device", "cuda:0",
             env=on_double(nvml=os.devnull)) as run:
        for _ in range(60):  # until it has waited for two batches
            doc = json_of("top", run.pid, "--interval", 1)
            copied = doc["rates"]["copied_bytes_per_second"]
            if doc["stall"]["device_fraction"] is not None and copied > 0:
                break
        assert 0 <= doc["stall"]["device_fraction"] <= 1, doc["stall"]
        assert copied > 0, doc["rates"]
        assert doc["gpu"]["power_watts"] > 0, doc["gpu"]
        assert doc["gpu"]["memory_total_bytes"] > 0, doc["gpu"]
        text = expect(tool("top", run.pid, "--once"), 0).out
        for words in ("device idle", "H2D GB/s", "GPU: util", "not efficiency"):
            contains(text, words)


def case_lists(tmp):
    with Run(tmp) as one, Run(tmp) as other:
        done = expect(tool("top"), 0)
        contains(done.out, "%8d      0  " % one.pid)
        contains(done.out, "%8d      0  " % other.pid)
        doc = json_of("top")
        pids = [each["pid"] for each in doc["loaders"]]
        assert one.pid in pids and other.pid in pids, pids
        # From one to the others and around.
        top = Top(one.pid)
        top.until_text("process %d," % one.pid)
        for _ in range(len(pids) + 8):  # others may come and go
            shown = top.screen.shown().split(",")[0]
            if shown == "process %d" % other.pid:
                break
            top.press("n")
            top.until(lambda s, at=shown: s.split(",")[0] != at)
        contains(top.screen.shown(), "process %d," % other.pid)
        top.quits()


def case_hidden(tmp):
    """With live=false there is nothing to see."""
    generate(tmp)
    process = subprocess.Popen(
        [TOOL, "run", os.path.join(tmp, "set"), "--seconds", "600", "--no-live",
         "--json", os.path.join(tmp, "out"), "--quiet"])
    try:
        time.sleep(1)  # a page would be there by then
        expect(tool("top", process.pid), 2, "option live")
    finally:
        process.kill()
        process.wait()


def case_mistakes(tmp):
    expect(tool("top", "abc"), 2, "'abc' is not a process ID")
    expect(tool("top", "0"), 2, "'0' is not a process ID")
    expect(tool("top", "99999999999"), 2, "is not a process ID")
    expect(tool("top", 2 ** 31 - 2), 2, "there is no process 2147483646")
    expect(tool("top", os.getpid()), 2, "no feedline loader")
    with Run(tmp) as run:
        expect(tool("top", run.pid, "--loader", 5), 2, "it has 0")
        expect(tool("top", run.pid, "--interval", 0), 2, "interval")


def case_another_user(tmp):
    if os.geteuid() != 0:
        skip("only root can become another user")

    def become_nobody():
        os.setgid(65534)
        os.setuid(65534)

    with Run(tmp) as run:
        try:
            process = subprocess.run(
                [TOOL, "top", str(run.pid), "--once"],
                preexec_fn=become_nobody, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, cwd="/", check=False)
        except (PermissionError, subprocess.SubprocessError) as error:
            skip("another user cannot run the tool: %s" % error)
        equal(process.returncode, 4, process.stderr)
        contains(process.stderr, "belongs to user 0")
        equal(run.process.poll(), None, "the one that was looked at")


if __name__ == "__main__":
    main(globals())
