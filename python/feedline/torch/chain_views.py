# SPDX-License-Identifier: Apache-2.0
"""Transforms that make several views of an image: what they are made of.

Self-supervised recipes keep two or more chains in a class of their own:

    class TwoCropsTransform:
        def __call__(self, x):
            q = self.base_transform(x)
            k = self.base_transform(x)
            return [q, k]

`parts_of` says which transforms such a __call__ applies to its image, view by
view. It reads the source, and follows what these classes consist of: calls of
transforms that are attributes, lists of their results, `append`, loops over a
range or a list of transforms. Anything else, and nothing is promised. Source
that is not that of the function (a file that was edited since) is told by its
compiled code.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Dict, List, Optional, Tuple

from ..transforms import Views


@dataclass(frozen=True)
class Part:
    """Some views in a row: `count` of them, by these transforms in order."""

    where: str  # for messages: "global_transfo1"
    transforms: Tuple[Any, ...]
    count: int = 1


class _Unreadable(Exception):
    pass


def parts_of(transform: Any) -> Optional[List[Part]]:
    """The views that `transform` makes; None where it is not one of these."""
    if isinstance(transform, Views):
        return [
            Part("chains[%d]" % i, (chain,), count)
            for i, (chain, count) in enumerate(transform.chains)
        ]
    function = getattr(type(transform), "__call__", None)
    if not isinstance(function, FunctionType) or function.__closure__:
        return None
    try:
        found = _Reader(transform, _source_of(function)).views()
    except _Unreadable:
        return None
    return _merged(found)


def _merged(views: List[Part]) -> List[Part]:
    """Equal views in a row as one part."""
    parts: List[Part] = []
    for view in views:
        last = parts[-1] if parts else None
        if last is not None and _same(last.transforms, view.transforms):
            parts[-1] = Part(last.where, last.transforms, last.count + 1)
        else:
            parts.append(view)
    return parts


def _same(a: Tuple[Any, ...], b: Tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


# ---- Source -----------------------------------------------------------------


def _source_of(function: FunctionType) -> ast.FunctionDef:
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, ValueError):
        raise _Unreadable from None
    definition = tree.body[0]
    if len(tree.body) != 1 or not isinstance(definition, ast.FunctionDef):
        raise _Unreadable
    if definition.decorator_list or not _is_that(function.__code__, tree):
        raise _Unreadable
    return definition


def _is_that(code: CodeType, tree: ast.Module) -> bool:
    """The tree compiles to that code, line numbers apart."""
    made = compile(tree, "<source>", "exec", dont_inherit=True)
    inside = [c for c in made.co_consts if isinstance(c, CodeType)]
    return len(inside) == 1 and _alike(inside[0], code)


def _alike(a: CodeType, b: CodeType) -> bool:
    if (a.co_code, a.co_names, a.co_varnames) != (
        b.co_code,
        b.co_names,
        b.co_varnames,
    ) or len(a.co_consts) != len(b.co_consts):
        return False
    return all(
        _alike(x, y)
        if isinstance(x, CodeType) and isinstance(y, CodeType)
        else isinstance(x, str) or x == y  # names of inner functions, docs
        for x, y in zip(a.co_consts, b.co_consts)
    )


# ---- Following it -----------------------------------------------------------


class _Image:
    """What __call__ is called with."""


# More views than the engine makes: a loop that is none of ours.
_MOST = 64


class _Reader:
    def __init__(self, transform: Any, definition: ast.FunctionDef) -> None:
        arguments = definition.args
        if (
            len(arguments.args) != 2
            or arguments.vararg
            or arguments.kwarg
            or arguments.kwonlyargs
            or arguments.defaults
        ):
            raise _Unreadable
        self._body = definition.body
        self._names: Dict[str, Any] = {
            arguments.args[0].arg: transform,
            arguments.args[1].arg: _Image(),
        }
        self._self = transform

    def views(self) -> List[Part]:
        found = self._run(self._body)
        if (
            not isinstance(found, (list, tuple))
            or not 1 <= len(found) <= _MOST
            or not all(isinstance(view, Part) for view in found)
        ):
            raise _Unreadable
        return list(found)

    def _run(self, body: List[ast.stmt]) -> Any:
        """What it returns; None where it goes on."""
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value:
                return self._value(statement.value)
            self._step(statement)
        return None

    def _step(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assign(statement.targets[0], self._value(statement.value))
        elif isinstance(statement, ast.For) and not statement.orelse:
            self._loop(statement)
        elif isinstance(statement, ast.Expr):
            if not isinstance(statement.value, ast.Constant):  # a docstring
                self._append(statement.value)
        else:
            raise _Unreadable

    def _assign(self, target: ast.expr, value: Any) -> None:
        if not isinstance(target, ast.Name):
            raise _Unreadable
        self._names[target.id] = value

    def _loop(self, loop: ast.For) -> None:
        for value in self._items(loop.iter):
            self._assign(loop.target, value)
            for statement in loop.body:
                self._step(statement)

    def _append(self, call: ast.expr) -> None:
        """crops.append(view)"""
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or call.func.attr != "append"
            or len(call.args) != 1
            or call.keywords
        ):
            raise _Unreadable
        to = self._value(call.func.value)
        if not isinstance(to, list) or to is self._self:
            raise _Unreadable
        made = isinstance(call.func.value, ast.Name)
        view = self._value(call.args[0])
        if not made or not isinstance(view, Part) or len(to) >= _MOST:
            raise _Unreadable
        to.append(view)

    # ---- Expressions ------------------------------------------------------

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and node.id in self._names:
            return self._names[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._value(item) for item in node.elts]
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.ListComp) and len(node.generators) == 1:
            return self._comprehension(node)
        raise _Unreadable

    def _attribute(self, node: ast.Attribute) -> Any:
        """Of the object itself, as it was stored: no property, no method."""
        values = getattr(self._self, "__dict__", {})
        if self._value(node.value) is not self._self or (
            node.attr not in values
        ):
            raise _Unreadable
        return values[node.attr]

    def _call(self, node: ast.Call) -> Part:
        """transform(image), also of what another transform made."""
        if len(node.args) != 1 or node.keywords:
            raise _Unreadable
        transform = self._value(node.func)
        image = self._value(node.args[0])
        if isinstance(transform, (Part, _Image, int, list, tuple)):
            raise _Unreadable
        if transform is self._self:
            raise _Unreadable
        name = getattr(node.func, "attr", "transforms[...]")
        if isinstance(image, _Image):
            return Part(name, (transform,))
        if isinstance(image, Part):
            return Part(name, (*image.transforms, transform))
        raise _Unreadable

    def _comprehension(self, node: ast.ListComp) -> List[Any]:
        generator = node.generators[0]
        if generator.ifs or generator.is_async:
            raise _Unreadable
        found = []
        for value in self._items(generator.iter):
            self._assign(generator.target, value)
            found.append(self._value(node.elt))
        return found

    def _items(self, node: ast.expr) -> List[Any]:
        """range(n), or a list of transforms."""
        if isinstance(node, ast.Call):
            named_range = (
                isinstance(node.func, ast.Name)
                and node.func.id == "range"
                and len(node.args) == 1
                and not node.keywords
            )
            count = self._value(node.args[0]) if named_range else None
            if not isinstance(count, int) or not 0 <= count <= _MOST:
                raise _Unreadable
            return list(range(count))
        values = self._value(node)
        if not isinstance(values, (list, tuple)) or len(values) > _MOST:
            raise _Unreadable
        return list(values)
