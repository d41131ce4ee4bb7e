# SPDX-License-Identifier: Apache-2.0
"""What is typed: help, mistakes and what is said about them."""
import os
import re
import subprocess

from support import contains, equal, expect, generate, main, measured, tool

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEADER = os.path.join(ROOT, "include", "feedline", "feedline.h")
MANUAL = os.path.join(ROOT, "docs", "man", "loaderbench.1.scd")


def commands():
    """Those that --help lists, each with the line about it."""
    text = expect(tool("--help"), 0).out
    listed = text[text.index("Commands:"):text.index("\n\n'loaderbench")]
    return re.findall(r"^  ([a-z0-9]+)(.*)$", listed, re.M)


def case_version(tmp):
    with open(HEADER, encoding="utf-8") as f:
        numbers = re.findall(r"#define FEEDLINE_VERSION_[A-Z]+ (\d+)", f.read())
    done = expect(tool("--version"), 0)
    equal(done.out, "loaderbench %s\n" % ".".join(numbers[:3]))


def case_help(tmp):
    overview = expect(tool("--help"), 0).out
    for command in ("run", "headroom", "report", "gen", "h2d",
                    "case", "top"):
        contains(overview, "\n  %s " % command)
        text = expect(tool(command, "--help"), 0).out
        contains(text, "Usage: loaderbench %s " % command)
        equal(expect(tool(command, "-h"), 0).out, text)
        for line in (overview + text).splitlines():
            assert len(line) <= 80, line
    text = tool("run", "--help").out
    for option in ("--batch-size", "--workers N|auto", "--on-error",
                   "--dtype", "--consumer-ms", "--resume-at"):
        contains(text, "\n  " + option)


def case_overview_in_columns(tmp):
    for name, rest in commands():
        line = "  " + name + rest
        assert line[24:26] == "  " and line[26] > " ", line


def case_manual_has_all(tmp):
    with open(MANUAL, encoding="utf-8") as f:
        parts = dict(re.findall(r"^# ([A-Z0-9]+)\n(.*?)(?=^# |\Z)", f.read(),
                                re.M | re.S))
    for command, _ in commands():
        contains(parts["SYNOPSIS"], "*loaderbench* %s " % command)
        text = expect(tool(command, "--help"), 0).out
        own = text.split("\nLoader options")[0]
        for option in re.findall(r"^  --([a-z0-9-]+)", own, re.M):
            assert option == "help" or "*--%s*" % option in parts[
                command.upper()], "%s: --%s is not in the manual" % (command,
                                                                     option)


def case_completion(tmp):
    script = expect(tool("--completion", "bash"), 0).out
    script += ("COMP_WORDS=(loaderbench run --work); COMP_CWORD=2\n"
               "_loaderbench; echo \"${COMPREPLY[@]}\"\n")
    done = subprocess.run(["bash", "-eu"], input=script, check=True,
                          stdout=subprocess.PIPE, universal_newlines=True)
    equal(done.stdout,
          "--workers --workers-min --workers-max --workers-start\n")
    expect(tool("--completion", "fish"), 2, "bash")


def case_no_command(tmp):
    expect(tool(), 2, "a command is missing")


def case_unknown_command(tmp):
    expect(tool("rnu", tmp), 2, "the closest is 'run'")
    done = expect(tool("xyzzy"), 2, "no command 'xyzzy'")
    assert "closest" not in done.err


def case_unknown_option(tmp):
    for typed, closest in (("--batchsize", "--batch-size"),
                           ("--worker", "--workers"),
                           ("--epoch", "--epochs"),
                           ("--sede", "--seed"),
                           ("--consumer", "--consumer-ms"),
                           ("--no-shufle", "--shuffle")):
        done = expect(tool("run", tmp, typed, "3"), 2, typed)
        if typed != "--no-shufle":
            contains(done.err, "the closest is %s\n" % closest)
        contains(done.err, "'loaderbench run --help'")
    done = expect(tool("run", tmp, "--xyzzy"), 2, "no option --xyzzy")
    assert "closest" not in done.err
    # gen takes no loader options.
    expect(tool("gen", tmp, "--batch-size", 3), 2, "no option --batch-size")


def case_bad_values(tmp):
    for option, value, part in (("--epochs", "0", "1 or more"),
                                ("--epochs", "-1", "-1"),
                                ("--epochs", "3x", "3x"),
                                ("--seconds", "soon", "soon"),
                                ("--consumer-ms", "nan", "nan"),
                                ("--pipeline", "trian", "train|eval|none"),
                                ("--sink", "", "none|hash"),
                                ("--max-failed-fraction", "2", "between"),
                                ("--workers", "many", "many"),
                                ("--batch-size", "0", "batch_size"),
                                ("--dtype", "f99", "f99"),
                                ("--op", "resise size=3", "resise"),
                                ("--op", "resize sice=3", "sice")):
        expect(tool("run", tmp, option, value), 2, part)
    expect(tool("run", tmp, "--epochs"), 2, "needs a value")
    expect(tool("run", tmp, "--quiet=yes"), 2, "takes no value")


def case_arguments(tmp):
    expect(tool("run"), 2, "URI is missing")
    expect(tool("run", tmp, "more"), 2, "'more' is one argument too many")
    expect(tool("run", tmp, "-e", "3"), 2, "two dashes")


def case_missing_folder(tmp):
    folder = os.path.join(tmp, "no such folder")
    expect(tool("run", folder), 2, folder)


def case_bad_environment(tmp):
    expect(tool("run", tmp, env={"FEEDLINE_BATCH_SIZE": "abc"}), 2,
           "FEEDLINE_BATCH_SIZE")


def case_switches(tmp):
    folder = generate(tmp)
    for given, shuffle in (((), True), (("--no-shuffle",), False),
                           (("--shuffle=false",), False),
                           (("--shuffle",), True),
                           (("--shuffle=off", "--shuffle"), True),
                           (("--pipeline", "eval"), False),
                           (("--pipeline=eval", "--shuffle"), True)):
        config = measured(folder, "--epochs", 1, *given)["config"]
        equal(config["shuffle"], shuffle, " ".join(given))


def case_environment_and_command_line(tmp):
    folder = generate(tmp)
    env = {"FEEDLINE_BATCH_SIZE": "5", "FEEDLINE_SHUFFLE": "false",
           "FEEDLINE_EPOCHS": "2"}
    doc = measured(folder, "--warmup", 0, env=env)
    equal(doc["config"]["batch_size"], 5)
    equal(doc["config"]["shuffle"], False)
    equal(doc["result"]["images"], 48)
    doc = measured(folder, "--epochs", 1, "--batch_size=7", env=env)
    equal(doc["config"]["batch_size"], 7)


def case_double_dash_ends_options(tmp):
    expect(tool("run", "--", "--epochs"), 2, "--epochs")


def case_unwritable_results(tmp):
    folder = generate(tmp)
    path = os.path.join(tmp, "missing", "out.json")
    expect(tool("run", folder, "--epochs", 1, "--json", path), 4, path)


if __name__ == "__main__":
    main(globals())
