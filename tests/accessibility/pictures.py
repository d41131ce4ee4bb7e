#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of HTML files in each of the looks that accessible asks about.

    tests/accessibility/pictures.py FOLDER PAGE.html...

writes FOLDER/NAME.LOOK.png, from the top of the page to its end.
"""
import base64
import os
import sys

import check_pages

TALLEST = 12000  # pixels; Chromium draws no more than 16384


def take(shower, page, look):
    """The bytes of a PNG."""
    shower.look_like(*look)
    shower.open(page)
    height = shower.value("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": look[0], "scale": 1,
            "height": min(height, TALLEST)}
    return base64.b64decode(shower.call(
        "Page.captureScreenshot", captureBeyondViewport=True,
        clip=clip)["data"])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, pages = sys.argv[1], sys.argv[2:]
    for page in pages:
        if not os.path.isfile(page):
            sys.exit("%s: no such file" % page)
    program = check_pages.browser.find()
    if program is None:
        sys.exit("no browser (Debian: apt-get install chromium)")
    os.makedirs(folder, exist_ok=True)
    shower = check_pages.browser.Browser(program)
    try:
        for page in pages:
            name = os.path.splitext(os.path.basename(page))[0]
            for look in check_pages.LOOKS:
                path = os.path.join(folder, "%s.%d-%s-%s.png" % (
                    (name,) + look))
                with open(path, "wb") as f:
                    f.write(take(shower, page, look))
                print(path)
    finally:
        shower.close()


if __name__ == "__main__":
    main()
