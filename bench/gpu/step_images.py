# SPDX-License-Identifier: Apache-2.0
"""JPEG files for the steps that decode: made-up photographs in WORK/images."""
import subprocess

import outcome


def run(step):
    tool = step.built("tools/loaderbench/loaderbench")
    if tool is None:
        outcome.skip("loaderbench was not built, which makes the images: "
                     "it needs jansson")
    count = 48 if step.rehearsal else 1024
    subprocess.run([tool, "gen", step.path("images"), "--images", str(count),
                    "--classes", "4", "--quiet"], check=True,
                   env=step.environment())
    step.note("%d photographs" % count)


if __name__ == "__main__":
    outcome.main(run)
