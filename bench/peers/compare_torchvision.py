#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""feedline against torchvision: the same work, one process, one core.

Both read the same folder in a new order each epoch and make batches of
float32 [B, 3, 224, 224]: random resized crop to 224, horizontal flip,
normalise. torchvision does it through Pillow with ImageFolder and a DataLoader
without worker processes. Each round measures feedline, then torchvision; the
ratio of the rounds is the result. Where others use the core too, the ratio of
images per second of CPU time is the steadier one. Files are in the page cache
after the warm-up of either side.
"""
import argparse
import json
import sys
import time

import side_by_side as sbs

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def torchvision_loader(folder, batch_size):
    # Imported here: only the measured child needs them.
    import torch
    import torchvision
    from torchvision import transforms

    torch.set_num_threads(1)
    data = torchvision.datasets.ImageFolder(folder, transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]))
    return torch.utils.data.DataLoader(data, batch_size=batch_size,
                                       shuffle=True, num_workers=0)


def versions():
    import PIL
    import torch
    import torchvision

    return {"python": sys.version.split()[0], "torch": torch.__version__,
            "torchvision": torchvision.__version__,
            "pillow": PIL.__version__}


def measure_torchvision(folder, epochs, batch_size):
    """The child: one epoch to warm up, then `epochs` on the clock."""
    loader = torchvision_loader(folder, batch_size)
    for _ in loader:
        pass
    images, wall, cpu = 0, time.perf_counter(), time.process_time()
    for _ in range(epochs):
        for pixels, _labels in loader:
            images += pixels.shape[0]
    wall = time.perf_counter() - wall
    cpu = time.process_time() - cpu
    json.dump({"images": images, "seconds": wall,
               "images_per_second": images / wall,
               "images_per_cpu_second": images / cpu,
               "versions": versions()}, sys.stdout)


def compare(arguments):
    cores = {arguments.core}
    child = [sys.executable, __file__, arguments.folder, "--child",
             "--epochs", str(arguments.epochs),
             "--batch-size", str(arguments.batch_size)]
    ours, theirs = [], []
    for i in range(arguments.rounds):
        ours.append(sbs.run_loaderbench(arguments, 1, cores))
        theirs.append(sbs.run(child, cores))
        print("round %d: feedline %.1f, torchvision %.1f images/s" % (
            i + 1, ours[-1]["result"]["images_per_second"],
            theirs[-1]["images_per_second"]), file=sys.stderr)
    a = [r["result"]["images_per_second"] for r in ours]
    b = [r["images_per_second"] for r in theirs]
    cpu = [x["result"]["images_per_cpu_second"] / y["images_per_cpu_second"]
           for x, y in zip(ours, theirs)]
    return {
        "schema_version": 1,
        "comparison": "torchvision, one core",
        "machine": sbs.machine(),
        "versions": dict(theirs[0]["versions"], feedline=ours[0]["version"]),
        "config": ours[0]["config"],
        "feedline": sbs.summary(a),
        "torchvision": sbs.summary(b),
        "ratio": sbs.summary([x / y for x, y in zip(a, b)]),
        "cpu_ratio": sbs.summary(cpu),
        "rounds": [{"feedline": x["result"], "torchvision": y}
                   for x, y in zip(ours, theirs)],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    sbs.add_common_arguments(parser, rounds=5)
    parser.add_argument("--core", type=int, default=0, metavar="CPU",
                        help="the core both run on [%(default)s]")
    parser.add_argument("--child", action="store_true",
                        help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        measure_torchvision(arguments.folder, arguments.epochs,
                            arguments.batch_size)
        return
    try:
        v = versions()
    except ImportError as e:
        sys.exit("%s: %s (Debian: python3-torchvision)" % (sys.executable, e))
    result = compare(arguments)
    if arguments.json != "-":
        m = result["machine"]
        print("%s, Linux %s, core %d" % (m["cpu_model"], m["kernel"],
                                         arguments.core))
        print("feedline %s; python %s, torch %s, torchvision %s, Pillow %s" % (
            result["versions"]["feedline"], v["python"], v["torch"],
            v["torchvision"], v["pillow"]))
        print(sbs.line("feedline", result["feedline"]["values"]))
        print(sbs.line("torchvision", result["torchvision"]["values"]))
        print(sbs.ratio_line("ratio", result["ratio"]))
        print(sbs.ratio_line("per CPU second", result["cpu_ratio"]))
    sbs.write_json(result, arguments.json)


if __name__ == "__main__":
    main()
