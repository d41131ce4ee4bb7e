# SPDX-License-Identifier: Apache-2.0
"""Runs one program under a time limit, in a process group of its own."""
import os
import signal
import subprocess

LAST_WORDS_S = 1


def run(command, limit_s, log, env=None):
    """Its exit status; None if it was not done in time. Its output goes to the
    file `log`.

    What is not done gets SIGABRT first, upon which Python writes where each
    thread stands. Then the group is killed, and not waited for: a process that
    hangs in the GPU's driver cannot be killed at all.
    """
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT,
                                   env=env, start_new_session=True)
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)


def _end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGABRT)
        try:
            process.wait(LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def last_line(log):
    """The last line of an output that is not blank."""
    with open(log, encoding="utf-8", errors="replace") as f:
        lines = [line.strip() for line in f if line.strip()]
    return lines[-1] if lines else ""
