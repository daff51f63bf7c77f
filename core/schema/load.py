"""Reading schema files; all mistakes in all files are reported together, each with its position."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from tt.core.errors import SchemaError, SchemaProblem
from tt.core.schema.copies import copy_form
from tt.core.schema.fields import FIELDS, SCHEMA_VERSION, TOP_LEVEL, Field
from tt.core.schema.foreach import foreach_forms
from tt.core.schema.grammar import read
from tt.core.schema.model import OpDefinition, Signature
from tt.core.schema.reader import suggest

if TYPE_CHECKING:
    from yaml.nodes import Node

__all__ = ["load", "loads"]

_TAG: Final = "tag:yaml.org,2002:"


def load(paths: Iterable[str | os.PathLike[str]]) -> dict[str, OpDefinition]:
    """Return the operators of schema files, by their qualified names, in the order of the files.

    Parameters
    ----------
    paths : iterable of path
        YAML files of the grammar of ops.yaml.

    Raises
    ------
    SchemaError
        With every mistake of every file.
    """
    definitions: dict[str, OpDefinition] = {}
    problems: list[SchemaProblem] = []
    for path in paths:
        file = os.fspath(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            problems.append(SchemaProblem(file, 1, 1, f"cannot read the file: {reason}"))
            continue
        problems += _File(file, text, definitions).read()
    if problems:
        raise SchemaError(problems)
    return definitions


def loads(text: str, file: str = "<text>") -> dict[str, OpDefinition]:
    """Return the operators of a schema given as text.

    Raises
    ------
    SchemaError
        With every mistake.

    Examples
    --------
    >>> from tt.core.schema.load import loads
    >>> ops = loads('''
    ... schema_version: 1
    ... namespace: acme
    ... ops:
    ... - func: twice(Tensor x) -> Tensor
    ...   kind: other
    ... ''')
    >>> list(ops)
    ['acme::twice']
    """
    definitions: dict[str, OpDefinition] = {}
    problems = _File(file, text, definitions).read()
    if problems:
        raise SchemaError(problems)
    return definitions


class _File:
    """One file: its text, and the mistakes found so far."""

    def __init__(self, file: str, text: str, found: dict[str, OpDefinition]) -> None:
        self.file, self.text, self.lines, self.found = file, text, text.split("\n"), found
        self.problems: list[SchemaProblem] = []
        self.namespace = "tt"

    def at(self, line: int, column: int, message: str, hint: str = "") -> None:
        """Note a mistake at a line and column that count from 0."""
        if line >= len(self.lines):  # the end of the file, after its last line break
            line, column = len(self.lines) - 1, len(self.lines[-1])
        source = self.lines[line]
        self.problems.append(SchemaProblem(self.file, line + 1, column + 1, message, source, hint))

    def note(self, node: Node, message: str, hint: str = "") -> None:
        self.at(node.start_mark.line, node.start_mark.column, message, hint)

    # --- the file ----------------------------------------------------------------------------------------------

    def read(self) -> list[SchemaProblem]:
        # The C loader is several times as fast, and not everywhere.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            # Nodes and not values: only nodes know their line and column.
            root = yaml.compose(self.text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line, mark.column) if mark else (0, 0)
            context = f" {error.context}" if error.context else ""
            self.at(line, column, f"this is not YAML: {error.problem}{context}")
            return self.problems
        except yaml.reader.ReaderError as error:
            # A character that YAML forbids has a position, but no line.
            before = self.text[: error.position]
            line = before.count("\n")
            self.at(line, len(before) - before.rfind("\n") - 1, f"this is not YAML: {error.reason}")
            return self.problems
        if root is None:
            self.at(0, 0, "the file is empty", "write schema_version: 1 and ops:")
            return self.problems
        keys = self.mapping(root, "the file", TOP_LEVEL)
        if keys is None:
            return self.problems
        if "schema_version" not in keys:
            self.note(root, "the file has no schema_version", f"write schema_version: {SCHEMA_VERSION}")
        elif (version := keys["schema_version"]).tag != f"{_TAG}int" or version.value != str(SCHEMA_VERSION):
            self.note(version, f"schema_version must be {SCHEMA_VERSION}, not {_shown(version)}")
        if "namespace" in keys:
            self.namespace = self.text_of(keys["namespace"], "namespace") or "tt"
            if not self.namespace.isidentifier():
                self.note(keys["namespace"], f"{self.namespace!r} is not a name")
        if "ops" not in keys:
            self.note(root, "the file has no ops", "write ops: and a list of entries")
        else:
            for family, node in self.entries(keys["ops"]):
                self.entry(node, family)
        # Mistakes are found key by key; a reader wants them from the top of the file.
        return sorted(self.problems, key=lambda p: (p.line, p.column))

    def entries(self, node: Node) -> Iterator[tuple[str, Node]]:
        """Yield the entries with their families; those of a list have none."""
        if not isinstance(node, yaml.MappingNode):
            for entry in self.sequence(node, "ops"):
                yield "", entry
            return
        known: set[str] = set()
        for key, entries in node.value:
            family = self.text_of(key, "the name of a family") or ""
            if family and not family.isidentifier():
                self.note(key, f"{family!r} is not a name")
            elif family in known:
                self.note(key, f"the family {family!r} occurs twice")
            known.add(family)
            for entry in self.sequence(entries, family):
                yield family, entry

    # --- an entry ----------------------------------------------------------------------------------------------

    def entry(self, node: Node, family: str) -> None:
        nodes = self.mapping(node, "an entry of ops", FIELDS)
        if nodes is None:
            return
        for key, field in FIELDS.items():
            if field.required and key not in nodes:
                self.note(
                    node, f"the entry has no {key}", f"write {key}: {field.doc[0].lower()}{field.doc[1:]}"
                )
        values = {key: self.value(child, key, FIELDS[key]) for key, child in nodes.items()}
        signature = self.signature(nodes["func"], values["func"]) if values.get("func") else None
        if signature is None:
            # Without a signature nothing else of the entry can be checked.
            return
        self.fit(signature, nodes, values)
        definition = OpDefinition(
            signature,
            kind=values.get("kind") or "other",
            meta=values.get("meta"),
            promote=values.get("promote") or (),
            result=values.get("result") or "default",
            dtypes=values.get("dtypes") or "all",
            variants=("function",) if values.get("variants") is None else values["variants"],
            grad=values.get("grad") or (),
            format_of=values.get("format_of") or (),
            in_range=values.get("in_range") or (),
            in_compute_range=values.get("in_compute_range") or (),
            autocast=values.get("autocast") or "",
            autocast_cpu=values.get("autocast_cpu") or "",
            core=bool(values.get("core")),
            ref=values.get("ref"),
            samples=values.get("samples"),
            tags=values.get("tags") or (),
            doc=values.get("doc") or "",
            example=values.get("example"),
            module=values.get("python_module") or "",
            aliases=values.get("aliases") or (),
            family=family,
            location=(self.file, node.start_mark.line + 1),
        )
        first = self.found.get(definition.name)
        if first is not None:
            self.note(
                nodes["func"],
                f"{definition.name} is defined twice",
                f"the first definition is at {first.location[0]}:{first.location[1]}; give one an overload name",
            )
            return
        derived: list[OpDefinition] = []
        if "copy" in definition.variants:
            variants = tuple(word for word in definition.variants if word != "copy")
            definition = definition._replace(variants=variants)
            derived.append(copy_form(definition))
        try:
            derived += foreach_forms(definition, values.get("foreach") or ())
        except ValueError as error:
            self.note(nodes["foreach"], str(error))
        self.found.update((d.name, d) for d in (definition, *derived))

    def signature(self, node: Node, text: str) -> Signature | None:
        signature, mistakes = read(text)
        style = getattr(node, "style", None)
        # A quoted or plain scalar on one line: columns of the text are columns of the file, behind the quote.
        quoted = style in ("'", '"')
        single_line = node.start_mark.line == node.end_mark.line and (quoted or not style)
        for mistake in mistakes:
            column = node.start_mark.column + (mistake.column + quoted if single_line else 0)
            self.at(node.start_mark.line, column, mistake.message, mistake.hint)
        if signature is None or mistakes:
            return None
        if self.namespace != "tt":
            if signature.namespace not in ("tt", self.namespace):
                self.note(
                    node, f"the namespace of the file is {self.namespace!r}, not {signature.namespace!r}"
                )
            # The file's namespace serves all of its entries, which may leave it out.
            signature = Signature(
                self.namespace, signature.name, signature.overload, signature.arguments, signature.returns
            )
        # Of operators on lists, or that change several arguments, no form is derived: `_foreach_add_` is its own.
        first = signature.arguments[0].type if signature.arguments else None
        changed = [argument for argument in signature.arguments if argument.alias and argument.alias.write]
        own = (first is not None and first.list) or len(changed) > 1
        if signature.name.endswith("_") and not own:
            self.note(
                node,
                f"{signature.name!r} names an in-place form, which is derived",
                f"define {signature.name.rstrip('_')!r} with variants: [inplace]",
            )
        return signature

    def fit(self, signature: Signature, nodes: Mapping[str, Node], values: Mapping[str, Any]) -> None:
        """Check the values that depend on the signature."""
        names = [a.name for a in signature.arguments]
        for key in ("promote", "grad", "format_of"):
            for word, node in zip(values.get(key) or (), _items(nodes.get(key)), strict=False):
                argument = signature.argument(word)
                if argument is None:
                    self.note(node, f"{signature.qualified} has no argument {word!r}", suggest(word, names) or (
                        f"its arguments are: {', '.join(names)}"
                    ))  # fmt: skip
                elif not argument.type.is_tensor and (key != "promote" or argument.type.base != "Scalar"):
                    lacks = {"promote": "dtype", "grad": "gradient", "format_of": "memory format"}[key]
                    self.note(node, f"{word!r} is {argument.type}, which has no {lacks}")
        for key in ("in_range", "in_compute_range"):
            for word, node in zip(values.get(key) or (), _items(nodes.get(key)), strict=False):
                argument = signature.argument(word)
                if argument is None:
                    self.note(node, f"{signature.qualified} has no argument {word!r}", suggest(word, names) or (
                        f"its arguments are: {', '.join(names)}"
                    ))  # fmt: skip
                elif not argument.type.takes_number:
                    self.note(node, f"{word!r} is {argument.type}, which takes no number")
        for key in ("autocast", "autocast_cpu"):
            if values.get(key) == "set_dtype" and not any(
                a.type.base == "dtype" for a in signature.arguments
            ):
                self.note(
                    nodes[key],
                    f"{signature.qualified} has no argument of the type dtype, which set_dtype sets",
                )
        changed = [a.name for a in signature.arguments if a.alias and a.alias.write]
        for word, node in zip(values.get("promote") or (), _items(nodes.get("promote")), strict=False):
            if word in changed:
                self.note(
                    node, f"{word!r} is changed by the operator: it keeps its dtype and does not promote"
                )
        for word, node in zip(values.get("variants") or (), _items(nodes.get("variants")), strict=False):
            if changed and word in ("inplace", "out"):
                self.note(node, f"an operator that changes its arguments has no form {word!r}")
        if changed and values.get("kind") not in (None, "other", "composite"):
            self.note(nodes["kind"], "an operator that changes its arguments has the kind other or composite")
        result = values.get("result")
        if isinstance(result, tuple) and len(result) != len(signature.returns):
            counts = f"returns {len(signature.returns)}, but result lists {len(result)}"
            self.note(nodes["result"], f"{signature.qualified} {counts}")
        for form, derive in (("inplace", signature.inplace), ("out", signature.out)):
            for word, node in zip(values.get("variants") or (), _items(nodes.get("variants")), strict=False):
                if word == form:
                    try:
                        derive()
                    except ValueError as error:
                        self.note(node, str(error))

    # --- values ------------------------------------------------------------------------------------------------

    def value(self, node: Node, key: str, field: Field) -> Any:
        """Return the value of a key, or None where it is wrong."""
        if field.form == "flag":
            # By the tag: YAML 1.1 has several words for true, and a text in quotes is none of them.
            if node.tag != f"{_TAG}bool":
                self.note(node, f"{key} must be true or false, not {_shown(node)}")
                return None
            return node.value in ("true", "True", "yes", "on")
        if field.form == "words" or (field.form == "word or words" and isinstance(node, yaml.SequenceNode)):
            words = [self.word(item, key, field) for item in self.sequence(node, key)]
            for index, word in enumerate(words):
                if field.form == "words" and word is not None and word in words[:index]:
                    self.note(_items(node)[index], f"{word!r} is listed twice in {key}")
            return None if None in words else tuple(words)
        return self.word(node, key, field)

    def word(self, node: Node, key: str, field: Field) -> str | None:
        text = self.text_of(node, key)
        if text is None:
            return None
        if field.words is not None and text not in field.words:
            hint = suggest(text, field.words) or f"there are: {', '.join(field.words)}"
            self.note(node, f"unknown {field.what} {text!r}", hint)
            return None
        if field.pattern and not re.fullmatch(field.pattern, text):
            self.note(node, f"{text!r} is not a {field.what}")
            return None
        return text

    def text_of(self, node: Node, key: str) -> str | None:
        # An unquoted `no` or `1.0` is no text to YAML; the hint shows it in quotes.
        if node.tag != f"{_TAG}str":
            quote = f"write '{node.value}'" if isinstance(node.value, str) and node.value else ""
            self.note(node, f"{key} must be a string, not {_shown(node)}", quote)
            return None
        text = str(node.value)
        if not text.strip():
            self.note(node, f"{key} is empty", "leave the key out, or give it a value")
            return None
        return text

    # --- nodes -------------------------------------------------------------------------------------------------

    def mapping(self, node: Node, what: str, known: Mapping[str, Any]) -> dict[str, Node] | None:
        if not isinstance(node, yaml.MappingNode):
            self.note(node, f"{what} must be a mapping of keys to values, not {_shown(node)}")
            return None
        nodes: dict[str, Node] = {}
        for key_node, child in node.value:
            key = key_node.value if isinstance(key_node.value, str) else ""
            if key_node.tag != f"{_TAG}str":
                self.note(key_node, f"a key must be a string, not {_shown(key_node)}")
            elif key not in known:
                self.note(
                    key_node, f"unknown key {key!r}", suggest(key, known) or f"there are: {', '.join(known)}"
                )
            elif key in nodes:
                self.note(key_node, f"the key {key!r} occurs twice")
            else:
                nodes[key] = child
        return nodes

    def sequence(self, node: Node, key: str) -> list[Node]:
        if not isinstance(node, yaml.SequenceNode):
            hint = f"write [{node.value}]" if isinstance(node, yaml.ScalarNode) and node.value else ""
            self.note(node, f"{key} must be a list, not {_shown(node)}", hint)
            return []
        return list(node.value)


def _items(node: Node | None) -> list[Node]:
    return list(node.value) if node is not None and isinstance(node.value, list) else []


def _shown(node: Node) -> str:
    """Return the kind of a node, for messages."""
    kind = node.tag.removeprefix(_TAG)
    names = {"int": "the number", "float": "the number", "bool": "the truth value", "str": "the text"}
    if kind in names:
        return f"{names[kind]} {node.value}"
    return {"null": "nothing", "seq": "a list", "map": "a mapping"}.get(kind, f"a value of type {kind}")
