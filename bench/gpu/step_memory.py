# SPDX-License-Identifier: Apache-2.0
"""Device memory that a loader takes, seen from outside: at depth 4, 16 and 64,
and at the deepest within a device_memory_budget, the default and a given one.

Batches are 256 f32 images of 224, finished on the device: what takes most.
"""
import outcome

DEPTHS = (4, 16, 64)
BUDGET = 1 << 30
UNBOUNDED = {"device_memory_budget": "64g"}
DEFAULT_BUDGET = 2 * 10**9  # or less, where less is free
# The driver hands out device memory in pieces of 2 MiB, a few to each slot.
ROUNDING = 128 << 20


def image_set(step):
    import pixels

    count, size = (16, 32) if step.rehearsal else (512, 224)
    return pixels.dataset(pixels.raw(count, size))


def taken(step, driver, stream, data, deepen=None, **options):
    """Device memory that a running loader takes, by the driver and by its own
    account; its pinned memory and its depth. deepen: a depth that it is asked
    for while it runs."""
    import feedline

    pipeline = feedline.Pipeline().add("normalize", mean=[0.5, 0.5, 0.5],
                                       std=[0.25, 0.25, 0.25])
    before = driver.free_memory()
    with feedline.Loader(data, pipeline, device="cuda:0", dtype="f32",
                         batch_size=8 if step.rehearsal else 256,
                         finish="device", tuner="off", memory_budget="16g",
                         **options) as loader:
        for number, batch in enumerate(loader):
            batch.wait(stream)
            batch.release()
            if deepen and number == 0:
                ask_for_depth(step, loader, deepen)
        transfer = loader.stats()["transfer"]
        return (before - driver.free_memory(), transfer["device_bytes"],
                transfer["pinned_bytes"], loader.get("depth"))


def ask_for_depth(step, loader, depth):
    import feedline
    try:
        loader.set("depth", depth)
    except feedline.Error as error:
        step.note("set depth=%d: %s" % (depth, error))


def check_depths(step, take):
    """What each depth takes, and whether the statistics know."""
    for depth in DEPTHS:
        seen, told, pinned, _ = take(depth=depth, **UNBOUNDED)
        step.number("depth %d: device memory by the driver, GB" % depth,
                    seen / 1e9, form="%.2f")
        step.number("depth %d: beyond what the statistics say, GB" % depth,
                    (seen - told) / 1e9, high=ROUNDING / 1e9, form="%.2f")
        step.note("depth %d: %.2f GB by the statistics, %.2f GB pinned" % (
            depth, told / 1e9, pinned / 1e9))
    seen, _, pinned, _ = take(depth=16, handover="copy", **UNBOUNDED)
    step.number("depth 16, handover=copy: device memory by the driver, GB",
                seen / 1e9, high=(pinned + ROUNDING) / 1e9, form="%.2f")


def check_budget(step, what, budget, found):
    seen, _, _, depth = found
    step.number("%s: device memory by the driver, GB" % what, seen / 1e9,
                high=(budget + ROUNDING) / 1e9, form="%.2f")
    step.note("%s: the depth is %d" % (what, depth))


def run(step):
    from busy import busy
    from driver_calls import Driver

    driver, data = Driver(), image_set(step)
    if not driver.has("cuMemGetInfo_v2"):
        outcome.skip("this driver does not tell how much memory is free")
    with busy("cuda:0") as gpu:
        def take(**options):
            return taken(step, driver, gpu.stream, data, **options)

        take(depth=1)  # what is made once, and stays
        before = driver.free_memory()
        check_depths(step, take)
        check_budget(step, "depth 64, budget auto", DEFAULT_BUDGET,
                     take(depth=64))
        check_budget(step, "budget 1g, set to depth 64 while it runs", BUDGET,
                     take(device_memory_budget=BUDGET, deepen=64))
        step.number("left behind by closed loaders, GB",
                    (before - driver.free_memory()) / 1e9,
                    high=ROUNDING / 1e9, form="%.2f")


if __name__ == "__main__":
    outcome.main(run)
