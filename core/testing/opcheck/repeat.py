"""Code that repeats a call in which something was found, and the smallest call in which it still is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tt.core.schema.model import MISSING
from tt.core.tensor_base import TensorBase
from tt.core.testing.opcheck.call import Call, tensors_in
from tt.core.testing.opcheck.report import Finding
from tt.core.testing.opcheck.variants import resized
from tt.core.testing.snippets import code_of

__all__ = ["repeat", "smallest"]

# --- code ------------------------------------------------------------------------------------------------------


def repeat(call: Call, how: str) -> str:
    """Return code that repeats a call.

    Parameters
    ----------
    call : Call
        What to repeat.
    how : str
        "call"; "show", which also prints the arguments afterwards; "fake"; "meta"; "twice"; "vmap"; "backward";
        "gradcheck" or "gradgradcheck".
    """
    gradients = how in ("backward", "gradcheck", "gradgradcheck")
    names: list[str] = []
    lines: list[str] = []
    written: list[str] = []
    for argument, value in _given(call):
        keyword = (
            f"{argument.name}=" if argument.keyword_only or len(written) < _place(call, argument) else ""
        )
        if isinstance(value, TensorBase):
            grad = ".requires_grad_()" if gradients and getattr(value, "requires_grad", False) else ""
            place = ".to('meta')" if how == "meta" else ""
            lines.append(f"{argument.name} = {code_of(value)}{place}{grad}")
            names.append(argument.name)
            written.append(keyword + argument.name)
        elif isinstance(value, list | tuple) and any(True for _ in tensors_in(value)):
            lines.append(f"{argument.name} = {code_of(value)}")
            written.append(keyword + argument.name)
        else:
            written.append(keyword + code_of(value))
    line = f"tt.ops.{_path(call)}({', '.join(written)})"
    function = f"lambda {', '.join(names)}: {line}" if names else f"lambda: {line}"
    more = {
        "show": [line, f"print({', '.join(names)})"],
        "fake": ["with tt.fake_mode():", f"    {line}"],
        "twice": [line, line],
        "backward": [f"y = {line}", "y.sum().backward()"],
        "vmap": [f"tt.func.vmap({function})({', '.join(f'tt.stack([{n}, {n}])' for n in names)})"],
        "gradcheck": [f"tt.autograd.gradcheck({function}, ({', '.join(names)},))"],
        "gradgradcheck": [f"tt.autograd.gradgradcheck({function}, ({', '.join(names)},))"],
    }
    return "\n".join(["import tt", *lines, *more.get(how, [line])])


def _path(call: Call) -> str:
    name = call.definition.signature
    path = name.name if name.namespace == "tt" else f"{name.namespace}.{name.name}"
    if call.caller.form == "inplace":
        path += "_"
    return f"{path}.{name.overload}" if name.overload else path


def _given(call: Call) -> Iterator[tuple[Any, Any]]:
    """Yield the arguments that are not at their defaults."""
    for argument, value in call.named():
        default = argument.default
        if (
            default is MISSING
            or isinstance(value, TensorBase)
            or type(value) is not type(default)
            or value != default
        ):
            yield argument, value


def _place(call: Call, argument: Any) -> int:
    return next(i for i, a in enumerate(call.signature.arguments) if a.name == argument.name)


# --- small calls -----------------------------------------------------------------------------------------------

TRIES = 12
"""How many smaller calls are tried for a finding."""


def smallest(finding: Finding, probe: Callable[[Call], Iterator[Finding]]) -> Finding:
    """Return the same finding on a call with smaller tensors, as far as it is found there, too.

    Parameters
    ----------
    finding : Finding
        What was found.
    probe : callable
        Looks for findings in a call.
    """
    tries = TRIES
    progress = True
    while progress and tries > 0:
        progress = False
        sizes = sorted({n for t in tensors_in(finding.call.args) for n in t.shape if n > 1}, reverse=True)
        for size in sizes:
            for small in (1, 2):
                if small >= size or tries <= 0:
                    continue
                tries -= 1
                found = _find(finding, probe, size, small)
                if found is not None:
                    finding, progress = found, True
                    break
            if progress:
                break
    return finding


def _find(
    finding: Finding, probe: Callable[[Call], Iterator[Finding]], size: int, small: int
) -> Finding | None:
    smaller = resized(finding.call, size, small)
    if smaller is None:
        return None
    try:
        found = list(probe(smaller))
    except Exception:  # the operator need not take the smaller arguments
        return None
    return next((f for f in found if f.fault == finding.fault and f.argument == finding.argument), None)
