"""Snippets: Python code that repeats a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import ops
from tt.core.schema.model import MISSING
from tt.core.tensor.base import TensorBase
from tt.core.types.device import Device
from tt.testing.checks.call import CheckedCall, tensors_in
from tt.testing.references import as_array

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition

__all__ = ["ABSENT", "code_of", "repeat", "snippet"]

ABSENT: Final = "cuda:127"
"""A device that no machine has."""

MOVED: Final = {"meta": "meta", "absent": ABSENT}
"""A way to repeat a call -> the device of its tensors, which have no data."""


def code_of(value: Any) -> str:
    """Return an expression that makes an equal argument, for tensors in the same memory layout.

    Examples
    --------
    >>> import tt
    >>> from tt.testing.snippets import code_of
    >>> code_of(tt.tensor([1, 2]))
    'tt.tensor([1, 2], dtype=tt.int64)'
    """
    if isinstance(value, TensorBase):
        return _tensor(value)
    if isinstance(value, list | tuple):
        items = [code_of(item) for item in value]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, float):
        # `inf` and `nan` are no names in Python; only finite numbers give 0.
        return repr(value) if value - value == 0 else f"float({str(value)!r})"
    if isinstance(value, Device):
        return repr(str(value))
    return repr(value)


def _tensor(value: Any) -> str:
    device = "" if value.device.type == "cpu" else f", device={str(value.device)!r}"
    if value.is_contiguous() or not value.numel():
        text = f"tt.tensor({_numbers(value.tolist())}, dtype={value.dtype}{device})"
        # A list without numbers does not tell the sizes of the other dimensions.
        return (
            text
            if value.numel() or value.ndim < 2
            else f"tt.empty({tuple(value.shape)}, dtype={value.dtype}{device})"
        )
    memory = _numbers(_memory(value).tolist())
    how = f"{tuple(value.shape)}, {tuple(value.stride())}, {value.storage_offset()}"
    return f"tt.tensor({memory}, dtype={value.dtype}{device}).as_strided({how})"


def _memory(value: Any) -> np.ndarray[Any, Any]:
    """Return the memory behind a tensor as far as the tensor reads it, with zeros between its elements.

    It is put together from the values, so that a snippet needs no operator that may be faulty itself.
    """
    values = as_array(value)
    positions = np.full(values.shape, value.storage_offset())
    for dim, (size, stride) in enumerate(zip(value.shape, value.stride(), strict=True)):
        positions += (np.arange(size) * stride).reshape((-1,) + (1,) * (values.ndim - dim - 1))
    memory = np.zeros(int(positions.max()) + 1, values.dtype)
    memory[positions] = values
    return memory


def _numbers(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_numbers, values))}]"
    return code_of(values)


def snippet(definition: OpDefinition, form: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return code that repeats a call of an operator.

    Parameters
    ----------
    definition : OpDefinition
        The operator.
    form : str
        "functional" or "inplace".
    args, kwargs : sequence, mapping
        Of the call.
    """
    written = [code_of(value) for value in args]
    named = [f"{name}={code_of(value)}" for name, value in kwargs.items()]
    if form == "inplace":
        return f"import tt\n{written[0]}.{definition.signature.name}_({', '.join([*written[1:], *named])})"
    return f"import tt\ntt.ops.{_path(definition)}({', '.join([*written, *named])})"


