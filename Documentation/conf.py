# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Sphinx settings, and the directives of the API pages.

kernel-doc:: HEADER   the kernel-doc comments of HEADER, by the kernel's script
                      (KERNELDOC, or that of scripts/fetch-kernel)
dk-reasons::          the reasons of <dispatchkey-base.h>, as a table
dk-statements::       PyTorch's statements and their tests, by scripts/statements
dk-peer-bugs::        bugs of others and their tests, by scripts/peer-bugs
dkctl-help:: SECTION  a section of what dkctl (DKCTL) says in its help
dkctl-subcommands::   what each of its subcommands says
dk-tracepoints::      trace events of the module
dk-python:: PACKAGE   the public names of a package of Python, from its docstrings
dk-functions::        in a manual page, the functions by groups; in HTML, a link to the API pages
"""
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import sphinx
import sphinx.util.logging
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.util.nodes import nested_parse_with_titles

TOP = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "scripts"))

from pages import helptext, pydoc, rst, tracepoints  # noqa: E402 pylint: disable=wrong-import-position

project = "dispatchkey"
copyright = "the dispatchkey authors"  # pylint: disable=redefined-builtin
version = release = (TOP / "VERSION").read_text(encoding="utf-8").strip()
extensions = []
master_doc = "index"
primary_domain = "c"
highlight_language = "none"
# With smartquotes, the "--" of "--json" would become a dash.
smartquotes = False
html_theme = "alabaster"
# The page is wide enough for CODE_COLUMNS characters of code beside the sidebar. A character is 0.6
# times as wide as the font size of code, which is 13.6 pixels.
CODE_COLUMNS = 100
html_theme_options = {"page_width": "min(1200px, 100%)", "code_font_size": "0.8em"}
html_show_sourcelink = False
html_copy_source = False
nitpicky = False


def kernel_doc():
    """Returns the path of the kernel's script, or None."""
    path = os.environ.get("KERNELDOC")
    if path:
        return path
    done = subprocess.run([TOP / "scripts/fetch-kernel", "--what", "tools"], text=True,
                          stdout=subprocess.PIPE, check=False)
    found = re.search(r"^KTOOLS=(.*)$", done.stdout, re.M)
    return f"{found[1]}/scripts/kernel-doc" if found else None


class Generated(Directive):
    """Has what the directives of this project have in common."""

    def parse(self, text, source):
        self.state.document.settings.env.note_dependency(str(source))
        section = nodes.section()
        section.document = self.state.document
        nested_parse_with_titles(self.state, StringList(text.splitlines(), str(source)), section)
        return section.children


class KernelDoc(Generated):
    """kernel-doc comments of these names, in the order of the header."""

    required_arguments = 1
    option_spec = {"functions": directives.unchanged_required}

    def run(self):
        header = TOP / self.arguments[0]
        script = KernelDoc.script = getattr(KernelDoc, "script", None) or kernel_doc()
        if not script:
            return [self.state_machine.reporter.warning(
                "no kernel-doc: set KERNELDOC to scripts/kernel-doc of a kernel's sources",
                line=self.lineno)]
        names = self.options["functions"].split()
        args = ["perl", script, "-rst", "-sphinx-version", sphinx.__display_version__]
        for name in names:
            args += ["-function", name]
        done = subprocess.run([*args, header], text=True, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        return self.parse(done.stdout.replace("DK_INLINE ", ""), header)


class Reasons(Generated):
    """X(REASON, errno, "sentence") of DK_REASONS, one row each."""

    def run(self):
        header = TOP / "include/dispatchkey-base.h"
        text = header.read_text(encoding="utf-8")
        text = re.search(r"#define DK_REASONS\(X\)(.*?[^\\])\n", text, re.S)[1]
        rows = re.findall(r'X\((\w+), (\w+),[\s\\]*"([^"]*)"\)', text)
        table = ".. list-table::\n   :header-rows: 1\n\n   * - Reason\n     - Error\n     - Text\n"
        for name, errno, sentence in rows:
            errno = "none" if errno == "0" else f"-{errno}"
            table += f"   * - ``DK_WHY_{name}``\n     - {errno}\n     - {sentence}\n"
        return self.parse(table, header)


class Statements(Generated):
    """The table of scripts/statements."""

    script = "scripts/statements"

    def run(self):
        script = TOP / self.script
        done = subprocess.run([script, "--rst"], text=True, check=True, stdout=subprocess.PIPE)
        for test in sorted((TOP / "selftests").glob("*/*.[cp]*")):
            self.state.document.settings.env.note_dependency(str(test))
        return self.parse(done.stdout, script)


class PeerBugs(Statements):
    """The table of scripts/peer-bugs."""

    script = "scripts/peer-bugs"


class DkctlHelp(Generated):
    """Sections of dkctl's help."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        tool = os.path.abspath(os.environ.get("DKCTL") or TOP / "build/dkctl")
        return self.parse(rst.as_rst(self.nodes(helptext.Help(tool))), tool)

    def nodes(self, told):
        return told.section(self.arguments[0])


class DkctlSubcommands(DkctlHelp):
    """Usage and help of every subcommand."""

    def nodes(self, told):
        nodes = []
        for sub in told.subcommands.values():
            nodes.append((f"``dkctl {sub.name}``", [
                ("plain", sub.summary),
                *[("para", f"**dkctl** {helptext.markup(u.removeprefix('dkctl '))}")
                  for u in sub.usage],
                *sub.own()]))
        return [("terms", nodes)]


class Functions(Generated):
    """In the HTML pages, a link to the index of the API pages, which lists the functions."""

    required_arguments = 0
    optional_arguments = 1

    def run(self):
        return self.parse("See :doc:`../api/index`.", TOP / "Documentation/api/index.rst")


class PythonPackage(Generated):
    """The public names of a package, from its sources."""

    required_arguments = 1

    def run(self):
        package = pydoc.Package(TOP, self.arguments[0])
        text = package.rst()
        for path in package.files:
            self.state.document.settings.env.note_dependency(str(path))
        return self.parse(text, package.files[0])


class Tracepoints(Generated):
    """The module's trace events."""

    required_arguments = 0

    def run(self):
        header = TOP / "kmod/trace.h"
        return self.parse(rst.as_rst(tracepoints.nodes(header)), header)


def check_code(app, doctree):
    """Warns of code that is wider than the page, because the page would clip it."""
    for block in doctree.traverse(nodes.literal_block):
        for line in block.astext().expandtabs(8).splitlines():
            if len(line) > CODE_COLUMNS:
                sphinx.util.logging.getLogger(__name__).warning(
                    "code is wider than %d columns: %s", CODE_COLUMNS, line,
                    location=block)


def declared_once(record):
    """Drops warnings that a name is declared twice: Sphinx confuses struct x with x()."""
    return not record.getMessage().startswith("Duplicate C declaration")


def setup(app):
    logging.getLogger("sphinx.sphinx.domains.c").addFilter(declared_once)
    app.connect("doctree-read", check_code)
    app.add_directive("kernel-doc", KernelDoc)
    app.add_directive("dk-reasons", Reasons)
    app.add_directive("dk-statements", Statements)
    app.add_directive("dk-peer-bugs", PeerBugs)
    app.add_directive("dkctl-help", DkctlHelp)
    app.add_directive("dkctl-subcommands", DkctlSubcommands)
    app.add_directive("dk-functions", Functions)
    app.add_directive("dk-tracepoints", Tracepoints)
    app.add_directive("dk-python", PythonPackage)
    return {"parallel_read_safe": True}
