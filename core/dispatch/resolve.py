"""Resolving: the slow path that turns a new combination of keys and dtypes into an entry.

Order: layers, from the outermost in; then mixed devices; then, for one device, direct kernel, composite, fallback.
Everything that is looked at is noted in a `Resolution`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.dispatch.dtypes import HALF, CallDtypes, describe_level_2, resolve_dtypes, upcast_of
from tt.core.dispatch.entry import COMPOSITE, KERNEL, LAYER, LIST, ONE, RAW, REROUTE, SEVERAL, Choice, Entry
from tt.core.dispatch.quiet import quiet
from tt.core.dispatch.resolution import Resolution
from tt.core.dispatch.state import STATE
from tt.core.errors import CastError, KernelContractError
from tt.core.keys import KEYS
from tt.core.promotion import can_cast
from tt.core.schema.model import MISSING

if TYPE_CHECKING:
    from tt.core.backend import Backend
    from tt.core.dispatch.operator import Operator
    from tt.core.dispatch.registry import KernelRegistration

__all__ = ["resolve"]


def resolve(
    operator: Operator,
    form: str,
    keys: int,
    bits: int,
    args: tuple[Any, ...],
    *,
    without_kernels: bool = False,
) -> Entry:
    """Return the entry for a combination.

    Parameters
    ----------
    operator, form : Operator, str
        What is called.
    keys, bits : int
        Level 1 and level 2 of the call.
    args : tuple
        The arguments of the first such call, for messages.
    without_kernels : bool
        Leave kernels out: the call has arguments that none of them takes.

    Raises
    ------
    NoKernelError
        When nothing serves the combination.
    """
    call = f"{KEYS.describe(keys)}: {describe_level_2(operator, form, bits)}"
    resolution = Resolution(operator.name, form, call)
    if keys & KEYS.mask("layer"):
        return _resolve_layer(operator, form, keys, bits, args, resolution)
    if form == "out":
        resolution.note(
            "reroute", "tt.core.dispatch.out", True, "runs the functional form and writes its result"
        )
        return _entry(operator, form, keys, bits, REROUTE, resolution, function=_run_out)
    devices = KEYS.names("device", keys)
    if len(devices) > 1:
        resolution.note("reroute", "tt.core.dispatch.mixed", True, "tensors of several device types")
        return _entry(operator, form, keys, bits, REROUTE, resolution, function=_run_mixed)
    return _resolve_device(operator, form, keys, bits, args, resolution, devices[0], without_kernels)


def _entry(
    operator: Operator, form: str, keys: int, bits: int, kind: int, resolution: Resolution, **fields: Any
) -> Entry:
    entry = Entry(operator, form, keys, bits, STATE.epoch, kind)
    entry.resolution = resolution
    for name, value in fields.items():
        setattr(entry, name, value)
    return entry


def _run_out(entry: Entry, args: tuple[Any, ...]) -> Any:
    from tt.core.dispatch.out import run_out

    return run_out(entry, args)


def _run_mixed(entry: Entry, args: tuple[Any, ...]) -> Any:
    from tt.core.dispatch.mixed import run_mixed

    return run_mixed(entry, args)


# --- layers ----------------------------------------------------------------------------------------------------


def _resolve_layer(
    operator: Operator, form: str, keys: int, bits: int, args: tuple[Any, ...], resolution: Resolution
) -> Entry:
    registry = operator.registry
    layers = sorted((registry.layer(name) for name in KEYS.names("layer", keys)), key=lambda x: -x.order)
    top = layers[0]
    composite = registry.composite(operator.name)
    rule = top.rule(operator, form)
    who = f"layer {top.name}"
    if rule is not None:
        resolution.note(who, _location(rule), True, "the layer has a rule for the operator")
        if top.terminal:
            dtypes = resolve_dtypes(operator, form, bits)
            resolution.compute, resolution.results = dtypes.compute, dtypes.results
            return _entry(operator, form, keys, bits, LAYER, resolution, rule=rule, clear=top.bit)
    elif composite is not None and form != "out":
        resolution.note(
            who, "(none)", False, "no rule for the operator; its composite meets the layer in its parts"
        )
        resolution.note("composite", composite, True, "runs on the original tensors")
        return _composite_entry(operator, form, keys, bits, resolution, composite.function)
    elif form == "out":
        resolution.note(who, "(none)", False, "no rule for out=")
        resolution.note(
            "reroute", "tt.core.dispatch.out", True, "runs the functional form and writes its result"
        )
        return _entry(operator, form, keys, bits, REROUTE, resolution, function=_run_out)
    elif top.passes_through(operator, form):
        resolution.note(who, "(none)", True, "the layer lets the operator pass")
        rule = _pass_through
    else:
        resolution.note(who, "(none)", True, "no rule and no composite: the result's use in the layer raises")
        rule = _unsupported(top)
    below = operator.caller(form).entry(keys & ~top.bit, bits, args)
    resolution.below = below.resolution
    resolution.device, resolution.layout = below.resolution.device, below.resolution.layout
    resolution.compute, resolution.results = below.resolution.compute, below.resolution.results
    return _entry(operator, form, keys, bits, LAYER, resolution, below=below, rule=rule, clear=top.bit)


def _pass_through(entry: Entry, args: tuple[Any, ...]) -> Any:
    return entry.call_below(args)


def _unsupported(layer: Any) -> Callable[[Entry, tuple[Any, ...]], Any]:
    def unsupported(entry: Entry, args: tuple[Any, ...]) -> Any:
        return layer.unsupported(entry, args)

    return unsupported


def _location(function: Any) -> str:
    from tt.core.dispatch.registry import code_location

    return code_location(function) if callable(function) else str(function)


# --- one device ------------------------------------------------------------------------------------------------


def _resolve_device(
    operator: Operator,
    form: str,
    keys: int,
    bits: int,
    args: tuple[Any, ...],
    resolution: Resolution,
    device: str,
    without_kernels: bool,
) -> Entry:
    registry = operator.registry
    layouts = tuple(sorted(KEYS.names("layout", keys)))
    backend = registry.backend(device, _main_layout(layouts))
    if args and operator.is_factory:  # explain, which has no arguments, works without the device
        backend.require_available()
    dtypes = resolve_dtypes(operator, form, bits)
    resolution.device, resolution.layout = device, "+".join(layouts)
    resolution.compute, resolution.results = dtypes.compute, dtypes.results
    _check_target(operator, dtypes)
    if not without_kernels:
        entry = _kernel_entry(operator, form, keys, bits, resolution, backend, layouts, dtypes)
        if entry is not None:
            return entry
    else:
        resolution.note("kernel", f"of {device}", False, "takes not all of the arguments of this call")
    composite = registry.composite(operator.name)
    if backend.prefer_fallback:
        entry = _fallback_entry(operator, form, keys, bits, resolution, backend)
        if entry is not None:
            return entry
    if composite is None:
        resolution.note("composite", "(none)", False, "the operator has none")
    elif operator.group and dtypes.compute is not None and dtypes.compute.name not in _declared(operator):
        # A composite would compute whatever its parts can; the operator refuses the dtype.
        resolution.note("composite", composite, False, f"the operator is not defined for {dtypes.compute.name}")
    else:
        resolution.note("composite", composite, True, "no kernel serves; the composite calls other operators")
        return _composite_entry(operator, form, keys, bits, resolution, composite.function)
    if not backend.prefer_fallback:
        entry = _fallback_entry(operator, form, keys, bits, resolution, backend)
        if entry is not None:
            return entry
    from tt.core.dispatch.unserved import no_kernel

    raise no_kernel(operator, resolution, args, backend, layouts)


def _declared(operator: Operator) -> tuple[str, ...]:
    """Return the dtypes that the schema declares for an operator."""
    from tt.core.schema.classes import dtype_names

    return dtype_names(operator.definition.dtypes)


def _main_layout(layouts: tuple[str, ...]) -> str:
    """Return the layout whose backend makes the results: the one that is not strided, in a mixed call."""
    special = [layout for layout in layouts if layout != "strided"]
    return special[0] if special else "strided"


def _check_target(operator: Operator, dtypes: CallDtypes) -> None:
    result = dtypes.results[0] if dtypes.results else None
    if dtypes.target is not None and result is not None and not can_cast(result, dtypes.target):
        raise CastError(operator.definition.inplace_name, result.name, dtypes.target.name)


def _composite_entry(
    operator: Operator, form: str, keys: int, bits: int, resolution: Resolution, function: Callable[..., Any]
) -> Entry:
    if form == "functional":
        returns = operator.definition.signature.returns
        if len(returns) > 1 or (returns and returns[0].type.list):
            function = _named(operator, function)
        return _entry(operator, form, keys, bits, COMPOSITE, resolution, function=function)
    return _entry(operator, form, keys, bits, REROUTE, resolution, function=_inplace_of_composite(function))


def _named(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    def named(*args: Any) -> Any:
        return operator.return_type(function(*args))

    return named


def _inplace_of_composite(function: Callable[..., Any]) -> Callable[[Entry, tuple[Any, ...]], Any]:
    """Return the in-place form of a composite: run it and copy the result into the target."""

    def inplace(entry: Entry, args: tuple[Any, ...]) -> Any:
        from tt.core.dispatch.registry import ops
        from tt.core.errors import InplaceError

        target, result = args[0], function(*args)
        name = entry.operator.definition.inplace_name
        if not can_cast(result.dtype, target.dtype):
            raise CastError(name, result.dtype.name, target.dtype.name)
        if result.shape != target.shape:
            raise InplaceError(
                f"{name}(): output with shape {list(target.shape)} doesn't match the broadcast shape "
                f"{list(result.shape)}"
            )
        return ops.copy_(target, result)

    return inplace


def _fallback_entry(
    operator: Operator, form: str, keys: int, bits: int, resolution: Resolution, backend: Backend
) -> Entry | None:
    from tt.core.dispatch.fallback import policy_of, run_fallback

    policy = policy_of(backend.device_type)
    if backend.fallback is None:
        resolution.note("fallback", "(none)", False, "the backend declares no fallback")
        return None
    if policy == "error":
        resolution.note("fallback", f"to {backend.fallback}", False, "policy: error")
        return None
    resolution.note("fallback", f"to {backend.fallback}", True, f"policy: {policy}")
    return _entry(operator, form, keys, bits, REROUTE, resolution, function=run_fallback, backend=backend)


# --- kernels ---------------------------------------------------------------------------------------------------


def _kernel_entry(
    operator: Operator,
    form: str,
    keys: int,
    bits: int,
    resolution: Resolution,
    backend: Backend,
    layouts: tuple[str, ...],
    dtypes: CallDtypes,
) -> Entry | None:
    served = _serving(operator, resolution, backend.device_type, layouts, dtypes)
    if not served:
        generic = backend.generic_kernel(operator)
        if generic is None:
            return None
        resolution.note(
            "generic kernel", _location(generic), True, f"the {backend.device_type} backend serves it"
        )
        return _generic_entry(operator, form, keys, bits, resolution, backend, dtypes, generic)
    return _build(operator, form, keys, bits, resolution, backend, dtypes, served)


def _serving(
    operator: Operator, resolution: Resolution, device: str, layouts: tuple[str, ...], dtypes: CallDtypes
) -> list[tuple[KernelRegistration, bool]]:
    """Return the registrations that serve the dtype, each with whether it computes in float32 for a half dtype."""
    from tt.core.dispatch.masking import is_masked

    compute = dtypes.compute
    found = operator.registry.kernels_of(operator.name, device, layouts)
    if not found:
        resolution.note("kernel", "(none)", False, f"no kernel for {device}/{'+'.join(layouts)}")
    served: list[tuple[KernelRegistration, bool]] = []
    for registration in found:
        kernel = registration.kernel
        if is_masked(operator.definition, kernel, device):
            resolution.note("kernel", registration, False, "masked")
            continue
        native = kernel.half == "native" or operator.definition.kind == "view" or not operator.group
        upcast = compute is not None and compute.name in HALF and not native
        wanted = "float32" if upcast else (compute.name if compute is not None else None)
        if wanted is not None and wanted not in registration.dtypes:
            names = ", ".join(sorted(registration.dtypes))
            resolution.note("kernel", registration, False, f"serves {names}, not {wanted}")
            continue
        served.append((registration, upcast))
    return served


def _build(
    operator: Operator,
    form: str,
    keys: int,
    bits: int,
    resolution: Resolution,
    backend: Backend,
    dtypes: CallDtypes,
    served: list[tuple[KernelRegistration, bool]],
) -> Entry:
    how, chosen = _choose_form(operator, form, backend, dtypes, served)
    upcast = chosen[0][1]
    chosen = [(r, u) for r, u in chosen if u == upcast]
    choices = sorted(
        (_choice(operator, r, backend, how) for r, _ in chosen), key=lambda choice: len(choice.takes)
    )
    for index, registration in enumerate(choice.registration for choice in choices):
        form_note = {
            1: " in place",
            2: " with its output given",
            3: " changing metadata",
            4: " on a clone",
        }.get(how, "")
        note = (
            "the narrowest kernel that takes the call's arguments serves"
            if len(chosen) > 1
            else "serves the dtype"
        )
        resolution.note("kernel", registration, index == 0, note + form_note)
    entry = _entry(
        operator,
        form,
        keys,
        bits,
        KERNEL,
        resolution,
        choices=tuple(choices),
        writes_target=how % 4,
        backend=backend,
    )
    layout = chosen[0][0].result
    made_by = backend if layout is None else operator.registry.backend(backend.device_type, layout)
    _set_results(entry, operator, made_by, dtypes)
    compute = upcast_of(dtypes.compute) if upcast else dtypes.compute
    if operator.group and compute is not None and (upcast or not dtypes.homogeneous):
        entry.group = operator.group
        entry.compute_code = compute.code
        entry.compute_native = backend.native_dtype(compute)
        resolution.casts = f"computes in {compute.name}"
    if upcast:
        entry.downcast = True
    _allow_direct(entry, operator, dtypes)
    return entry


def _choose_form(
    operator: Operator,
    form: str,
    backend: Backend,
    dtypes: CallDtypes,
    served: list[tuple[KernelRegistration, bool]],
) -> tuple[int, list[tuple[KernelRegistration, bool]]]:
    """Return how the form is made (see `Entry.writes_target`; 4: functional from in-place) and from which kernels."""
    functional = [s for s in served if s[0].kernel.form == "functional"]
    inplace = [s for s in served if s[0].kernel.form == "inplace"]
    out = [s for s in served if s[0].kernel.form == "out"]
    if form == "functional":
        if functional:
            return 0, functional
        return (4, inplace) if inplace else (5, out)
    if _changes_metadata(operator):
        return 3, functional
    same = dtypes.target is not None and dtypes.results[0] is dtypes.target
    # A kernel that changes its argument must get the target itself, not a copy in another dtype.
    if inplace and same and not any(upcast for _, upcast in inplace):
        return 1, inplace
    if same and out:
        return 2, out
    ufuncs = [s for s in functional if isinstance(s[0].kernel.function, np.ufunc) and not s[1]]
    if same and ufuncs and len(ufuncs) == len(functional) and backend.mutable:
        return 2, ufuncs
    if functional:
        return 0, functional
    return (4, inplace) if inplace else (5, out)


def _choice(operator: Operator, registration: KernelRegistration, backend: Backend, how: int) -> Choice:
    kernel = registration.kernel
    takes = taken_positions(operator, registration)
    function = kernel.function
    if how == 4:
        function = _functional_of_inplace(function, backend)
    elif how == 5:
        function = _functional_of_out(function, operator, takes, backend)
    if kernel.check:
        function = _checked(function, operator, takes)
    if backend.silence_numpy:
        function = quiet(function)
    consumed = {operator.device_at, operator.layout_at, operator.dtype_at}
    consumed |= {i for i, a in enumerate(operator.arguments) if a.name in ("non_blocking", "pin_memory")}
    omitted = []
    for position, default in enumerate(operator.defaults):
        if position not in takes and position not in consumed:
            omitted.append((position, default))
    return Choice(function, takes, tuple(omitted), registration)


def taken_positions(operator: Operator, registration: KernelRegistration) -> tuple[int, ...]:
    """Return the schema positions of the arguments that a kernel takes.

    Raises
    ------
    KernelContractError
        When the kernel has parameters that the schema does not know, or lacks one without a default.
    """
    kernel = registration.kernel
    if kernel.takes is not None:
        names = kernel.takes
    elif isinstance(kernel.function, np.ufunc):
        names = tuple(a.name for a in operator.arguments[: kernel.function.nin])
    else:
        names = _parameter_names(kernel.function)
    if kernel.form == "out" and kernel.takes is None:
        names = names[: len(names) - operator.out_count]
    unknown = [name for name in names if name not in operator.positions]
    missing = [
        a.name for i, a in enumerate(operator.arguments) if a.default is MISSING and a.name not in names
        and i not in (operator.dtype_at, operator.device_at, operator.layout_at)
    ]  # fmt: skip
    if unknown or missing:
        problem = f"has parameters that the schema lacks: {', '.join(unknown)}" if unknown else (
            f"does not take {', '.join(missing)}, which have no default"
        )  # fmt: skip
        raise KernelContractError(
            f"the kernel of {operator.name} by {registration} {problem}\n  schema: {operator.definition.signature}"
        )
    return tuple(operator.positions[name] for name in names)


@cache
def _parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _functional_of_inplace(function: Callable[..., Any], backend: Backend) -> Callable[..., Any]:
    def functional(first: Any, *rest: Any) -> Any:
        copy = backend.clone(first)
        function(copy, *rest)
        return copy

    return functional


def _functional_of_out(
    function: Callable[..., Any], operator: Operator, takes: tuple[int, ...], backend: Backend
) -> Callable[..., Any]:
    def functional(*prepared: Any) -> Any:
        from tt.core.meta import run_rule

        results = run_rule(operator.definition, _full(operator, takes, prepared))
        results = results if isinstance(results, tuple | list) else (results,)
        targets = [backend.empty(r.shape, backend.native_dtype(r.dtype)) for r in results]
        function(*prepared, *targets)
        return targets[0] if len(targets) == 1 else tuple(targets)

    return functional


def _checked(function: Callable[..., Any], operator: Operator, takes: tuple[int, ...]) -> Callable[..., Any]:
    def checked(*prepared: Any) -> Any:
        from tt.core.meta import run_rule

        run_rule(operator.definition, _full(operator, takes, prepared))
        return function(*prepared)

    return checked


def _full(operator: Operator, takes: tuple[int, ...], prepared: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the full argument tuple of a kernel call, defaults in the place of what the kernel does not take."""
    full = list(operator.defaults)
    for position, value in zip(takes, prepared, strict=False):
        full[position] = value
    return tuple(full)


