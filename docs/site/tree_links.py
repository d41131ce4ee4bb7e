# SPDX-License-Identifier: Apache-2.0
"""Links from the pages into the tree, and names in the text that are links.

A link to a file that is no page of the site leads to one that shows it, made
here; one to a folder, to its README or a list of its files. Where the text has
the name of a function, a verdict, a class or a file as a literal, it leads
there.
"""
import html
import os
import re
from pathlib import Path

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes

SHOWN = "tree/"  # where the pages of files are
PICTURES = (".svg", ".png")
LINK = re.compile(r"(?<=\]\()([\w./-]+)(#[\w-]+)?(?=\))")
NOT_RUN = re.compile(r"^( *)<!-- not run: (.*) -->\n *```(\w+)\n", re.M)
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
PAGE = re.compile(r"(docs/[\w/]+\.md)\b")


def said(m):
    """That a block is not run stands above it, for all to see."""
    return "%s```{code-block} %s\n%s:caption: Not run by the tests: %s\n" % (
        m.group(1), m.group(3), m.group(1), m.group(2))


def to_tree(app, docname, content):
    """A link to a folder leads to its README or to a list of what is in it, and
    one to any file that is no page here to what shows it."""
    here = os.path.dirname(docname)

    def changed(m):
        there = os.path.normpath(os.path.join(here, m.group(1)))
        full = os.path.join(app.srcdir, there)
        if os.path.isdir(full):
            readme = os.path.join(there, "README.md")
            if not os.path.isfile(os.path.join(app.srcdir, readme)):
                app.env.tree_listed.add(there)
                return "tree:%s%s/index" % (SHOWN, there)
            there = readme
        elif not os.path.isfile(full):
            return m.group()  # a warning of MyST's
        if os.path.splitext(there)[0] in app.env.found_docs:
            return os.path.relpath(there, here or ".") + (m.group(2) or "")
        if os.path.splitext(there)[1] in PICTURES:
            return m.group()
        return "tree:" + shown(app, there)

    content[0] = NOT_RUN.sub(said, LINK.sub(changed, content[0]))


def shown(app, path):
    """The name of the page that shows a file."""
    app.env.tree_shown.add(path)
    return SHOWN + path


def relative(app, doctree):
    for node in doctree.findall(nodes.reference):
        if node.get("refuri", "").startswith("tree:"):
            node["refuri"] = app.builder.get_relative_uri(
                app.env.docname, node["refuri"][len("tree:"):])
            node["internal"] = True


# ---- Names in the text -------------------------------------------------------

def names_of(app):
    """From a name to (page, anchor)."""
    found = {}
    for domain in ("c", "py"):
        for name, _, _, page, anchor, _ in \
                app.env.domains[domain].get_objects():
            found[name] = (page, anchor)
    for label, (page, anchor) in verdicts(app):
        found[label] = (page, anchor)
    return found


def verdicts(app):
    page = "docs/reference/verdicts"
    doctree = app.env.get_doctree(page)
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title).astext()
        if re.fullmatch("[A-Z_]+", title):
            yield title, (page, section["ids"][0])


def target_of(app, text):
    """(page, anchor) of a literal, or None."""
    name = re.sub(r"\(.*\)$", "", text, flags=re.S)
    if name in app.env.tree_names:
        return app.env.tree_names[name]
    if not PATH.fullmatch(text) or "/" not in text.rstrip("/"):
        return None
    for path in (text, os.path.join("include", text)):
        if not os.path.isfile(os.path.join(app.srcdir, path)):
            continue
        page = os.path.splitext(path)[0]
        if page in app.env.found_docs:
            return page, ""
        if path.startswith("include/feedline/"):
            return "docs/reference/c/" + os.path.basename(page), ""
        return shown(app, path), ""
    return None


def link_names(app, doctree, docname):
    if not hasattr(app.env, "tree_names"):
        app.env.tree_names = names_of(app)
    for node in list(doctree.findall(nodes.literal)):
        if node_is_link(node):
            continue
        link = link_to(app, docname, node.astext())
        if link is not None:
            node.replace_self(link)
            link += node
    for node in list(doctree.findall(nodes.Text)):
        if PAGE.search(node) and isinstance(node.parent, nodes.paragraph):
            node.parent.replace(node, [
                linked(app, docname, part)
                for part in PAGE.split(node) if part])


def link_to(app, docname, text):
    """An empty link to what a text names, or None."""
    target = target_of(app, text)
    if target is None or target[0] == docname and not target[1]:
        return None
    uri = app.builder.get_relative_uri(docname, target[0])
    if target[1]:
        uri += "#" + target[1]
    return nodes.reference("", "", internal=True, refuri=uri)


def linked(app, docname, text):
    """A part of a paragraph: the name of a page is a link to it."""
    link = link_to(app, docname, text) if PAGE.fullmatch(text) else None
    if link is None:
        return nodes.Text(text)
    link += nodes.Text(text)
    return link


def node_is_link(node):
    while node is not None:
        if isinstance(node, (nodes.reference, addnodes.pending_xref,
                             nodes.title, addnodes.desc_signature)):
            return True
        node = node.parent
    return False


# ---- Pages of files ----------------------------------------------------------

def page_of_file(app, path):
    text = Path(app.srcdir, path).read_text(encoding="utf-8", errors="replace")
    try:
        lexer = get_lexer_for_filename(path, text)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter(
        linenos="inline", lineanchors="line", cssclass="highlight"))


def page_of_folder(app, folder):
    here = SHOWN + folder + "/index"
    rows = []
    for name in sorted(os.listdir(os.path.join(app.srcdir, folder))):
        path = os.path.join(folder, name)
        if os.path.isfile(os.path.join(app.srcdir, path)):
            doc = os.path.splitext(path)[0]
            there = doc if doc in app.env.found_docs else shown(app, path)
            uri = app.builder.get_relative_uri(here, there)
            rows.append('<li><a href="%s">%s</a></li>' % (
                html.escape(uri), html.escape(name)))
    return "<ul>%s</ul>" % "".join(rows)


def write(app, page, title, body):
    """Not by the builder, which would make a menu for each."""
    text = app.builder.templates.render("file.html", {
        "title": title, "body": body, "site": app.config.html_title,
        "top": "../" * page.count("/")})
    path = Path(app.outdir, page + ".html")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_all(app, failed):
    if failed:
        return
    for folder in sorted(app.env.tree_listed):
        write(app, SHOWN + folder + "/index", folder + "/",
              page_of_folder(app, folder))
    for path in sorted(app.env.tree_shown):
        write(app, SHOWN + path, path, page_of_file(app, path))


def begin(app, env, docnames):
    env.tree_shown = set()
    env.tree_listed = set()


def setup(app):
    app.connect("env-before-read-docs", begin)
    app.connect("source-read", to_tree)
    app.connect("doctree-read", relative)
    app.connect("doctree-resolved", link_names)
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
