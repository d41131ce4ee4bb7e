#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# torch 2.15.0: torchrun with --max-restarts keeps one store for all of its starts, and
# init_process_group("gloo") writes the addresses of its ranks there under the same
# names each time. After a restart a rank may read where the one before it was, which is
# dead, and gives up ("Connection refused"). That counts as a failure, for which torchrun
# starts all of them again: some of the restarts fail so, and a job that was given
# three for lost machines may end after the first. A prefix for each start, given by
# hand, is enough.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 numpy==2.4.6

observed <<'PROGRAM'
import pathlib
import subprocess
import sys

WORKER = """
import os
import sys
import time

import torch.distributed as dist

start, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
try:
    if sys.argv[1] == "usual":
        dist.init_process_group("gloo")
    else:
        store = dist.TCPStore(os.environ["MASTER_ADDR"],
                              int(os.environ["MASTER_PORT"]), is_master=False)
        dist.init_process_group(
            "gloo", store=dist.PrefixStore("start-%d" % start, store),
            rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
except RuntimeError as error:
    print("refused" if "Connection refused" in str(error) else "other")
    raise
dist.barrier()
if rank == 1:
    os._exit(3)  # a worker is lost
time.sleep(60)
"""

pathlib.Path("worker.py").write_text(WORKER)
for how in ("usual", "prefix"):
    run = subprocess.run(
        [sys.executable, "-u", "-m", "torch.distributed.run", "--standalone",
         "--nproc-per-node=2", "--max-restarts=6", "worker.py", how],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    seen = run.stdout.split()
    print("%s: some starts are refused: %s, others fail: %s"
          % (how, "refused" in seen, "other" in seen))
    print("%s: %d of 7" % (how, seen.count("refused")), file=sys.stderr)
PROGRAM

expected <<'SEEN'
usual: some starts are refused: True, others fail: False
prefix: some starts are refused: False, others fail: False
SEEN
