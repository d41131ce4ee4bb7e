# SPDX-License-Identifier: Apache-2.0
"""A loader beside the program's threads and forks: one consumer at a time, any
thread may watch; a child of fork() cannot use it and does not harm it."""

from __future__ import annotations

from pathlib import Path

import pytest

from child_process import run_clean

pytest.importorskip("PIL")

PROGRAMS = {
    "the consumer moves to another thread": """
        loader = make()
        epoch = iter(loader)
        seen = [next(epoch).sequence]

        def rest():
            seen.extend(batch.sequence for batch in epoch)

        thread = threading.Thread(target=rest)
        thread.start()
        thread.join()
        assert seen == list(range(6)), seen
        assert sum(batch.count for batch in loader) == 24
    """,
    "batches are released on another thread": """
        import queue

        loader, batches = make(), queue.Queue(2)
        counts = []

        def use():
            while True:
                batch = batches.get()
                if batch is None:
                    return
                counts.append(batch.count)
                batch.release()

        thread = threading.Thread(target=use)
        thread.start()
        for epoch in range(20):
            for batch in loader:
                batches.put(batch)
        batches.put(None)
        thread.join()
        assert sum(counts) == 20 * N, sum(counts)
    """,
    "statistics are read while another thread iterates": """
        loader, ended = make(), threading.Event()

        def use():
            for epoch in range(30):
                for batch in loader:
                    pass
            ended.set()

        thread = threading.Thread(target=use)
        thread.start()
        looks = 0
        while not ended.is_set() or looks == 0:
            stats = loader.stats()
            assert stats["stats"]["samples"] <= 30 * N
            assert loader.explain() and loader.top(seconds=0)
            looks += 1
        thread.join()
        assert loader.stats()["stats"]["samples"] == 30 * N
    """,
    # No promise of order, but no crash and nothing twice.
    "threads that share an iterator get each batch once": """
        loader = make()
        epoch, seen, failed = iter(loader), [], []

        def use():
            try:
                for batch in epoch:
                    seen.append(batch.sequence)
            except feedline.Error as error:
                failed.append(error)

        threads = [threading.Thread(target=use) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
        assert sorted(seen) == list(range(6)), seen
    """,
    # While another thread asks which are there, as the end of the program and a
    # fork do; threads change at every line.
    "loaders come and go on many threads": """
        from feedline import lifetime

        sys.setswitchinterval(1e-6)
        data, chain = dataset(), pipeline()

        def come_and_go():
            for _ in range(150):
                feedline.Loader(data, chain, batch_size=4, workers=1)

        threads = [threading.Thread(target=come_and_go) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert len(lifetime.all_live()) <= 8
        gc.collect()
        assert lifetime.all_live() == [] and not lifetime._live
    """,
    # What each call of a Python operation draws and raises is its own.
    "calls on many threads keep apart": """
        from feedline import python_op

        sys.setswitchinterval(1e-6)

        def odd(image, rng):
            number = rng.below(1 << 20)
            raise ValueError(number)

        def found(workers):
            chain = pipeline().python(odd)
            loader = make(
                chain, workers=workers, on_error="zero", seed=5, epochs=1
            )
            for batch in loader:
                pass
            return [(f.sample_index, str(f.cause)) for f in loader.failures()]

        one, many = found(1), found(8)
        assert len(one) == N and sorted(one) == sorted(many), (one, many)
        assert not python_op._inside
    """,
    # fork()
    "a child is refused and ends well": """
        loader = make()
        epoch = iter(loader)
        held = next(epoch)
        pid = os.fork()
        if pid == 0:
            refused(
                feedline.ForkError,
                "fork()",
                loader.next,
                lambda: next(epoch),
                loader.stats,
                lambda: loader.get("workers"),
                lambda: held.images.numpy(),
            )
            loader.close()
            held.release()
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert held.count + sum(batch.count for batch in epoch) == 24
    """,
    "a child that drops everything ends well": """
        loader = make()
        epoch = iter(loader)
        batch = next(epoch)
        tensor = batch.images
        pid = os.fork()
        if pid == 0:
            del tensor, batch, epoch, loader
            gc.collect()
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert tensor.shape[0] == 4
        assert sum(1 for batch in epoch) == 5
    """,
    "a child makes a loader of its own": """
        loader = make()
        epoch = iter(loader)
        next(epoch)
        pid = os.fork()
        if pid == 0:
            own = make()
            os._exit(0 if sum(b.count for b in own) == N else 3)
        assert os.waitpid(pid, 0)[1] == 0
        assert sum(1 for batch in epoch) == 5
    """,
    "a program is run in mid epoch": """
        import subprocess

        loader = make()
        seen = 0
        for batch in loader:
            seen += batch.count
            subprocess.run(["/bin/true"], check=True)
        assert seen == 24
    """,
    "many forks while workers are busy": """
        loader = make()
        epochs = iter(loader)
        for round in range(20):
            if next(epochs, None) is None:
                epochs = iter(loader)
            pid = os.fork()
            if pid == 0:
                del epochs, loader
                sys.exit(0)
            assert os.waitpid(pid, 0)[1] == 0
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(image_folder: Path, name: str) -> None:
    run_clean(PROGRAMS[name], image_folder)
