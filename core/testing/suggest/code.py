"""Code: the Python function that rules make, and running it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt.core.schema.model import MISSING
from tt.core.testing.opcheck.call import Call, map_tensors
from tt.core.testing.suggest.observe import Looks
from tt.core.testing.suggest.rules import Rule

__all__ = ["ResultRules", "environment", "imports", "run", "write"]


@dataclass(frozen=True)
class ResultRules:
    """The rules of one result.

    Attributes
    ----------
    kind : str
        "tensor", "list" or "value".
    shape, dtype, count, value : Rule or None
        Those that the kind has.
    order : tuple of int
        The dims from the slowest to the fastest in memory; empty for row-major.
    """

    kind: str
    shape: Rule | None = None
    dtype: Rule | None = None
    count: Rule | None = None
    value: Rule | None = None
    order: tuple[int, ...] = ()


def environment(call: Call) -> dict[str, Any]:
    """Return the arguments of a call by name, with meta tensors in the place of tensors."""
    from tt.core.dispatch.registry import REGISTRY
    from tt.core.meta import describe
    from tt.core.tensor import wrap

    spec = REGISTRY.backend("meta").spec

    def meta(tensor: Any) -> Any:
        return wrap(describe(tensor), spec(tensor.dtype))

    return {argument.name: map_tensors(value, meta) for argument, value in call.named()}


# --- writing ---------------------------------------------------------------------------------------------------


def write(call: Call, results: Sequence[ResultRules]) -> str:
    """Return the Python code of a fake implementation."""
    name = call.definition.signature.name
    source = _source(call)
    body: list[str] = []
    values: list[str] = []
    known: dict[str, str] = {}
    for number, rules in enumerate(results):
        suffix = str(number) if len(results) > 1 else ""
        values.append(_value(rules, source, suffix, body, known))
    if not values:
        body.append("return None")
    else:
        body.append(f"return {', '.join(values)}")
    lines = [f"def {name}_without_data({_parameters(call)}):", *(f"    {line}" for line in body)]
    return "\n".join(lines)


def imports(code: str) -> list[str]:
    """Return the imports that the code needs."""
    return [f"import {module}" for module in ("functools", "tt") if f"{module}." in code]


def _source(call: Call) -> str:
    """Return the code of a tensor that is always there, or ""."""
    for argument, _ in call.named():
        type_ = argument.type
        if type_.is_tensor and not type_.optional and not type_.or_scalar:
            return f"{argument.name}[0]" if type_.list else argument.name
    return next((f"{a.name}" for a, v in call.named() if a.type.is_tensor and hasattr(v, "shape")), "")


def _parameters(call: Call) -> str:
    parts, star = [], False
    for argument in call.signature.arguments:
        if argument.keyword_only and not star:
            parts.append("*")
            star = True
        default = "" if argument.default is MISSING else f"={_default(argument.default)}"
        parts.append(f"{argument.name}{default}")
    return ", ".join(parts)


def _default(value: Any) -> str:
    return repr(value) if not hasattr(value, "itemsize") else str(value)


def _value(rules: ResultRules, source: str, suffix: str, body: list[str], known: dict[str, str]) -> str:
    """Return the code of one result; shapes with conditions get lines in the body, and are `known` by their names."""
    if rules.kind == "value":
        return _required(rules.value).inline
    shape, dtype = _required(rules.shape), _required(rules.dtype)
    if rules.kind == "list":
        made = _tensor(shape.inline, dtype.inline, source, rules.order)
        return f"[{made} for i in range({_required(rules.count).inline})]"
    if shape.then is not None:
        code = known.get(shape.inline, f"shape{suffix}")
        if shape.inline not in known:
            known[shape.inline] = code
            body += shape.statements(code)
    else:
        code = shape.code
    return _tensor(code, dtype.inline, source, rules.order)


def _required(rule: Rule | None) -> Rule:
    if rule is None:
        raise ValueError("a result without a rule")
    return rule


def _tensor(shape: str, dtype: str, source: str, order: tuple[int, ...]) -> str:
    if order and order != tuple(range(len(order))):
        back = tuple(order.index(i) for i in range(len(order)))
        inner = _tensor(f"tuple(({shape})[i] for i in {order})", dtype, source, ())
        return f"{inner}.permute{back}"
    if not source:
        return f"tt.empty({shape}, dtype={dtype}, device='meta')"
    base = shape.removesuffix(".shape")
    if shape.endswith(".shape") and base.replace("[0]", "").isidentifier():
        return (
            f"tt.empty_like({base})" if dtype == f"{base}.dtype" else f"tt.empty_like({base}, dtype={dtype})"
        )
    more = "" if dtype == f"{source}.dtype" else f", dtype={dtype}"
    return f"{source}.new_empty({shape}{more})"


# --- running ---------------------------------------------------------------------------------------------------


def run(code: str, arguments: Mapping[str, Any]) -> Any:
    """Return what the results of the code look like for some arguments."""
    import tt

    scope: dict[str, Any] = {"tt": tt, "functools": functools}
    exec(code, scope)
    name = code.partition("(")[0].removeprefix("def ")
    return Looks.of(scope[name](**arguments))
