# SPDX-License-Identifier: Apache-2.0
"""What is typed: help, mistakes and what is said about them."""
import datetime
import json
import os
import re
import shlex
import shutil
import socket
import subprocess

from support import (TOOL, contains, equal, expect, fits, generate, has_packed,
                     main, measured, read, skip, tool)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEADER = os.path.join(ROOT, "include", "feedline", "feedline.h")
MANUAL = os.path.join(ROOT, "docs", "man", "loaderbench.1.scd")


def commands():
    """Those that --help lists, each with the line about it."""
    text = expect(tool("--help"), 0).out
    listed = text[text.index("Commands:"):text.index("\n\n'loaderbench")]
    return re.findall(r"^  ([a-z0-9]+)(.*)$", listed, re.M)


def case_version(tmp):
    numbers = re.findall(r"#define FEEDLINE_VERSION_[A-Z]+ (\d+)", read(HEADER))
    done = expect(tool("--version"), 0)
    first, parts = done.out.splitlines()
    equal(first, "loaderbench " + ".".join(numbers[:3]))
    known = {"io_uring", "CUDA", "WebP", "packed JPEG"}
    assert parts == "built without optional parts" or \
        set(parts[len("built with "):].split(", ")) <= known, parts


def case_help(tmp):
    overview = expect(tool("--help"), 0).out
    for command in ("run", "headroom", "report", "gen", "h2d",
                    "case", "top"):
        contains(overview, "\n  %s " % command)
        text = expect(tool(command, "--help"), 0).out
        contains(text, "Usage: loaderbench %s " % command)
        equal(expect(tool(command, "-h"), 0).out, text)
        fits(overview + text)
    text = tool("run", "--help").out
    for option in ("--batch-size", "--workers=N|auto", "--on-error",
                   "--dtype", "--consumer-ms"):
        contains(text, " " + option)
    text = tool("run", "--help-all").out
    for option in ("--resume-at", "--batch-size", "--stuck-after"):
        contains(text, "\n  " + option)


def case_help_fits_a_screen(tmp):
    """Of 24 lines, with room for the prompt."""
    overview = expect(tool("--help"), 0).out
    assert len(overview.splitlines()) <= 23, overview
    for command, _ in commands():
        text = expect(tool(command, "--help"), 0).out
        assert len(text.splitlines()) <= 23, command
        more = expect(tool(command, "--help-all"), 0).out
        equal(expect(tool("help", command, "options"), 0).out, more)
        contains(more, "\nExample: loaderbench %s" % command)
        fits(text + more)
        for option in re.findall(r"^  --([a-z0-9-]+)", text, re.M):
            equal(len(re.findall(r"^  --%s\b(?!-)" % option, more, re.M)), 1,
                  "%s --%s" % (command, option))
        equal(expect(tool("help", command), 0).out, text)
    expect(tool("help", "rum"), 2, "the closest is 'run'")
    expect(tool("help", "run", "speed"), 2, "'options'")


def case_help_all_has_every_loader_option(tmp):
    page = read(os.path.join(ROOT, "docs", "options.md"))
    loader = page[:page.index("## Operations")]
    text = expect(tool("run", "--help-all"), 0).out
    for option in re.findall(r"^\| `([a-z_]+)`", loader, re.M):
        contains(text, "\n  --" + option.replace("_", "-"))
    assert "\nOther:" not in text, "options without a group"


def case_help_names_every_kind_of_data_set(tmp):
    loader = os.path.join(ROOT, "loader")
    kinds = re.findall(r'\{"([a-z]+):"',
                       read(os.path.join(loader, "dataset", "dataset_uri.c")))
    kinds += re.findall(r"^ +FORMAT\(([a-z]+)\)",
                        read(os.path.join(loader, "index", "index_format.h")),
                        re.M)
    assert len(kinds) >= 11, kinds
    for command in ("run", "scan", "pack"):
        text = expect(tool(command, "--help"), 0).out
        more = expect(tool(command, "--help-all"), 0).out
        for kind in kinds:
            contains(text, kind + ":")
            contains(more, "\n  %s:PATH" % kind)


