# SPDX-License-Identifier: Apache-2.0
"""--model NAME@GPU: published rates of trainings, what follows from them."""
import re

from support import (contains, equal, expect, generate, json_of, main, measured,
                     tool)


def rates():
    """name -> images/s, of the table as it is printed."""
    text = expect(tool("help", "models"), 0).out
    rows = re.findall(r"^  (\w+@\w+) +(\d+)  \S", text, re.M)
    return {name: float(rate) for name, rate in rows}, text


def case_table(tmp):
    """Every row has a source, every source its place and its date."""
    table, text = rates()
    assert len(table) >= 30, table
    assert table["resnet50@a100"] == 2470, table
    sources = text[text.index("\nSources:"):]
    places = re.findall(r"^  (https://\S+)$", sources, re.M)
    equal(len(places), 3)
    equal(len(re.findall(r", 20\d\d(-\d\d)? \(", sources)), 3)
    equal(len(re.findall(r"\(commit\s[0-9a-f]{7}\)", sources)), 4)
    equal(expect(tool("run", "--model", "list"), 0).out, text)
    equal(expect(tool("tune", "--model=list"), 0).out, text)


def case_sets_the_steps(tmp):
    folder = generate(tmp)
    doc = measured(folder, "--epochs", 1, "--batch-size", 6, "--model",
                   "vit_l16@rtx3090")
    rate = rates()[0]["vit_l16@rtx3090"]
    assert abs(doc["run"]["consumer_ms"] - 6000 / rate) < 1e-6, doc["run"]
    model = doc["model"]
    equal(model["name"], "vit_l16@rtx3090")
    equal(model["images_per_second"], rate)
    assert model["source"]["url"].startswith("https://"), model
    loads, part = model["loads_per_second"], model["fed_fraction"]
    assert abs(part - loads / rate) < 1e-6, model
    assert loads >= doc["result"]["images_per_second"] * 0.999, doc["result"]
    equal(doc["options"]["model"], "vit_l16@rtx3090")


def case_says_what_is_fed(tmp):
    """One worker that sleeps is far from a GPU's rate."""
    folder = generate(tmp)
    arguments = ("run", folder, "--batches", 4, "--batch-size", 4,
                 "--workers", 1, "--model", "resnet18@rtx3090")
    done = expect(tool(*arguments), 0)
    text = " ".join(done.out.split())
    assert re.search(
        r"This machine loads( at least)? \d+ images/s, which feeds [\d.]+ of "
        r"ResNet-18 on an RTX 3090 \(3482 images/s: timm, 2022\)\.", text), text
    model = json_of(*arguments)["model"]
    if model["fed_fraction"] >= 1:
        equal(model["more_cores"], 0)


def case_in_other_commands(tmp):
    folder = generate(tmp)
    name = ("--model", "vit_b16@rtx3090", "--batch-size", 4)
    doc = json_of("tune", folder, "--seconds", 0.3, *name)
    equal(doc["model"]["name"], "vit_b16@rtx3090")
    doc = json_of("headroom", folder, "--seconds", 0.1, *name)
    equal(doc["model"]["name"], "vit_b16@rtx3090")
    assert abs(doc["consumer_ms"] - 4000 / 393) < 1e-6, doc["consumer_ms"]
    doc = json_of("sweep", folder, "--workers", 1, "--depth", 2, "--repeat", 1,
                  "--seconds", 0.1, *name)
    assert abs(doc["settings"]["consumer_ms"] - 4000 / 393) < 1e-6, doc


def case_mistakes(tmp):
    folder = generate(tmp, images=4)
    done = expect(tool("run", folder, "--model", "resnet50@a10O"), 2,
                  "'resnet50@a10O' is not in the table; the closest is "
                  "resnet50@a10")
    contains(done.err, "help models")
    expect(tool("run", folder, "--model", "nothing"), 2, "not in the table;")
    expect(tool("run", folder, "--model", "resnet50@a100", "--consumer-ms", 5),
           2, "give one of them")
    expect(tool("run", folder, "--model"), 2, "needs a value")


if __name__ == "__main__":
    main(globals())
