# SPDX-License-Identifier: Apache-2.0
"""Device memory that a loader takes, seen from outside: at depth 4, 16 and 64,
and with a device_memory_budget at the deepest.

Batches are 256 f32 images of 224, finished on the device: what takes most.
"""
import outcome

DEPTHS = (4, 16, 64)
BUDGET = 1 << 30
# The driver hands out device memory in pieces of 2 MiB, a few to each slot.
ROUNDING = 128 << 20


def image_set(step):
    import pixels

    count, size = (16, 32) if step.rehearsal else (512, 224)
    return pixels.dataset(pixels.raw(count, size))


def taken(step, driver, stream, data, **options):
    """Device memory that a running loader takes, by the driver and by its own
    account, and its pinned memory; the depth it has."""
    import feedline

    pipeline = feedline.Pipeline().add("normalize", mean=[0.5, 0.5, 0.5],
                                       std=[0.25, 0.25, 0.25])
    before = driver.free_memory()
    with feedline.Loader(data, pipeline, device="cuda:0", dtype="f32",
                         batch_size=8 if step.rehearsal else 256,
                         finish="device", tuner="off", memory_budget="16g",
                         **options) as loader:
        for batch in loader:
            batch.wait(stream)
            batch.release()
        transfer = loader.stats()["transfer"]
        return (before - driver.free_memory(), transfer["device_bytes"],
                transfer["pinned_bytes"], loader.get("depth"))


def knows_budget(step):
    import feedline
    try:
        feedline.options.Config({"device_memory_budget": BUDGET})
    except feedline.UnknownName:
        step.note("this library has no option device_memory_budget")
        return False
    return True


def run(step):
    from busy import busy
    from driver_calls import Driver

    driver, data = Driver(), image_set(step)
    if not driver.has("cuMemGetInfo_v2"):
        outcome.skip("this driver does not tell how much memory is free")
    with busy("cuda:0") as gpu:
        taken(step, driver, gpu.stream, data, depth=1)  # what is made once
        for depth in DEPTHS:
            seen, told, pinned, _ = taken(step, driver, gpu.stream, data,
                                          depth=depth)
            step.number("depth %d: device memory by the driver, GB" % depth,
                        seen / 1e9, form="%.2f")
            step.number("depth %d: beyond what the statistics say, GB" % depth,
                        (seen - told) / 1e9, high=ROUNDING / 1e9, form="%.2f")
            step.note("depth %d: %.2f GB by the statistics, %.2f GB pinned" % (
                depth, told / 1e9, pinned / 1e9))
        if knows_budget(step):
            seen, _, _, depth = taken(step, driver, gpu.stream, data,
                                      device_memory_budget=BUDGET)
            step.number("device_memory_budget=1g, depth auto: device memory "
                        "by the driver, GB", seen / 1e9,
                        high=(BUDGET + ROUNDING) / 1e9, form="%.2f")
            step.note("with that budget the depth is %d" % depth)
        left = driver.free_memory()
        taken(step, driver, gpu.stream, data, depth=4)
        step.number("left behind by a closed loader, GB",
                    (left - driver.free_memory()) / 1e9, high=ROUNDING / 1e9,
                    form="%.2f")


if __name__ == "__main__":
    outcome.main(run)
