#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose system calls answer as a table says.

    seccomp.py TABLE COMMAND...

A line of a table:

    NAME ERRNO                 the call fails with that error
    NAME ERRNO argN&MASK       if that argument has one of these bits
    NAME ERRNO argN=VALUE      if it has that value (its lower 32 bits)
    *    ERRNO from NUMBER     all calls from that number on

What no line is about is allowed. Exit status 77, with a reason: this kernel or
machine has no filters, or nobody here knows the numbers of calls.
"""
import ctypes
import errno
import os
import re
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, JUMP_LEAST, JUMP_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER_AT, ARCH_AT, ARGS_AT = 0, 4, 16


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


class Numbers:
    """Of system calls: libseccomp's, or those of the C library's header."""

    def __init__(self):
        machine = os.uname().machine
        arches = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
        if machine not in arches:
            skip("system calls of %s are not known here" % machine)
        self.arch = arches[machine]
        self._named = {}
        self._library = None
        try:
            self._library = ctypes.CDLL("libseccomp.so.2")
        except OSError:
            self._read("/usr/include/%s-linux-gnu/asm/unistd_64.h" % machine)

    def _read(self, header):
        try:
            with open(header, encoding="utf-8") as f:
                found = re.findall(r"#define __NR_(\w+) (\d+)", f.read())
        except OSError:
            skip("neither libseccomp.so.2 nor " + header)
        self._named = {name: int(number) for name, number in found}

    def of(self, name):
        """None: there is no such call here."""
        if self._library is None:
            return self._named.get(name)
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        return number if number >= 0 else None


def step(code, value, yes=0, no=0):
    return struct.pack("=HBBI", code, yes, no, value)


def rule(numbers, words):
    """The steps of a line; the number is loaded before, and after."""
    name, error = words[0], getattr(errno, words[1])
    fail = step(RETURN, FAIL | error)
    if name == "*":
        assert words[2] == "from", words
        return [step(JUMP_LEAST, int(words[3]), 0, 1), fail]
    number = numbers.of(name)
    if number is None:
        return []
    if len(words) == 2:
        return [step(JUMP_EQUAL, number, 0, 1), fail]
    found = re.fullmatch(r"arg(\d)([&=])(\w+)", words[2])
    code = JUMP_BITS if found.group(2) == "&" else JUMP_EQUAL
    return [step(JUMP_EQUAL, number, 0, 4),
            step(LOAD, ARGS_AT + 8 * int(found.group(1))),
            step(code, int(found.group(3), 0), 0, 1),
            fail,
            step(LOAD, NUMBER_AT)]


def program(table):
    numbers = Numbers()
    steps = [step(LOAD, ARCH_AT), step(JUMP_EQUAL, numbers.arch, 1, 0),
             step(RETURN, ALLOW), step(LOAD, NUMBER_AT)]
    with open(table, encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                steps += rule(numbers, words)
    return steps + [step(RETURN, ALLOW)]


def install(steps):
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(b"".join(steps))
    filters = struct.pack("=HxxxxxxQ", len(steps), ctypes.addressof(code))
    described = ctypes.create_string_buffer(filters)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, MODE_FILTER, described, 0, 0):
        skip("seccomp: " + os.strerror(ctypes.get_errno()))


def main():
    install(program(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