def repeat(call: CheckedCall, how: str) -> str:
    """Return code that repeats a call, with its tensors in variables.

    Parameters
    ----------
    call : CheckedCall
        What to repeat.
    how : str
        "call"; "show", which also prints the arguments afterwards; "fake"; "meta"; "absent", with fake tensors of a
        device that does not exist; "twice"; "seed"; "composite"; "method"; "out"; "vmap"; "backward"; "gradient",
        which goes back from all results; "gradcheck" or "gradgradcheck".
    """
    names: list[str] = []
    lines: list[str] = []
    written: list[str] = []
    for position, (argument, value) in enumerate(call.named()):
        default = argument.default
        same = type(value) is type(default) and not isinstance(value, TensorBase) and value == default
        if default is not MISSING and same:
            continue
        # Behind an argument that is left out, the others have to be named.
        keyword = f"{argument.name}=" if argument.keyword_only or len(written) < position else ""
        if any(True for _ in tensors_in(value)):
            lines.append(f"{argument.name} = {_made(value, how)}")
            names += [argument.name] if isinstance(value, TensorBase) else []
            written.append(keyword + argument.name if argument.type.base != "any" else f"*{argument.name}")
        elif argument.type.base == "any" and "variadic" in call.tags:
            written += map(code_of, value)
        else:
            written.append(
                keyword + (repr(MOVED[how]) if how in MOVED and isinstance(value, Device) else code_of(value))
            )
    definition, variables = call.definition, ", ".join(names)
    line = f"tt.ops.{_path(definition, call.caller.form)}({', '.join(written)})"
    function = f"lambda {variables}: {line}" if names else f"lambda: {line}"
    method = definition.signature.name + ("" if definition.has_property else f"({', '.join(written[1:])})")
    several = len(definition.signature.returns) > 1
    outs = "tuple(t.clone().fill_(0) for t in result)" if several else "result.clone().fill_(0)"
    recipes = {
        "show": [line, f"print({variables})"],
        "fake": ["with tt.fake_mode():", f"    {line}"],
        "twice": [line, line],
        "seed": [text for seed in (7, 7, 8) for text in (f"tt.manual_seed({seed})", f"print({line})")],
        "composite": [f"print({line})", 'with tt.mask_kernels("@non-core"):', f"    print({line})"],
        "method": [f"print({(written or [''])[0]}.{method})", f"print({line})"],
        "out": [
            f"result = {line}", f"out = {outs}", f"{line[:-1]}{', ' if written else ''}out=out)", "print(result, out)"
        ],
        "backward": [f"y = {line}", "y.sum().backward()"],
        "gradient": [
            f"result = {line}", "for t in result if isinstance(result, (list, tuple)) else [result]:",
            "    if t.requires_grad:", "        t.backward(tt.ones_like(t), retain_graph=True)",
            f"print([t.grad for t in ({''.join(f'{n}, ' for n in names)})])",
        ],
        "vmap": [f"tt.func.vmap({function})({', '.join(f'tt.stack([{n}, {n}])' for n in names)})"],
        "gradcheck": [f"tt.autograd.gradcheck({function}, ({variables},))"],
        "gradgradcheck": [f"tt.autograd.gradgradcheck({function}, ({variables},))"],
    }  # fmt: skip
    body = [*lines, *recipes.get(how, [line])]
    if how == "absent":
        body = ["with tt.fake_mode():", *(f"    {text}" for text in body)]
    return "\n".join(["import tt", *body])


def _made(value: Any, how: str) -> str:
    """Return the code of an argument with tensors; they have no data, or require gradients, where that is repeated."""
    if not isinstance(value, TensorBase):
        code = code_of(value)
        return (
            f"[t.to('{MOVED[how]}') if isinstance(t, tt.Tensor) else t for t in {code}]"
            if how in MOVED
            else code
        )
    floating = value.dtype.is_floating_point or value.dtype.is_complex
    with_gradient = how in ("backward", "gradcheck", "gradgradcheck") and getattr(
        value, "requires_grad", False
    )
    grad = ".requires_grad_()" if with_gradient or (how == "gradient" and floating) else ""
    moved = f".to('{MOVED[how]}')" if how in MOVED else ""
    return f"{code_of(value)}{moved}{grad}"


def _path(definition: OpDefinition, form: str = "functional") -> str:
    """Return where an operator is below `tt.ops`; of one with a single overload, the overload has no name there."""
    name = definition.signature
    path = name.name if name.namespace == "tt" else f"{name.namespace}.{name.name}"
    path += "_" if form == "inplace" else ""
    member = reduce(getattr, path.split("."), ops)
    return f"{path}.{name.overload}" if name.overload and hasattr(member, name.overload) else path
