"""Errors for calls that no kernel serves: four cases, each with a suggestion."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tt.core import plugins
from tt.core.errors import DtypeNotServedError, MissingFakeError, NoKernelError, TTError
from tt.core.schema.classes import dtype_names
from tt.core.tensor.base import TensorBase

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.resolve.resolution import Resolution
    from tt.core.tensor.backend import Backend

__all__ = ["NOT_ALL_ARGUMENTS", "lacks_fake", "missing_fake", "no_kernel"]

NOT_ALL_ARGUMENTS = "takes not all of the arguments of this call"
"""The reason if kernels exist, but do not take an argument of the call."""


def no_kernel(
    operator: Operator,
    resolution: Resolution,
    args: tuple[Any, ...],
    backend: Backend,
    layouts: tuple[str, ...],
) -> NoKernelError:
    """Return the error for an operator that has no kernel for a backend, or none for the dtype."""
    name = operator.name
    refused = _is_refused_by_schema(operator, resolution)
    if backend.device_type == "meta" and lacks_fake(operator) and not refused:
        return missing_fake(operator, args)
    where = f"{'+'.join(layouts)}/{backend.device_type}" if layouts != ("strided",) else backend.device_type
    dtype = f"/{resolution.compute.name}" if resolution.compute is not None else ""
    signature = operator.definition.signature
    here = operator.registry.kernels_of(name, backend.device_type, layouts)
    exist = _places(operator)
    spec = f"{backend.device_type}{'' if layouts == ('strided',) else '/' + _special(layouts)}"
    see = f"tt ops explain {name} {spec}{':' + resolution.compute.name if resolution.compute else ''}"
    tried = [f"{c.kind} {c.source if c.source == '(none)' else ''}({c.reason})".replace("(none)(", "(") for c in
             resolution.candidates]  # fmt: skip
    tensors = _named_tensors(operator, args)
    arguments = [(argument, _describe(tensor)) for argument, tensor in tensors]
    hint = backend.hints.get(name) or backend.hints.get("*", "")
    # Only the arguments of an unusual layout lack a kernel.
    named = [argument for argument, tensor in tensors if tensor.layout.name == backend.layout]
    first = next((a.name for a in operator.arguments if a.type.is_tensor), "x")
    hint = hint.replace("{self}", (named or [argument for argument, _ in tensors] or [first])[0])
    if any(c.reason == NOT_ALL_ARGUMENTS for c in resolution.candidates):
        head = f"{name}({_short(operator)}) has no kernel for {where}{dtype} that takes all arguments of this call"
        return NoKernelError(str(signature), head, arguments=arguments, tried=tried, exist=exist, see=see)
    if here or refused:
        served = sorted({d for r in here for d in r.dtypes} or dtype_names(operator.definition.dtypes))
        computed = resolution.compute.name if resolution.compute else "this dtype"
        stored = resolution.compute is not None and resolution.compute.kind == "quantized"
        if (
            name not in backend.hints and not stored
        ):  # leaving the layout helps if strided tensors of the dtype are served
            strided = operator.registry.kernels_of(name, backend.device_type, ("strided",))
            hint = hint if any(computed in r.dtypes for r in strided) else ""
        if layouts == ("strided",) and stored:
            hint = "tt.quantize_per_tensor(x, scale, zero_point, dtype)"
        return DtypeNotServedError(
            str(signature),
            f'"{name}" not implemented for {computed} on {where}',
            arguments=arguments,
            tried=tried,
            exist=exist,
            hint=hint or f"convert the arguments to one of {{{', '.join(served)}}}",
            see=see,
        )
    head = f"{name}({_short(operator)}) has no kernel for {where}{dtype}"
    return NoKernelError(
        str(signature), head, arguments=arguments, tried=tried, exist=exist, hint=hint, see=see
    )


def _is_refused_by_schema(operator: Operator, resolution: Resolution) -> bool:
    """Return whether an operator has a composite that was passed over because the schema does not list the dtype."""
    return (
        operator.registry.composite(operator.name) is not None
        and resolution.compute is not None
        and resolution.compute.name not in dtype_names(operator.definition.dtypes)
    )


def lacks_fake(operator: Operator) -> bool:
    """Return whether an operator with kernels has neither a shape rule nor a fake implementation."""
    registrations = operator.registry.kernels.get(operator.name, ())
    return (
        bool(registrations)
        and not operator.definition.meta
        and not any(r.device == "meta" for r in registrations)
    )


def missing_fake(operator: Operator, args: tuple[Any, ...]) -> MissingFakeError:
    """Return the error for an operator with only kernels that was called with tensors without data."""
    name = operator.name
    arguments = [(a.name, _describe(v)) for a, v in zip(operator.arguments, args, strict=False)
                 if isinstance(v, TensorBase)]  # fmt: skip
    return MissingFakeError(
        str(operator.definition.signature),
        f"{name}({_short(operator)}) has kernels, but no fake implementation: nothing says what its result looks like "
        "for tensors without data",
        arguments=arguments,
        exist=_places(operator),
        hint="@op.fake (in YAML: meta:), a function that returns tt.empty_like(x) or the like",
        see=f"tt ops show {name}",
    )


def _named_tensors(operator: Operator, args: tuple[Any, ...]) -> list[tuple[str, TensorBase]]:
    """Return the tensors of a call with the names of their arguments: "self", "tensors[1]"."""
    tensors: list[tuple[str, TensorBase]] = []
    for argument, value in zip(operator.arguments, args, strict=False):
        if isinstance(value, TensorBase):
            tensors.append((argument.name, value))
        elif isinstance(value, list | tuple):
            tensors += [
                (f"{argument.name}[{i}]", v) for i, v in enumerate(value) if isinstance(v, TensorBase)
            ]
    return tensors


def _special(layouts: tuple[str, ...]) -> str:
    return next((layout for layout in layouts if layout != "strided"), "strided")


def _short(operator: Operator) -> str:
    return ", ".join(f"{a.type} {a.name}" for a in operator.arguments if a.type.is_tensor)


def _describe(value: TensorBase) -> str:
    return f"device={value.device} layout={value.layout.name} dtype={value.dtype.name}"


def _places(operator: Operator) -> str:
    """Return where kernels exist: "cpu, cpu/sparse_csr {float32, float64}; cuda {float32}"."""
    # The plugins of all devices, so that the message names kernels of those that nothing has used yet.
    for device in plugins().names("device"):
        with contextlib.suppress(TTError):  # a failed plugin has no kernels
            plugins().activate("device", device)
    served: dict[str, set[str]] = {}
    for registration in operator.registry.kernels.get(operator.name, ()):
        if not registration.eligibility().refusal and registration.device != "meta":
            served.setdefault(registration.where, set()).update(registration.dtypes)
    # Layouts of a device that serve the same dtypes are grouped.
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for where, dtypes in served.items():
        groups.setdefault((where.partition("/")[0], tuple(sorted(dtypes))), []).append(where)
    return "; ".join(
        f"{', '.join(locations)} {{{', '.join(dtypes)}}}" for (_, dtypes), locations in groups.items()
    )
