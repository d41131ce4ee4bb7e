# SPDX-License-Identifier: Apache-2.0
"""Docstrings for autodoc: what is plain text there becomes reStructuredText."""
import re

import plain_text
from sphinx.util import inspect

# Types of others, whose pages are not here; variables of types; C's structs;
# what no program has in its hands.
NOT_OURS = [("py:.*", pattern) for pattern in (
    r"(?!feedline\.).*", r"feedline(\.\w+)*\.[A-Z]", r"feedline\._c\..*",
    r"feedline\.torch\.\w+\..*", r"feedline\.(source|python_op)\..*")]


def convert(app, what, name, obj, options, lines):
    if what == "module":  # the page's title has its name
        lines[0] = re.sub("^feedline: (.)", lambda m: m.group(1).upper(),
                          lines[0])
    lines[:] = plain_text.rest("\n".join(lines))


def of_init(app, what, name, obj, options, signature, returned):
    """The arguments of a class of ours that stands on one of torch's, which is
    not there and takes anything."""
    if what == "class" and signature == "(*args: Any, **kwargs: Any)":
        found = inspect.signature(obj.__init__, bound_method=True)
        return inspect.stringify_signature(
            found, unqualified_typehints=True), None
    return None


def to_public(app, env, node, contnode):
    """A class is told of where it is imported from, and not where it is
    defined: feedline.loader.EpochInfo is feedline.EpochInfo."""
    if node.get("refdomain") != "py":
        return None
    word = node.get("reftarget", "").rsplit(".", 1)[-1]
    py = env.domains["py"]
    names = [name for name in py.objects
             if re.fullmatch(r"feedline(\.\w+)*\.%s" % re.escape(word), name)
             and py.objects[name].objtype in ("class", "exception")]
    if not names:
        return None
    return py.resolve_xref(env, node.get("refdoc"), env.app.builder, "class",
                           min(names, key=len), node, contnode)


def setup(app):
    app.connect("autodoc-process-docstring", convert)
    app.connect("autodoc-process-signature", of_init)
    app.connect("missing-reference", to_public)
    return {"parallel_read_safe": True}
