# SPDX-License-Identifier: Apache-2.0
"""Memory and descriptors: flat over epochs, few, and nothing in /dev/shm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from child_process import check_clean, run, run_clean

pytest.importorskip("PIL")

MIB = 1 << 20

RSS = """
    import json
    def rss():
        for line in open("/proc/self/smaps_rollup"):
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024


    def large(**options):
        # As many batches ahead as ever: a tuner that sees a busy machine takes
        # more of them, and what they take is no leak.
        options = {"depth": 4, "io_depth": 4, **options}
        chain = feedline.Pipeline().add("resize", width=160, height=160)
        return make(chain, **options)


    def epochs(loader, n):
        for i in range(n):
            for batch in loader:
                assert batch.images.shape[0] == 4
        gc.collect()
        return rss()
"""


def measured(code: str, folder: Path) -> Any:
    """What a program of these functions prints as JSON."""
    ended = run(RSS + code, folder)
    check_clean(ended)
    return json.loads(ended.out)


def test_resident_memory_is_flat_over_fifty_epochs(image_folder: Path) -> None:
    # 24 images of 75 KiB: fifty epochs that leaked one batch in ten would
    # leave 9 MiB behind.
    start, end, objects = measured(
        """
    loader = large()
    start = epochs(loader, 10)
    objects = len(gc.get_objects())
    end = epochs(loader, 50)
    print(json.dumps([start, end, len(gc.get_objects()) - objects]))
    """,
        image_folder,
    )
    print(
        "RSS %.1f MiB, after 50 epochs %+d KiB"
        % (start / MIB, (end - start) / 1024)
    )
    assert end - start < 6 * MIB
    assert objects < 50


def test_workers_cost_their_scratch_and_no_more(image_folder: Path) -> None:
    seen = measured(
        """
    seen = {}
    for workers in (1, 8):
        loader = large(workers=workers, tuner="off")
        before = rss()
        after = epochs(loader, 5)
        seen[workers] = after, loader.stats()["stats"]["memory_bytes"]
        loader.close()
        del loader
    print(json.dumps(seen))
    """,
        image_folder,
    )
    rss = seen["8"][0] - seen["1"][0]
    told = seen["8"][1] - seen["1"][1]
    print(
        "7 more workers: RSS %+.1f MiB, told %+.1f MiB"
        % (rss / MIB, told / MIB)
    )
    # Seven scratch spaces, stacks and malloc arenas of small images.
    assert rss < 7 * 4 * MIB
    assert told < 7 * 4 * MIB


def test_loaders_that_come_and_go_leave_nothing(image_folder: Path) -> None:
    start, end, had, have = measured(
        """

    def some(n):
        for i in range(n):
            loader = large()
            for batch in loader:
                break
            loader.close()
        gc.collect()
        return rss()

    def descriptors():
        await_end(thread_ids() - before)
        return len(os.listdir("/proc/self/fd"))

    before = thread_ids()
    start, had = some(10), descriptors()
    end = some(60)
    print(json.dumps([start, end, had, descriptors()]))
    """,
        image_folder,
    )
    assert end - start < 8 * MIB  # 60 loaders of more than 1 MiB each
    assert have == had


PROGRAMS = {
    "every batch is kept": """
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = make(depth=2, shuffle=False, tuner="off")
            kept = list(loader)
            assert not caught, caught[0].message  # a few of them harm nobody
            for epoch in range(1, 13):
                kept += list(loader)
        assert len(kept) == 78
        plain = make(shuffle=False)
        for epoch in range(13):
            for place, batch in enumerate(plain):
                mine = kept[6 * epoch + place]
                assert (mine.images.numpy() == batch.images.numpy()).all()
                assert list(mine.sample_index) == list(batch.sample_index)
        ours = [w for w in caught if w.category is feedline.EngineWarning]
        assert len(ours) == 1, [str(w.message) for w in caught]
        assert "keeps" in str(ours[0].message), ours[0].message
        assert ours[0].filename == "<string>", ours[0].filename
    """,
    "few descriptors are enough": """
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        loader = make(workers=8)
        for epoch in range(3):
            for batch in loader:
                pass
        most = max(int(name) for name in os.listdir("/proc/self/fd"))
        assert most < 64
        assert sum(batch.count for batch in loader) == 24
    """,
    # Containers have 64 MiB of /dev/shm; threads need none of it.
    "shared memory is not touched": """
        loader = make()
        for batch in loader:
            maps = open("/proc/self/maps").read()
            assert "/dev/shm" not in maps, maps
            links = [
                os.path.join("/proc/self/fd", name)
                for name in os.listdir("/proc/self/fd")
            ]
            # One that the reader has closed since then has no target.
            opened = [os.path.realpath(x) for x in links]
            assert not [x for x in opened if x.startswith("/dev/shm")]
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(image_folder: Path, name: str) -> None:
    run_clean(PROGRAMS[name], image_folder)
