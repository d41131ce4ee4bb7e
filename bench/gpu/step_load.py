# SPDX-License-Identifier: Apache-2.0
"""The library finds the driver, and the GPU runs its kernels."""
import os

import outcome


def visible_to_the_system():
    """Whether the kernel's driver is there, whatever the library says."""
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/nvidia0")


def count_devices():
    """GPUs, and the library's words where there is none."""
    import feedline
    try:
        return feedline.errors.check(feedline._lib.device_count()), "no GPU"
    except feedline.Error as error:
        return 0, str(error)


def run(step):
    import feedline
    from busy import busy

    count, words = count_devices()
    if count == 0 and not visible_to_the_system():
        outcome.skip(words)
    step.truth("GPUs that the library sees", "at least 1",
               count or words, count > 0)
    if count == 0:
        return
    for device in feedline.devices():
        step.note("cuda:%d is %s at %s, NUMA node %d, driver for CUDA %d" % (
            device.id, device.name, device.pci, device.numa_node,
            device.driver_version))
    with busy("cuda:0") as gpu:
        gpu.work(1)
        gpu.wait()
    step.truth("the kernels load, and one runs", "yes", "yes", True)
    for finding in feedline.doctor("cuda:0")["findings"]:
        if finding["level"] in ("warning", "error"):
            step.note("doctor: %s" % finding["text"])


if __name__ == "__main__":
    outcome.main(run)
