# SPDX-License-Identifier: Apache-2.0
"""The pages of the Python package, by autodoc: a page of each module that a
program imports, and one of what their methods return."""

MODULES = {
    "feedline": "The core: needs neither torch nor numpy.",
    "feedline.torch": "torch's DataLoader on the engine.",
    "feedline.transforms": "Steps of your own, in the engine.",
    "feedline.ray": "Workers on other machines.",
    "feedline.integrations": "Adapters for frameworks.",
}
# No program makes one of these itself.
RETURNED = (
    "feedline.annotations.Masks",
    "feedline.annotations.Mix",
    "feedline.annotations.Objects",
    "feedline.fields.Field",
    "feedline.observable.Observable",
    "feedline.observable.Phase",
    "feedline.profiling.KeyAverages",
    "feedline.profiling.Row",
    "feedline.watching.Meter",
)
MEMBERS = "    :members:\n    :show-inheritance:\n"


def page(title, body):
    return "%s\n%s\n\n%s" % (title, "=" * len(title), body)


def pages():
    """(name, text) of each page."""
    for name in MODULES:
        yield "python/" + name, page(
            name, ".. automodule:: %s\n%s" % (name, MEMBERS))
    yield "python/returned", page(
        "What methods return", "\n".join(
            ".. autoclass:: %s\n%s" % (name, MEMBERS) for name in RETURNED))
