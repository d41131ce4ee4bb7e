# SPDX-License-Identifier: Apache-2.0
"""One run of a command on some cores: the document it prints, or why there is
none, and how busy others were meanwhile.

A loader that is measured has threads and processes of its own, and one that is
broken can do anything: spin for ever, be killed, or leave its workers behind.
So a run has a time limit and a process group of its own, which ends with it,
whatever happened; and what it prints goes to files, for a pipe stays open as
long as any worker that was left behind.
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

ENDS = signal.SIGTERM, signal.SIGHUP


class Failed(Exception):
    """There is no result; the text says why not."""


def run(command, cores, limit):
    """What it prints as JSON last, and the share of the cores others took."""
    begun, busy, own = time.monotonic(), busy_seconds(cores), children_seconds()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            status = run_group(command, cores, limit, out, err)
        except OSError as e:
            raise Failed("%s: %s" % (command[0], e.strerror)) from e
        seconds = time.monotonic() - begun
        busy = busy_seconds(cores) - busy - (children_seconds() - own)
        document = last_json(text_of(out))
        if status != 0 or document is None:
            raise Failed(why_not(status, seconds, limit, text_of(err)))
    return document, max(0.0, busy / (seconds * len(cores)))


def run_group(command, cores, limit, out, err):
    """Its exit status, as subprocess has it; None: it was over the limit."""
    # A signal that comes while the child begins would leave it to nobody.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        child = subprocess.Popen(command, stdout=out, stderr=err,
                                 preexec_fn=settled(cores, before),
                                 start_new_session=True)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return child.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # The group outlives the child as long as one worker is in it.
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()


def settled(cores, signals):
    """For subprocess: the child and its threads stay on these cores, and hear
    the signals that this program heard before."""
    def begin():
        os.sched_setaffinity(0, cores)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    return begin


def end_with_its_child():
    """A SIGTERM or SIGHUP unwinds this program as Ctrl-C does, so that what is
    being measured does not stay behind and spin."""
    def leave(number, _frame):
        sys.exit("ended by " + signal_name(number))

    for number in ENDS:
        signal.signal(number, leave)


def why_not(status, seconds, limit, text):
    if status is None:
        return "no result in %g s (--limit)%s" % (limit, its_words(text))
    if status < 0:
        return "ended by %s after %.1f s%s" % (
            signal_name(-status), seconds, its_words(text))
    if status == 0:
        return "ended without a result" + its_words(text)
    return last_words(text) or "ended with status %d without a word" % status


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


def its_words(text):
    words = last_words(text)
    return "; its last words: " + words if words else ""


def last_words(text):
    lines = [x for x in text.splitlines() if re.search(r"\w", x)]
    return lines[-1].strip() if lines else ""


def text_of(file):
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def last_json(text):
    """loaderbench prints a document; a peer's last line is one, and what its
    libraries print comes before it. None: neither."""
    text = text.strip()
    for part in (text, text[text.rfind("\n") + 1:]):
        try:
            document = json.loads(part)
        except ValueError:
            continue
        if isinstance(document, dict):
            return document
    return None


def busy_seconds(cores):
    """What these cores did for anybody, stolen time included."""
    ticks = 0
    with open("/proc/stat", encoding="ascii") as f:
        for text in f:
            name, *values = text.split()
            if name[:3] == "cpu" and name[3:].isdigit() \
                    and int(name[3:]) in cores:
                user, nice, system, _, _, irq, softirq, steal = \
                    map(int, values[:8])
                ticks += user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
