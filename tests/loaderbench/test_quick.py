# SPDX-License-Identifier: Apache-2.0
"""loaderbench without a command: the first minute."""
import json
import os
import shutil
import signal

from support import (contains, equal, expect, fits, generate, json_of,
                     main, on_terminal, read, tool)

BRIEF = ("--seconds", 0.2, "--warmup", 1, "--batch-size", 8)
ROWS = ("Machine", "Images", "Speed", "Feeds", "Cause", "Gain", "Report")


def quick(where, *arguments, rc=0, env=None):
    """In the folder `where`."""
    before = os.getcwd()
    os.chdir(where)
    try:
        return expect(tool("quick", *arguments, *BRIEF, env=env), rc)
    finally:
        os.chdir(before)


def copies(tmp, folder, images, classes=4):
    """Class folders with the same photo everywhere, made at once."""
    one = os.path.join(tmp, "one")
    if not os.path.isdir(one):
        generate(tmp, images=1, classes=1, name="one")
    for i in range(images):
        into = os.path.join(folder, "class_%d" % (i % classes))
        os.makedirs(into, exist_ok=True)
        shutil.copy(os.path.join(one, "class_000", "image_000000.jpg"),
                    os.path.join(into, "%d.jpg" % i))


def temporary(tmp):
    """A folder for what is made on the way, which is empty in the end."""
    folder = os.path.join(tmp, "temporary")
    os.mkdir(folder)
    return folder, {"TMPDIR": folder}


def case_answers(tmp):
    folder = generate(tmp)
    done = quick(tmp, folder)
    equal(done.err, "")
    fits(done.out)
    for row in ROWS:
        assert "\n" + row in "\n" + done.out, done.out
    contains(done.out, "24 images")
    page = read(os.path.join(tmp, "loaderbench.html"))
    for part in ("<h1>", "Headroom", "findings"):
        contains(page, part)


def case_document(tmp):
    folder = generate(tmp)
    doc = json_of("quick", folder, "--report", "none", *BRIEF)
    equal(doc["command"], "quick")
    equal(doc["data"], {"kind": "given", "uri": folder, "where": folder})
    equal(doc["run"]["dataset"]["samples"], 24)
    assert doc["run"]["verdict"]["sentence"]
    assert doc["headroom"]["measured"]["two_workers"] is not None
    assert doc["doctor"]["findings"]
    equal(doc["report"], None)
    equal(len(doc["feeds"]), 4)
    assert not os.path.exists("loaderbench.html")


def case_finds_class_folders(tmp):
    """Those with most of the images, however deep, and no hidden ones."""
    folder = os.path.join(tmp, "project", "data")
    copies(tmp, os.path.join(folder, "train"), 80)
    copies(tmp, os.path.join(folder, "val"), 8)
    copies(tmp, os.path.join(tmp, "project", ".cache"), 300)
    done = quick(os.path.join(tmp, "project"))
    contains(done.out, "/project/data/train: 80 images")


def case_finds_images_that_lie_around(tmp):
    folder, env = temporary(tmp)
    around = os.path.join(tmp, "around")
    copies(tmp, around, 70, classes=1)
    folders = os.path.join(around, "class_0")
    for name in os.listdir(folders):
        shutil.move(os.path.join(folders, name), around)
    os.rmdir(folders)
    # As what is here, and named.
    for arguments in ((), (around,)):
        done = quick(around, "--report", "none", *arguments, env=env)
        contains(done.out, "70 images, wherever they lie in it")
    equal(os.listdir(folder), [])


def case_makes_photos(tmp):
    folder, env = temporary(tmp)
    here = os.path.join(tmp, "here")
    os.mkdir(here)
    done = quick(here, "--report", "none", env=env)
    contains(done.out, "256 photos, made for this and removed again")
    equal(os.listdir(folder), [])
    equal(os.listdir(here), [])


def case_takes_a_folder_for_a_command(tmp):
    folder = generate(tmp)
    page = os.path.join(tmp, "page.html")
    done = expect(tool(folder, "--report", page, *BRIEF), 0)
    contains(done.out, folder + ": 24 images")
    assert os.path.exists(page)
    expect(tool(folder + "/missing", *BRIEF), 2, "missing")
    expect(tool("quick", os.devnull, *BRIEF), 2)


def case_pipe_without_arguments(tmp):
    """Nobody there to be shown anything."""
    done = expect(tool(), 2, "a command is missing")
    equal(done.out, "")


def case_terminal_without_arguments(tmp):
    """That is the whole of it, so it is stopped once it has begun."""
    copies(tmp, os.path.join(tmp, "photos"), 80)
    shutil.rmtree(os.path.join(tmp, "one"))
    with on_terminal(tmp) as running:
        running.until("Images")
        running.until("now: ")  # the first loader, under way
        running.send_signal(signal.SIGINT)
        text = running.rest()
        equal(running.returncode, 130, text)
    contains(running.text, "80 images")
    # Progress is one line that replaces itself.
    assert "\r\x1b[K" in running.text, running.text


def case_interrupted(tmp):
    """What was measured by then is told."""
    folder = generate(tmp)
    with on_terminal(tmp, "quick", folder, "--seconds", 2,
                     "--batch-size", 8) as running:
        running.until("without a loader: ")
        running.send_signal(signal.SIGINT)
        text = running.rest()
        equal(running.returncode, 130, text)
    contains(running.text, "Interrupted; results so far")
    contains(running.text, "Speed")


def case_model(tmp):
    folder = generate(tmp)
    done = quick(tmp, folder, "--model", "resnet50@a100", "--report", "none")
    contains(done.out, "of ResNet-50 on an A100")
    assert "H100" not in done.out


def case_damaged_files(tmp):
    folder = generate(tmp)
    broken = os.path.join(folder, "class_000", "image_000000.jpg")
    with open(broken, "w", encoding="utf-8") as f:
        f.write("no image")
    done = tool("quick", folder, "--report", "none", "--quiet", "--json", "-",
                *BRIEF)
    equal(done.rc, 0, done.err)
    assert json.loads(done.out)["run"]["result"]["failed_samples"] > 0


if __name__ == "__main__":
    main(globals())