def case_overview_in_columns(tmp):
    for name, rest in commands():
        line = "  " + name + rest
        assert line[24:26] == "  " and line[26] > " ", line


def case_manual_has_all(tmp):
    parts = dict(re.findall(r"^# ([A-Z0-9]+)\n(.*?)(?=^# |\Z)", read(MANUAL),
                                re.M | re.S))
    for command, _ in commands():
        contains(parts["SYNOPSIS"], "*loaderbench* %s " % command)
        text = expect(tool(command, "--help-all"), 0).out
        own = text.split("\nOptions of the loader")[0]
        for option in re.findall(r"^  --([a-z0-9-]+)", own, re.M):
            assert option == "help" or "*--%s*" % option in parts[
                command.upper()], "%s: --%s is not in the manual" % (command,
                                                                     option)


def complete(*words):
    return expect(tool("--complete", *words), 0).out.split()


def case_complete(tmp):
    equal(set(complete("run", "--work")),
          {"--workers", "--workers-min", "--workers-max", "--workers-start"})
    for words, expected in (
            (["r"], ["run", "report"]), (["--h"], ["--help"]),
            (["help", "sw"], ["sweep"]),
            (["run", ""], [":folders"]), (["run", "/ho"], [":folders"]),
            (["report", ""], [":files"]), (["doctor", ""], []),
            (["case", "v"], ["v100"]),
            (["case", "x", "--dev"], ["--device"]),
            (["run", "--dtype", "f"], ["f32", "f16"]),
            (["run", "--dtype=f"], ["--dtype=f32", "--dtype=f16"]),
            (["run", "--dtype", "=", "f"], ["f32", "f16"]),
            (["run", "--dtype", "="], ["u8", "f32", "f16", "bf16"]),
            (["run", "--workers", "a"], ["auto"]),
            (["run", "--shuffle", ""], [":folders"]),
            (["run", "--shuffle", "=", "t"], ["true"]),
            (["run", "--op", "hor"], ["horizontal_flip"]),
            (["run", "--json", ""], [":files"]),
            (["run", "--model", "vit_b"], ["vit_b16@rtx3090"]),
            (["tune", "--model=resnet18"], ["--model=resnet18@rtx3090"]),
            (["", "quick"], []),
            (["run", "list", ":", "/d"], [":files"]),
            (["xyzzy", ""], [])):
        equal(complete(*words), expected, " ".join(words))
    for command, _ in commands():
        options = complete(command, "-")
        equal(len(options), len(set(options)), command)
        equal(set(options), {o for o in options if o.startswith("--")})
    assert {"--batch-size", "--json"} <= set(complete("run", "-"))
    assert len(complete("")) > 10


def case_completion_is_of_what_help_has(tmp):
    for command, _ in commands():
        text = expect(tool(command, "--help-all"), 0).out
        shown = set(re.findall(r"^  (--[a-z0-9-]+)", text, re.M))
        equal(set(complete(command, "--")), shown | {"--help", "--help-all"},
              command)


def case_completion_bash(tmp):
    os.makedirs(os.path.join(tmp, "photos of mine"))
    with open(os.path.join(tmp, "pages.json"), "w", encoding="utf-8"):
        pass
    script = expect(tool("--completion", "bash"), 0).out
    for words, expected in (
            ("run --dtype f", "f32|f16|"), ("run p", "photos of mine|"),
            ("report p", "pages.json|photos of mine|"),
            ("run --dtype = f", "f32|f16|")):
        words = [TOOL] + words.split()
        asked = script + (
            "COMP_WORDS=(%s); COMP_CWORD=%d; _loaderbench\n"
            "printf '%%s|' \"${COMPREPLY[@]}\"\n"
            % (" ".join("'%s'" % w for w in words), len(words) - 1))
        done = subprocess.run(["bash", "-u"], input=asked, check=True, cwd=tmp,
                              stdout=subprocess.PIPE, universal_newlines=True)
        equal("|".join(sorted(done.stdout.split("|"))),
              "|".join(sorted(expected.split("|"))), " ".join(words))


