#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes feedline/_option_types.py from the library's table of options, so that
editors complete `Loader(..., batch_size=` and type checkers know its values.

    python/make_option_types.py             write it
    python/make_option_types.py --check     compare it with the library

FEEDLINE_LIBRARY names the library, as for the package.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any, List

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "python" / "feedline" / "_option_types.py"
COLUMNS = 80

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Made by python/make_option_types.py from the library's table of options.
"""The options of a Loader, for editors and type checkers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal, Optional, TypedDict, Union

if sys.version_info >= (3, 11):
    from typing import Unpack  # novm
elif TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    Unpack = Optional  # whoever evaluates annotations gets something

__all__ = ["LoaderOptions", "Unpack"]


class LoaderOptions(TypedDict, total=False):
    """Keyword arguments of feedline.Loader; docs/options.md has more of each.

    None leaves the default.
    """
'''

TYPES = {
    "int": ["int"],
    "size": ["int", "str"],  # "64k"
    "time": ["float", "str"],  # "250ms"
    "double": ["float"],
    "bool": ["bool"],
    "enum": [],
    "string": ["str", "os.PathLike[str]"],
}
UNITS = {"size": "bytes", "time": "seconds"}


def words_of(option: Any) -> List[str]:
    """What may be given in place of a number or a bool."""
    words = [w for w in option.choices if w not in ("true", "false")]
    if option.auto and "auto" not in words:
        words.append("auto")
    return words


def type_of(option: Any) -> str:
    parts = list(TYPES[option.kind])
    words = words_of(option)
    if words and "str" not in parts:
        texts = ", ".join('"%s"' % word for word in words)
        parts.append("Literal[%s]" % texts)
    if len(parts) == 1:
        return "Optional[%s]" % parts[0]
    return "Union[%s, None]" % ", ".join(parts)


def limits_of(option: Any) -> str:
    """ " From 1 to 65536; the default is 64." """
    lowest, highest = option.minimum, option.maximum
    words = []
    if option.kind in ("int", "double") and lowest is not None:
        no_end = highest is None or highest > 1 << 31
        words.append("%s or more" % lowest)
        if not no_end:
            words = ["%s to %s" % (lowest, highest)]
    if option.kind in UNITS:
        words.append(UNITS[option.kind])
    if option.default:
        words.append("default %s" % option.default)
    return "[%s]" % "; ".join(words) if words else ""


def row(option: Any) -> str:
    start = "    %s: " % option.name
    line = start + type_of(option)
    if len(line) > COLUMNS:
        inside = type_of(option)
        head, _, rest = inside.partition("[")
        lines = textwrap.wrap(rest[:-1], COLUMNS - 8)
        line = "%s%s[\n%s\n    ]" % (
            start,
            head,
            "\n".join("        " + text for text in lines),
        )
    text = ("%s. %s" % (option.help, limits_of(option))).strip()
    assert "\\" not in text, text
    wrapped = textwrap.wrap(
        '"""' + text,
        COLUMNS - 4,
        break_on_hyphens=False,
        break_long_words=False,
    )
    if len(wrapped[-1]) > COLUMNS - 7:
        wrapped.append("")
    wrapped[-1] += '"""'
    return "\n".join([line, *("    " + text for text in wrapped)])


def made() -> str:
    sys.path.insert(0, str(ROOT / "python"))
    import feedline

    rows = [row(option) for option in feedline.option_table().values()]
    return HEAD + "\n" + "\n".join(rows) + "\n"


def main() -> int:
    text = made()
    if sys.argv[1:] == ["--check"]:
        same = TARGET.read_text(encoding="utf-8") == text
        if not same:
            print("%s is old: run python/make_option_types.py" % TARGET)
        return 0 if same else 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
