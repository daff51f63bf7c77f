"""Code that repeats a failed check in as few lines as it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tt.core.tensor.base import TensorBase
from tt.core.testing.conformance.report import Failure
from tt.core.testing.snippets import code_of, snippet

if TYPE_CHECKING:
    from tt.core.testing.checks.case import Case

__all__ = ["failure", "reproduce"]


def failure(case: Case, check: str, message: str, note: str = "", place: object = None) -> Failure:
    """Return a failed check, with a note before the code that repeats it."""
    try:
        code = note + reproduce(case, check)
    except Exception as error:  # what reads the arguments may be just what is wrong
        code = f"# the arguments cannot be read: {type(error).__name__}: {error}".replace("\n", "\n# ")
    return Failure(
        case.operator.name, str(place or case.device), case.dtype.name, case.sample.name, check, message, code
    )


def reproduce(case: Case, check: str) -> str:
    """Return a program that shows what a check found wrong.

    Parameters
    ----------
    case : Case
        The call.
    check : str
        The name of the check.
    """
    if case.sample.error is not None or case.inplace_only:
        return _plain(case)
    return RECIPES.get(check, _plain)(case)


def _plain(case: Case) -> str:
    form = "inplace" if case.inplace_only else "functional"
    return snippet(case.definition, form, case.sample.args, case.sample.kwargs)


def _call(case: Case) -> str:
    return _plain(case).removeprefix("import tt\n")


def _inplace(case: Case) -> str:
    return snippet(case.definition, "inplace", case.sample.args, case.sample.kwargs)


def _out(case: Case) -> str:
    call = _call(case)
    several = len(case.definition.signature.returns) > 1
    outs = "tuple(t.clone().fill_(0) for t in result)" if several else "result.clone().fill_(0)"
    closed = call[:-1] + ("" if call.endswith("(") else ", ")
    return f"import tt\nresult = {call}\nout = {outs}\n{closed}out=out)\nprint(result, out)"


def _method(case: Case) -> str:
    args = [code_of(value) for value in case.sample.args]
    named = [f"{name}={code_of(value)}" for name, value in case.sample.kwargs.items()]
    name = case.definition.signature.name
    call = name if case.definition.has_property else f"{name}({', '.join([*args[1:], *named])})"
    return f"import tt\nx = {args[0]}\nprint(x.{call})\nprint({_call(case)})"


def _inputs(case: Case) -> str:
    return _with_arguments(case, "result = ", "print(args)")


def _seed(case: Case) -> str:
    call = _call(case)
    return "\n".join(["import tt", *(f"tt.manual_seed({seed})\nprint({call})" for seed in ("7", "7", "8"))])


def _composite(case: Case) -> str:
    call = _call(case)
    return f'import tt\nprint({call})\nwith tt.mask_kernels("@non-core"):\n    print({call})'


def _meta(case: Case) -> str:
    args = ", ".join(f"{_to_meta(value)}" for value in case.sample.args)
    kwargs = [
        f"{name}={_to_meta(value)}" if name != "device" else 'device="meta"'
        for name, value in case.sample.kwargs.items()
    ]
    call = f"tt.ops.{_path(case)}({', '.join([args, *kwargs] if args else kwargs)})"
    return f"{_plain(case)}\n{call}"


def _to_meta(value: Any) -> str:
    code = code_of(value)
    if isinstance(value, TensorBase):
        return f'{code}.to("meta")'
    if isinstance(value, list | tuple) and any(isinstance(item, TensorBase) for item in value):
        return f'[x.to("meta") for x in {code}]'
    return code


def _gradient(case: Case) -> str:
    lines = _with_arguments(
        case,
        "result = ",
        "for t in result if isinstance(result, (list, tuple)) else [result]:\n"
        "    if t.requires_grad:\n        t.backward(tt.ones_like(t), retain_graph=True)",
        "print([t.grad for t in args if isinstance(t, tt.Tensor)])",
    )
    return lines.replace(
        "\nresult = ",
        "\nfor t in args:\n    if isinstance(t, tt.Tensor) and (t.is_floating_point() or t.is_complex()):\n"
        "        t.requires_grad_()\nresult = ",
    )


def _with_arguments(case: Case, call: str, *after: str) -> str:
    args = ", ".join(code_of(value) for value in case.sample.args)
    named = "".join(f", {name}={code_of(value)}" for name, value in case.sample.kwargs.items())
    made = f"args = [{args}]"
    return "\n".join(["import tt", made, f"{call}tt.ops.{_path(case)}(*args{named})", *after])


def _path(case: Case) -> str:
    path: str = case.definition.name.replace("::", ".")
    return path


RECIPES: Final[dict[str, Callable[[Case], str]]] = {
    "inplace": _inplace,
    "out": _out,
    "method": _method,
    "inputs": _inputs,
    "seed": _seed,
    "composite": _composite,
    "meta": _meta,
    "gradient": _gradient,
}
