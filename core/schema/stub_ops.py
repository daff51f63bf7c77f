"""Type stubs, the namespace of operators: `ops.add(a, b)` is a tensor, `ops.max.dim(a, 0)` a pair of them.

An operator is an object with attributes (its overloads, its schema), so each gets a class whose call has the signature.
Operators take any tensor, also one of the bare `TensorBase`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Final

from tt.core.schema.model import OpDefinition
from tt.core.schema.stub_render import ALIASES, HEADER_TYPES, parameter_lists, result_class, return_text

__all__ = ["ops_stub"]

_IMPORTS: Final = """\
from tt.core.dispatch.call.op_overload import OpOverload
from tt.core.dispatch.call.packet import PacketOp
from tt.core.dispatch.registry.namespace import Operators
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor as _Tensor
"""
# In a class, what has `__get__` is a method of its instances; the namespace holds operators as they are.
_BASES: Final = """\
class _Overload(OpOverload):
    def __get__(self, instance: Any, owner: Any = None) -> Self: ...
class _Packet(PacketOp):
    def __get__(self, instance: Any, owner: Any = None) -> Self: ...
"""
_TENSOR: Final = re.compile(r"\bTensor\b")


def ops_stub(notice: str, namespaces: Mapping[str, Iterable[OpDefinition]]) -> str:
    """Return the stub of `tt.core.dispatch.registry.typed_ops`, which exists for type checkers only.

    Parameters
    ----------
    notice : str
        The first lines.
    namespaces : mapping
        The operators by their namespaces; those of tt are attributes of `ops` itself.
    """
    lines = [notice, HEADER_TYPES, _IMPORTS, ALIASES, _BASES]
    roots: list[str] = []
    for namespace, members in namespaces.items():
        results = dict(filter(None, map(result_class, members)))
        if namespace == "tt":
            lines.append(f"from tt.core.tensor.tensor_methods import {', '.join(sorted(results))}")
        else:
            for name, fields in results.items():
                lines += [f"class {name}(NamedTuple):", *(f"    {field}: _Tensor" for field in fields)]
        attributes: list[str] = []
        for name, overloads in _groups(members).items():
            for form, ending in (("function", ""), ("inplace", "_")):
                chosen = [d for d in overloads if form == "function" or d.has_inplace]
                if chosen:
                    written = f"_{namespace}_{name}{ending}"
                    lines += _operator(written, chosen, form)
                    aliases = (a for d in chosen for a in d.aliases if "." not in a and namespace == "tt")
                    names = dict.fromkeys(f"{n}{ending}" for n in (name, *aliases))
                    attributes += [f"    {n}: {written}" for n in names]
        if namespace == "tt":
            roots = attributes
        else:
            lines += [f"class _{namespace}(Operators):", *attributes]
            roots.append(f"    {namespace}: _{namespace}")
    return "\n".join([*lines, "class _ops(Operators):", *roots, "ops: _ops"]) + "\n"


def _groups(found: Iterable[OpDefinition]) -> dict[str, list[OpDefinition]]:
    groups: dict[str, list[OpDefinition]] = {}
    for definition in found:
        groups.setdefault(definition.signature.name, []).append(definition)
    return groups


def _operator(name: str, overloads: list[OpDefinition], form: str) -> list[str]:
    """Return the class of an operator, and of each of its overloads if there are several."""
    if len(overloads) == 1:
        return [f"class {name}(_Overload):", *_calls(overloads, form)]
    lines, members = [], []
    for definition in overloads:
        overload = definition.signature.overload or "default"
        lines += [f"class {name}__{overload}(_Overload):", *_calls([definition], form)]
        if not keyword.iskeyword(overload):  # `random.from` is read by getattr alone
            members.append(f"    {overload}: {name}__{overload}")
    return [*lines, f"class {name}(_Packet):", *members, *_calls(overloads, form)]


def _calls(overloads: list[OpDefinition], form: str) -> list[str]:
    """Return the declarations of `__call__`."""
    variants = [(d, parameters) for d in overloads for parameters in parameter_lists(d, form)]
    lines = []
    for definition, parameters in variants:
        signature = definition.signature
        returns = signature.inplace().returns if form == "inplace" else signature.returns
        if form == "inplace":
            parameters = ["input: Tensor", *parameters[1:]]
        text = _TENSOR.sub("TensorBase", ", ".join(["_op", *parameters]))
        result = _TENSOR.sub(
            "_Tensor", return_text(definition, returns)
        )  # some overloads have the name Tensor
        if len(variants) > 1:
            lines.append("    @overload")
        lines.append(f"    def __call__({text}) -> {result}: ...")
    return lines
