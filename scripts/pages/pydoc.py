# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Converts the public names of a Python package to reST, from its sources. Imports nothing."""
import ast
import inspect
import re
import textwrap
from pathlib import Path

# "operator  the operator's name", in a list of arguments or attributes
ITEM = re.compile(r"(\S+(?:, \S+)*) {2,}(\S.*)$")


# `in`, print(), super().__init__()
CODE = re.compile(r"(`\w+`|[\w.]+\(\)(?:[\w.]+\(\))*)")


def markup(text):
    """Returns a paragraph with calls and words in backquotes as code."""
    parts = CODE.split(text)
    parts[1::2] = [f"``{part.strip('`')}``" for part in parts[1::2]]
    parts[::2] = [re.sub(r"(\w)_(?!\w)", r"\1\\_", re.sub(r"([*`|\\])", r"\\\1", part))
                  for part in parts[::2]]
    return "".join(parts)


def items(lines):
    """Returns the items that LINES describe, each with its text; [] if LINES is not a list of
    items."""
    found = []
    for line in lines:
        match = ITEM.match(line)
        if match:
            found.append([match[1], match[2]])
        elif found and line.startswith("  "):
            found[-1][1] += " " + line.strip()
        else:
            return []
    return found


def as_rst(docstring):
    """Returns a docstring as lines of reST."""
    lines = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        text = textwrap.dedent(block)
        found = items(text.splitlines())
        if text.startswith(">>>"):
            lines += [".. code-block:: pycon", "", *textwrap.indent(text, "   ").splitlines()]
        elif text != block:
            lines += [".. code-block:: text", "", *textwrap.indent(text, "   ").splitlines()]
        elif found:
            lines += [f"* ``{name}``: {markup(what)}" for name, what in found]
        else:
            lines += markup(text).splitlines()
        lines.append("")
    return lines


def decorators(node):
    """The names of a definition's decorators."""
    return [ast.unparse(d).split("(")[0] for d in node.decorator_list]


def signature(node, skip=0):
    """The arguments and the result of a function."""
    arguments = ast.parse(ast.unparse(node)).body[0].args
    for _ in range(skip):
        (arguments.posonlyargs or arguments.args).pop(0)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return annotation(f"({ast.unparse(arguments)}){result}")


def annotation(text):
    """Removes the quotes and the private modules that types have in the sources."""
    return re.sub(r"\b_[a-z]+\.", "", re.sub(r"'([A-Z]\w*)'", r"\1", text))


class Package:
    """The names in __all__ of a package, each with the definition that it is imported from."""

    def __init__(self, top, name):
        self.name = name
        self.folder = Path(top, "python", *name.split("."))
        self.files = [self.folder / "__init__.py"]
        self.module = ast.parse(self.files[0].read_text(encoding="utf-8"))
        self.trees = {}
        self.places = {}
        for node in self.module.body:
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
                for alias in node.names:
                    self.places[alias.asname or alias.name] = (node.module, alias.name)

    def names(self):
        """The public names."""
        for node in self.module.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                return ast.literal_eval(node.value)
        raise ValueError(f"{self.name} has no __all__")

    def tree(self, module):
        """The syntax tree of a module of the package."""
        if module not in self.trees:
            path = self.folder / f"{module}.py"
            self.files.append(path)
            self.trees[module] = ast.parse(path.read_text(encoding="utf-8"))
        return self.trees[module]

    def find(self, module, name):
        """Returns the last definition of a name; those before it are overloads."""
        found = [node for node in self.tree(module).body
                 if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name]
        return found[-1] if found else None

    def members(self, module, node):
        """Returns the definitions in a class, with those of its private bases."""
        found = {}
        for base in node.bases:
            name = ast.unparse(base)
            inherited = self.find(module, name) if name.startswith("_") else None
            if isinstance(inherited, ast.ClassDef):
                found.update(self.members(module, inherited))
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and \
                    not any(d.endswith(".setter") for d in decorators(member)):
                found[member.name] = member
        return found

    def class_(self, module, node):
        """Returns the reST of a class and its public members."""
        members = self.members(module, node)
        made_by = members.get("__init__") or members.get("__new__")
        arguments = re.sub(r" -> .*", "", signature(made_by, 1)) if made_by else ""
        bases = [ast.unparse(base) for base in node.bases]
        is_error = any(b.endswith(("Error", "Warning")) or b == "Exception" for b in bases)
        lines = [f".. py:{'exception' if is_error else 'class'}:: {node.name}{arguments}", ""]
        body = as_rst(ast.get_docstring(node))
        for name, member in members.items():
            if not name.startswith("_") and ast.get_docstring(member):
                body += self.member(name, member)
        return lines + [f"   {line}".rstrip() for line in body]

    @staticmethod
    def member(name, node):
        """Returns the reST of a method or a property."""
        kinds = decorators(node)
        if "property" in kinds:
            head = [f".. py:property:: {name}"]
            if node.returns:
                head.append(f"   :type: {annotation(ast.unparse(node.returns))}")
        else:
            is_static = "staticmethod" in kinds
            head = [f".. py:method:: {name}{signature(node, 0 if is_static else 1)}"]
            head += [f"   :{k}:" for k in ("classmethod", "staticmethod") if k in kinds]
        return [*head, "", *(f"   {line}".rstrip() for line in as_rst(ast.get_docstring(node)))]

    def entry(self, name):
        """Returns the reST of a public name."""
        module, original = self.places[name]
        node = self.find(module, original)
        if isinstance(node, ast.ClassDef):
            return self.class_(module, node)
        if node:
            return [f".. py:function:: {name}{signature(node)}", "",
                    *(f"   {line}".rstrip() for line in as_rst(ast.get_docstring(node)))]
        return [f".. py:data:: {name}", "",
                *(f"   {line}".rstrip() for line in as_rst(self.doc_of_value(module, original)))]

    def doc_of_value(self, module, name):
        """Returns the docstring of a variable's class, or an empty string."""
        for node in self.tree(module).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else \
                getattr(node, "target", None)
            value = getattr(node, "value", None)
            if getattr(target, "id", "") == name and isinstance(value, ast.Call):
                made = self.find(module, ast.unparse(value.func))
                return ast.get_docstring(made) if made else ""
        return ""

    def rst(self):
        """Returns the package's docstring, then classes, exceptions and functions, sorted."""
        names = [name for name in self.names() if not name.startswith("__")]
        lines = [f".. py:currentmodule:: {self.name}", "",
                 *as_rst(ast.get_docstring(self.module))]
        for name in sorted(names, key=lambda n: (n[0].islower(), n)):
            lines += self.entry(name)
        return "\n".join(lines)
