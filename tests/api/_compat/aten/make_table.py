"""Makes `api/_compat/aten/table.txt`, which operator of tt serves each of PyTorch's, from the schemas of both.

    python -m tests.api._compat.aten.make_table --write

needs PyTorch.  An overload is served where every call that its schema allows means the same in tt: arguments of the
same names, at the same positions, of types that tt's take in, with the same defaults.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tt._compat.aten.table import TABLE, parse_table
from tt.core.errors import SchemaError
from tt.core.schema.model import MISSING, Argument, OpDefinition, Signature, Type
from tt.library import REGISTRY

__all__ = ["lines", "schemas", "serves"]

_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})
"""Options of factories that the schema of an operator need not list."""
_WIDER = {("int", "float"), ("int", "Scalar"), ("float", "Scalar"), ("bool", "Scalar")}


def schemas() -> Iterator[Signature]:
    """Yield PyTorch's schemas in the namespace aten that this grammar can express, of operators with tensors."""
    import torch

    # In the order of `overloads()`; the list of all schemas has another.
    names = dict.fromkeys(s.name for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::"))
    for name in sorted(names):
        for overload in torch._C._jit_get_operation(name)[1]:
            text = str(torch._C._get_schema(name, overload))
            try:
                signature = Signature.parse(text, any_spelling=True)
            except SchemaError:
                continue
            if any(part.type.is_tensor for part in (*signature.arguments, *signature.returns)):
                yield signature


def form_of(signature: Signature) -> str:
    """Return which form of an operator a schema of PyTorch's describes."""
    written = [a for a in signature.arguments if a.alias and a.alias.write]
    if written and all(a.keyword_only for a in written) and "out" in signature.overload:
        return "out"
    # `__iand__` is written with words of Python, and changes its argument, too.
    return "inplace" if signature.name.endswith("_") and not signature.name.endswith("__") else "functional"


def serves(definition: OpDefinition, wanted: Signature, form: str) -> bool:
    """Return whether a form of an operator takes every call that a schema allows, and means the same."""
    own = definition.signature
    if form == "inplace" and own.name == wanted.name:  # an operator that has no functional form
        form = "functional"
    elif (form == "inplace" and not definition.has_inplace) or (form == "out" and not definition.has_out):
        return False
    outs = [a for a in wanted.arguments if form == "out" and a.alias and a.alias.write]
    arguments = [a for a in wanted.arguments if a not in outs]
    # The tensors of `out=` are one argument here: a tuple where there are several, which is another call.
    if form == "out" and (len(outs) != 1 or outs[0].name != "out" or len(own.returns) != 1):
        return False
    taken = {a.name: a for a in own.arguments}
    options = _OPTIONS if definition.kind == "factory" else frozenset()
    for position, argument in enumerate(arguments):
        match = taken.pop(argument.name, None)
        if match is None:
            if argument.name in options and argument.default is None:
                continue
            return False
        if not argument.keyword_only and (match.keyword_only or own.arguments[position] is not match):
            return False
        if not _takes(match.type, argument.type) or not _same_default(match, argument):
            return False
    if any(a.default is MISSING for a in taken.values()):
        return False
    return form != "functional" or _results(own) == _results(wanted)


def _results(signature: Signature) -> list[tuple[bool, bool]]:
    return [(r.type.is_tensor, r.type.list) for r in signature.returns]


def _takes(own: Type, wanted: Type) -> bool:
    if wanted.optional and not own.optional:
        return False
    if own.list != wanted.list:
        return False
    if wanted.element_optional and not own.element_optional:
        return False
    if own.or_scalar:
        return wanted.is_tensor or wanted.base in ("Scalar", "int", "float", "bool")
    return own.base == wanted.base or (wanted.base, own.base) in _WIDER or own.base == "any"


def _same_default(own: Argument, wanted: Argument) -> bool:
    if wanted.default is MISSING:
        return True
    if own.default is MISSING:
        return False
    if own.type.size and not isinstance(wanted.default, tuple) and wanted.default is not None:
        return bool(own.default == (wanted.default,) * own.type.size)
    return bool(own.default == wanted.default) and isinstance(own.default, bool) == isinstance(
        wanted.default, bool
    )


def lines() -> list[str]:
    """Return the lines of the table: `name: overload=operator ...`, where the operator is left out if it is `name`."""
    definitions: dict[str, list[OpDefinition]] = {}
    for name in REGISTRY.names():
        definition = REGISTRY.definition(name)
        if definition.signature.namespace == "tt":
            definitions.setdefault(definition.signature.name, []).append(definition)
    rows: dict[str, list[str]] = {}
    for signature in schemas():
        form = form_of(signature)
        functional = signature.name.removesuffix("_") if form == "inplace" else signature.name
        names = [functional, REGISTRY.definition_table.original(functional), signature.name]
        for definition in [d for name in dict.fromkeys(names) for d in definitions.get(name, ())]:
            if serves(definition, signature, form):
                overload = signature.overload or "default"
                plain = definition.name == functional
                rows.setdefault(signature.name, []).append(
                    overload if plain else f"{overload}={definition.name}"
                )
                break
    return [f"{name}: {' '.join(overloads)}" for name, overloads in sorted(rows.items())]


if __name__ == "__main__":
    text = "\n".join(lines()) + "\n"
    if "--write" in sys.argv:
        TABLE.write_text(text)
    print(len(parse_table(text)), "names", sum(len(row) for row in parse_table(text).values()), "overloads")
