# SPDX-License-Identifier: Apache-2.0
"""The conditions of containers, on a few images; scripts/containers/try_all has
the whole of them."""
import os
import subprocess
import sys

import scenes
from support import TOOL, main, skip

ROOT = os.path.dirname(scenes.TESTS)
RUN = os.path.join(ROOT, "scripts", "containers", "try_all")


def case_light(tmp):
    os.chmod(tmp, 0o755)  # other users come as well
    done = subprocess.run(
        [sys.executable, "-B", RUN, "--light", "--seconds", "0.3"],
        env=dict(os.environ, LOADERBENCH=TOOL, TMPDIR=tmp,
                 FEEDLINE_LIBRARY=os.environ.get("LIFE_LIBRARY", ""),
                 PYTHONPATH=os.path.join(ROOT, "python")), check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        universal_newlines=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    if "\npass " not in "\n" + done.stdout:
        skip("none of the conditions can be made here")


if __name__ == "__main__":
    main(globals())