# --- results ---------------------------------------------------------------------------------------------------


def _set_results(entry: Entry, operator: Operator, backend: Backend, dtypes: CallDtypes) -> None:
    returns = operator.definition.signature.returns
    tensors = [r.type.is_tensor for r in returns]
    entry.specs = tuple(backend.spec(d) if d is not None and t else None
                        for d, t in zip(dtypes.results, tensors, strict=True))  # fmt: skip
    if entry.specs and entry.specs[0] is not None:
        entry.spec = entry.specs[0]
    entry.handle_type = backend.handle_type
    if len(returns) > 1:
        entry.result = SEVERAL
    elif not returns or not tensors[0]:
        entry.result = RAW
    else:
        entry.result = LIST if returns[0].type.list else ONE
    if operator.definition.kind == "view" and entry.form == "functional" and backend.has_views:
        entry.shares = 0


def _allow_direct(entry: Entry, operator: Operator, dtypes: CallDtypes) -> None:
    """Set the kernel that a caller may call with bare handles; `verify` switches it on after the first run."""
    from tt.core.dispatch.callers import BinaryCaller, UnaryCaller

    caller = operator.caller(entry.form)
    leading = 2 if isinstance(caller, BinaryCaller) else 1 if isinstance(caller, UnaryCaller) else 0
    choice = entry.choices[0]
    if (
        leading
        and choice.leading == leading
        and entry.result == ONE
        and entry.compute_code < 0
        and entry.downcast is None
        and entry.shares < 0
        and entry.specs[0] is not None
        and not operator.indexed
    ):
        entry.plain = choice.function
        if operator.definition.kind == "pointwise" and operator.group == tuple(range(leading)):
            # Zero-dimensional results stay unknown (0): NumPy returns them as scalars, which have to be looked at.
            entry.result_bits = 0 if dtypes.zero_dim else entry.spec.dim_bit


def _changes_metadata(operator: Operator) -> bool:
    """Tell whether the in-place form points the tensor to another handle instead of writing into it."""
    return operator.definition.kind == "view" or "metadata_inplace" in operator.definition.tags


def _generic_entry(
    operator: Operator,
    form: str,
    keys: int,
    bits: int,
    resolution: Resolution,
    backend: Backend,
    dtypes: CallDtypes,
    generic: Callable[..., Any],
) -> Entry:
    results = dtypes.results

    def function(*prepared: Any) -> Any:
        return generic(prepared, results)

    choice = Choice(
        function, tuple(range(len(operator.arguments))), (), resolution.taken and resolution.taken.source
    )
    how = 3 if _changes_metadata(operator) and form == "inplace" else 0
    entry = _entry(
        operator, form, keys, bits, KERNEL, resolution, choices=(choice,), writes_target=how, backend=backend
    )
    _set_results(entry, operator, backend, dtypes)
    entry.verified = True
    return entry
