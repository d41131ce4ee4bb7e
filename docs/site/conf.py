# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site, of what stage.py has laid out."""
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path[:0] = [str(HERE), str(TREE / "python")]
import docstrings  # noqa: E402

project = "feedline"
author = "the feedline authors"
copyright = "the feedline authors, Apache License 2.0"
release = ".".join(re.findall(
    r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
    (TREE / "include/feedline/feedline.h").read_text(encoding="utf-8")))
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "tree_links", "docstrings",
              "mended"]
root_doc = "docs/index"
include_patterns = ["docs/**", "CONTRIBUTING.md", "SECURITY.md",
                    "bench/results/*.md", "findings/README.md"]
exclude_patterns = ["docs/site/**"]
nitpicky = True
smartquotes = False  # --help is no dash

# Headings have the anchors that GitHub gives them.
myst_heading_anchors = 6
myst_url_schemes = {"http": None, "https": None, "mailto": None, "tree": None}
suppress_warnings = ["myst.header"]  # results of a day begin where they like

# Torch and the frameworks need not be installed to read about them, and images
# and tensors of ours have types of theirs.
autodoc_mock_imports = [
    "torch", "torchvision", "numpy", "PIL", "ray", "accelerate", "lightning",
    "transformers", "timm", "feedline.deferred.image",
    "feedline.deferred.tensor"]
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
c_maximum_signature_line_length = 72
# The options of a Loader have a page of their own.
nitpick_ignore_regex = docstrings.NOT_OURS + [
    ("c:identifier", r"u?int\d+_t|size_t|FILE"),
    ("py:class", r"feedline\._option_types\..*")]

highlight_language = "text"  # a block without a language is no code
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

html_theme = "furo"
html_title = "feedline " + version
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # needs a server
html_search_scorer = str(HERE / "search_order.js")
html_theme_options = {
    "navigation_with_keys": False,
    "light_css_variables": {
        "color-code-background": "#f6f8fa",
        "color-added": "#0f6b45",
        "color-removed": "#a8201a",
    },
    "dark_css_variables": {
        "color-code-background": "#202020",
        "color-added": "#5fd09c",
        "color-removed": "#ff8f86",
    },
}
