# SPDX-License-Identifier: Apache-2.0
"""A page with an anchor for each verdict, from the tables of docs/profiling.md.

The codes are those that the rules in profiler/verdict/ can give: a
code without a row, or a row without a code, is an error.
"""
import re

ROW = re.compile(r"^\| `([A-Z_]+)` \|(.*)\|$", re.M)
GIVEN = re.compile(r"\.code =([^;]*);")


def codes_given(tree):
    """The codes of the rules."""
    found = set()
    for path in (tree / "profiler" / "verdict").glob("*.c"):
        for given in GIVEN.findall(path.read_text(encoding="utf-8")):
            found |= set(re.findall(r'"([A-Z_]+)"', given))
    return found


def tables(text):
    """(words above, names of columns, rows) of each table of the codes."""
    part = text[text.index("### Codes"):]
    for m in re.finditer(r"((?:[^|\n].*\n)+)\n((?:\|.*\n)+)", part):
        lines = m.group(2).splitlines()
        if ROW.match(lines[2]):
            heads = [cell.strip() for cell in lines[0].strip("|").split("|")]
            yield m.group(1), heads, [
                [cell.strip() for cell in line.strip("|").split("|")]
                for line in lines[2:]]


def page(tree):
    """Markdown of the page."""
    text = (tree / "docs" / "profiling.md").read_text(encoding="utf-8")
    found = ["# Verdicts\n", "What `explain()`, the log and `loaderbench` say, "
             "by its code. How they are found, and the numbers that they rest "
             "on: [Where the time goes](../profiling.md).\n"]
    seen = set()
    for words, heads, rows in tables(text):
        found.append(words)
        for row in rows:
            code = row[0].strip("`")
            seen.add(code)
            found.append("## %s\n" % code)
            for head, cell in list(zip(heads, row))[1:]:
                found.append("**%s:** %s\n" % (head.capitalize(), cell))
    given = codes_given(tree)
    if seen != given:
        raise SystemExit("docs/profiling.md and profiler/verdict differ in the "
                         "codes %s" % ", ".join(sorted(seen ^ given)))
    return re.sub(r"\]\((?=[\w-]+\.md)", "](../", "\n".join(found)).replace(
        "](#", "](../profiling.md#")