def case_completion_zsh_and_fish(tmp):
    """That they are valid, where there is such a shell."""
    expect(tool("--completion", "tcsh"), 2, "bash, zsh or fish")
    tried = 0
    for shell in ("zsh", "fish"):
        script = expect(tool("--completion", shell), 0).out
        contains(script, "--complete")
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=script, check=True,
                           universal_newlines=True)
            tried += 1
    if not tried:
        skip("neither zsh nor fish")


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


def case_values_of_switches(tmp):
    """As the help shows them, whatever stands behind."""
    text = expect(tool("run", "--help-all"), 0).out
    shown = {}
    for one in re.finditer(r"^  --([a-z-]+)\[=([a-z|]+)\]", text, re.M):
        shown[one.group(1)] = one.group(2).split("|")
    for name in ("checksums", "shuffle", "direct"):
        assert "false" in shown[name], shown
    assert not re.search(r"^  --[a-z-]+ (false|true)\b", text, re.M), text
    folder = generate(tmp)
    for name, values in shown.items():
        for value in values + ["true", "off"]:
            expect(tool("run", folder, "--" + name, value), 2,
                   "--%s=%s" % (name, value))
    expect(tool("run", "--drop-last", "false", folder), 2, "--drop-last=false")
    for value, config in (("false", False), ("true", True), ("auto", "auto")):
        doc = measured(folder, "--epochs", 1, "--checksums=" + value)
        equal(doc["config"]["checksums"], config)


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


def run_to(out, *arguments):
    """Runs loaderbench with standard output at a file object."""
    return subprocess.run([TOOL] + [str(a) for a in arguments], stdout=out,
                          stderr=subprocess.PIPE, universal_newlines=True,
                          check=False)


# Each with what it would measure, for longer than a test lasts.
LONG = (("run", "--seconds", 1000), ("sweep", "--seconds", 1000),
        ("tune", "--seconds", 1000), ("headroom", "--seconds", 1000))


def case_unwritable_results(tmp):
    folder = generate(tmp)
    missing = os.path.join(tmp, "missing", "out")
    for command in LONG:
        for option in ("--json", "--report", "--resume", "--profile",
                       "--stats-log", "--metrics"):
            known = expect(tool(command[0], "--help-all"), 0).out
            if "\n  %s " % option not in known:
                continue
            for path, why in ((missing, "No such file"),
                              (tmp, "Is a directory")):
                expect(tool(*command, folder, option, path), 4,
                       "%s %s: %s" % (option, path, why))
    expect(tool("case", "v100", "--json", missing), 4, missing)
    expect(tool("doctor", "--json", missing), 4, missing)
    expect(tool("top", "--json", missing), 4, missing)
    expect(tool("run", folder, "--json", "-", "--report", "-"), 2,
           "standard output")


def case_outputs_are_replaced_as_a_whole(tmp):
    """What is there stays until the result is, and nothing is left beside."""
    folder = generate(tmp)
    results = os.path.join(tmp, "results")
    os.mkdir(results)
    path = os.path.join(results, "out.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write("precious")
    done = tool("run", folder + "x", "--json", path)
    expect(done, 2, folder + "x")
    equal(read(path), "precious")
    expect(tool("run", folder, "--epochs", 1, "--json", path, "--quiet"), 0)
    equal(json.loads(read(path))["command"], "run")
    equal(os.listdir(results), ["out.json"])


def case_full_output(tmp):
    folder = generate(tmp)
    for arguments in (("--help",), ("run", "--help-all"), ("doctor",),
                      ("run", folder, "--epochs", 1),
                      ("run", folder, "--epochs", 1, "--json", "-")):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = run_to(full, *arguments)
        equal(done.returncode, 4, " ".join(arguments[:1]))
        contains(done.stderr, "loaderbench: standard output: ")


def case_closed_output(tmp):
    """The results that go to a file are there all the same."""
    folder = generate(tmp)
    path = os.path.join(tmp, "out.json")
    done = subprocess.run(
        ["sh", "-c", '"$0" run "$1" --epochs 1 --json "$2" >&-', TOOL, folder,
         path], stderr=subprocess.PIPE, universal_newlines=True, check=False)
    equal(done.returncode, 4)
    contains(done.stderr, "standard output: Bad file descriptor")
    equal(json.loads(read(path))["command"], "run")
    os.unlink(path)
    end, start = os.pipe()
    os.close(end)  # nobody reads
    with os.fdopen(start, "w") as pipe:
        done = run_to(pipe, "run", folder, "--epochs", 1, "--json", path)
    equal(done.returncode, 4)
    contains(done.stderr, "standard output: Broken pipe")
    equal(json.loads(read(path))["command"], "run")


def case_documents_say_how_they_were_made(tmp):
    folder = generate(tmp, name="a 'set'")
    begin = datetime.datetime.now(datetime.timezone.utc)
    doc = measured(folder, "--epochs", 1, "--batch-size", 5, "--op",
                   "center_crop size=32")
    made = datetime.datetime.strptime(doc["date"] + "+0000",
                                      "%Y-%m-%dT%H:%M:%SZ%z")
    now = datetime.datetime.now(datetime.timezone.utc)
    assert begin.replace(microsecond=0) <= made <= now, doc["date"]
    equal(doc["host"], socket.gethostname())
    equal(shlex.split(doc["command_line"]),
          [TOOL, "run", folder, "--epochs", "1", "--batch-size", "5", "--op",
           "center_crop size=32", "--json", "-"])
    options = doc["options"]
    equal(options["epochs"], 1)
    equal(options["batch-size"], "5")
    equal(options["op"], ["center_crop size=32"])
    equal(options["quiet"], False)
    equal(options["report"], None)
    doc = json.loads(tool("doctor", "--json", "-").out)
    for key in ("date", "host", "command_line", "options"):
        assert doc[key], key


def case_misspelt_environment(tmp):
    folder = generate(tmp)
    env = {"FEEDLINE_WORKRES": "3", "FEEDLINE_XYZZY": "1",
           "FEEDLINE_WORKERS": "2", "FEEDLINE_LIBCUDA": "/none",
           "FEEDLINE_CACHE_DIR": "off"}
    done = expect(tool("run", folder, "--epochs", 1, env=env), 0)
    contains(done.err, "FEEDLINE_WORKRES is set, but is not an option; the "
             "closest is FEEDLINE_WORKERS\n")
    contains(done.err, "FEEDLINE_XYZZY is set, but is not an option\n")
    equal(done.err.count("is not an option"), 2)
    findings = json.loads(tool("doctor", "--json", "-", env=env).out)[
        "findings"]
    found = [f for f in findings if f["id"] == "environment"]
    equal([f["level"] for f in found], ["warning", "warning"])
    contains(found[0]["text"] + found[1]["text"], "FEEDLINE_WORKRES")
    contains(found[0]["remedy"] + found[1]["remedy"], "FEEDLINE_WORKERS")


def case_recipes_for_bytes(tmp):
    folder = generate(tmp)
    for recipe in ("train", "eval"):
        doc = measured(folder, "--epochs", 1, "--dtype", "u8", "--pipeline",
                       recipe)
        ops = [o["op"] for o in doc["config"]["pipeline"]]
        assert "normalize" not in ops and len(ops) == 2, ops
    env = {"FEEDLINE_DTYPE": "u8"}
    measured(folder, "--epochs", 1, env=env)
    expect(tool("run", folder, "--dtype", "u8", "--op", "normalize"), 2,
           "u8")


def case_recipes_by_name(tmp):
    """Those that may be given are those that the library has."""
    folder = generate(tmp, images=4)
    bad = tool("run", folder, "--pipeline", "zzzzzzzzzz").err
    names = re.search(r"train\|[\w|-]+", bad).group().split("|")
    for name in names:
        doc = measured(folder, "--epochs", 1, "--batch-size", 10,
                       "--pipeline", name, "--max-sample-bytes",
                       "30M" if name in ("none", "coco-det") else "0")
        equal(doc["config"]["shuffle"], name not in ("none", "eval", "clip"),
              name)


def case_operations_before_normalize(tmp):
    folder = generate(tmp)
    doc = measured(folder, "--epochs", 1, "--pipeline", "train", "--op",
                   "color_jitter brightness=0.4", "--op", "random_erasing")
    equal([o["op"] for o in doc["config"]["pipeline"]],
          ["random_resized_crop", "horizontal_flip", "color_jitter",
           "normalize", "random_erasing"])


# What makes an example short, or able to run in a test at all.
SHORTER = {"run": ("--seconds", 0.2), "headroom": ("--seconds", 0.2),
           "tune": ("--seconds", 0.5), "io": ("--seconds", 0.01, "--rounds", 1),
           "sweep": ("--seconds", 0.05, "--repeat", 1),
           "quick": ("--seconds", 0.2, "--warmup", 1),
           "gen": ("--force", "--images", 24),
           "case": ("--seconds", 0.5, "--batch-size", 4, "--patience", 5)}


def made_for_examples(tmp):
    """What they are about: photos, documents of runs and of a sweep."""
    folder = generate(tmp, name="photos")
    for name in ("run", "before", "after", "rank0", "rank1"):
        expect(tool("run", folder, "--epochs", 1, "--quiet", "--json",
                    os.path.join(tmp, name + ".json")), 0)
    expect(tool("sweep", folder, "--workers", 1, "--depth", 2, "--seconds",
                0.05, "--repeat", 1, "--quiet", "--json",
                os.path.join(tmp, "sweep.json")), 0)


def run_example(tmp, command, words):
    """In the folder where that is."""
    env = {}
    if command == "h2d":
        double = os.environ.get("LOADERBENCH_DOUBLE")
        if not double:
            return None
        env = {"FEEDLINE_LIBCUDA": double, "CUDA_DOUBLE": "devices=1"}
        words = words + ["--repeats", "1", "--max", "16k"]
    before = os.getcwd()
    os.chdir(tmp)
    try:
        return tool(*words, *SHORTER.get(command, ()), env=env)
    finally:
        os.chdir(before)


def case_examples_of_help_run(tmp):
    """Each command's, but top's, which waits for a training."""
    made_for_examples(tmp)
    tried = 0
    for command, _ in commands():
        text = expect(tool(command, "--help"), 0).out
        example = re.search(r"^Example: loaderbench (.*)$", text, re.M).group(1)
        words = shlex.split(example)
        equal(words[0], command)
        if command == "pack" and not has_packed():
            continue
        if command == "top":
            equal(words[1:], ["--wait"])
            continue
        done = run_example(tmp, command, words)
        if done is None:
            continue
        # compare may find the second run slower, and doctor this machine bad.
        allowed = {"compare": (0, 1), "doctor": (0, 4)}.get(command, (0,))
        assert done.rc in allowed, (example, done.rc, done.out, done.err)
        tried += 1
    assert tried >= 14, tried


def case_example_of_help(tmp):
    """What --help shows for --op can be run."""
    folder = generate(tmp)
    text = expect(tool("run", "--help"), 0).out
    example = re.search(r'--op .*e\.g\. "([^"]*)"', text).group(1)
    expect(tool("run", folder, "--epochs", 1, "--op", example), 0)


if __name__ == "__main__":
    main(globals())
