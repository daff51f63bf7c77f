"""Kernels of a cached call: which registrations serve a call, in which form, with which casts, and their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.cached_call import BoundKernel, CachedCall
from tt.core.dispatch.call.codes import KERNEL, LIST, MIXED, MUTATE, ONE, OUT, RAW, REROUTE, SEVERAL
from tt.core.dispatch.call.kernel_errors import check_limits
from tt.core.dispatch.call.quiet import quiet
from tt.core.dispatch.registry.sources import CodeLocation
from tt.core.dispatch.registry.tables import taken_names
from tt.core.dispatch.resolve.candidates import (
    EligibleKernel,
    changes_metadata,
    choose_form,
    eligible_kernels,
    refuse_ties,
)
from tt.core.dispatch.resolve.composite import composite_call, make_cached_call
from tt.core.dispatch.resolve.dtypes import CallDtypes, refuses_stored, upcast_of
from tt.core.dispatch.resolve.resolution import ResolveContext
from tt.core.dispatch.resolve.shape_rules import run_rule
from tt.core.errors import KernelContractError
from tt.core.schema.model import MISSING
from tt.core.types.dtype import complex64

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.registry.sources import Registration
    from tt.core.dispatch.registry.tables import Kernel
    from tt.core.tensor.backend import Backend

__all__ = ["kernel_call", "out_call", "taken_positions", "wrong_parameters"]


def kernel_call(
    context: ResolveContext, backend: Backend, layouts: tuple[str, ...], dtypes: CallDtypes
) -> CachedCall | None:
    """Return the cached call of the kernels that serve a call on one device, or None if none does."""
    operator, resolution = context.operator, context.resolution
    served = eligible_kernels(operator, resolution, backend.device_type, layouts, dtypes)
    if not served:
        generic = backend.generic_kernel(operator)
        if generic is None or refuses_stored(operator, dtypes.compute):
            return None
        resolution.note(
            "generic kernel", CodeLocation(generic), True, f"the {backend.device_type} backend serves it"
        )
        return _generic_call(context, backend, dtypes, generic)
    return _build(context, backend, dtypes, served)


def out_call(
    context: ResolveContext, backend: Backend, layouts: tuple[str, ...], dtypes: CallDtypes
) -> CachedCall | None:
    """Return the cached call of the kernels that write into the tensor of `out=` themselves, or None if none does."""
    operator, resolution = context.operator, context.resolution
    # Kernels that write into `out=` serve where nothing has to be cast, resized or copied back; else `run_out` does.
    ready = operator.out_count == 1 and backend.mutable and backend.has_views and dtypes.homogeneous
    if operator.definition.kind != "pointwise" or not ready or dtypes.results[0] is not dtypes.target:
        return None
    served = eligible_kernels(operator, resolution, backend.device_type, layouts, dtypes)
    if not served:
        return None
    how, chosen = choose_form(operator, "out", backend, dtypes, served)
    if how != codes.WRITES_OUTPUT or any(s.upcast or s.registration.kernel.tensors for s in chosen):
        return None
    cached = _build(context, backend, dtypes, served)
    cached.kind = OUT
    cached.operands = tuple(i for i, a in enumerate(operator.arguments) if a.type.is_tensor)
    return cached


def _build(
    context: ResolveContext, backend: Backend, dtypes: CallDtypes, served: list[EligibleKernel]
) -> CachedCall:
    operator, form, resolution = context.operator, context.form, context.resolution
    how, chosen = choose_form(operator, form, backend, dtypes, served)
    # A cached call casts for all of its kernels or for none.
    upcast = chosen[0].upcast
    chosen = [s for s in chosen if s.upcast == upcast]
    ranked = [(_choice(operator, s.registration, backend, how), s) for s in chosen]
    if len(ranked) > 1:
        ranked = _ranked(operator, ranked)
    choices = [choice for choice, _ in ranked]
    form_note = (
        ", its new values are written back"
        if operator.mutates and how == codes.RETURNS
        else _FORM_NOTES.get(how, "")
    )
    note = (
        "serves the dtype"
        if len(ranked) == 1
        else "the narrowest kernel that takes the call's arguments serves"
    )
    for choice, s in ranked:
        by = choice.registration.kernel.by
        computed = f", by {by}" if by else ""
        resolution.note(
            "kernel", choice.registration, choice is choices[0], f"{note}{form_note}{computed}{s.preferred}"
        )
        note = "serves calls whose arguments those above do not take"
    if choices[0].registration.kernel.tensors:
        return _over_tensors(context, backend, choices[0])
    cached = make_cached_call(
        context,
        MUTATE if operator.mutates else KERNEL,
        choices=tuple(choices),
        # Functional kernels, however made, change no target.
        writes_target=how if how <= codes.CHANGES_METADATA else codes.RETURNS,
        backend=backend,
    )
    layout = chosen[0].registration.result
    made_by = backend if layout is None else operator.registry.backend(backend.device_type, layout)
    _set_results(cached, operator, made_by, dtypes)
    compute = upcast_of(dtypes.compute) if upcast else dtypes.compute
    if operator.group and compute is not None and (upcast or not dtypes.homogeneous):
        cached.group = operator.group
        cached.compute_code = compute.code
        cached.compute_native = backend.native_dtype(compute)
        resolution.casts = f"computes in {compute.name}"
    if upcast:
        cached.downcast = True
        if compute is complex64:  # which a kernel that takes the dtype makes, too
            cached.native = cached.compute_native = backend.native_dtype(compute)
    _allow_direct(cached, operator, dtypes)
    return cached


_FORM_NOTES: Final = {
    codes.CHANGES_FIRST: " in place",
    codes.WRITES_OUTPUT: " with its output given",
    codes.CHANGES_METADATA: " changing metadata",
    codes.FROM_INPLACE: " on a clone",
}


def _ranked(
    operator: Operator, chosen: list[tuple[BoundKernel, EligibleKernel]]
) -> list[tuple[BoundKernel, EligibleKernel]]:
    """Return kernels in the order in which a call tries them.

    Preferred ones first; then by priority; then those that override, the latest first; then compiled ones; then the
    narrowest.
    """

    def place(age: int) -> tuple[Any, ...]:
        choice, served = chosen[age]
        kernel = choice.registration.kernel
        overrides = age if kernel.override else len(chosen)
        return served.rank, -kernel.priority, overrides, not kernel.native, len(choice.takes)

    ranked = [chosen[age] for age in sorted(range(len(chosen)), key=place)]
    refuse_ties(operator, [(choice.takes, served) for choice, served in ranked])
    return ranked


def _choice(operator: Operator, registration: Registration, backend: Backend, how: int) -> BoundKernel:
    kernel = registration.kernel
    takes = taken_positions(operator, registration)
    function = kernel.function
    # A kernel over tensors is neither cast for nor checked: the operators that it calls do both.
    if kernel.tensors:
        pass  # its inner calls do the rest
    elif how == codes.FROM_INPLACE:
        function = _functional_of_inplace(function, backend)
    elif how == codes.FROM_OUT:
        function = _functional_of_out(function, operator, takes, backend)
    if kernel.check and not kernel.tensors:
        function = _checked(function, operator, takes, backend)
    # Compiled kernels raise none of NumPy's warnings, and a wrapper would cost them a call.
    compiled = kernel.native and function is kernel.function
    if backend.silence_numpy and not (compiled or kernel.tensors):
        function = quiet(function)
    return BoundKernel(function, takes, _omitted(operator, takes), registration)


def _omitted(operator: Operator, takes: tuple[int, ...]) -> tuple[tuple[int, Any], ...]:
    """Return the arguments that a kernel serves only where they have their defaults."""
    if len(takes) == len(operator.defaults):
        return ()
    # The dispatcher deals with these: it chooses the backend and the dtype of the result.
    consumed = {operator.device_at, operator.layout_at, operator.dtype_at}
    # These are the two options that say how to copy, and not what.
    consumed |= {i for i, a in enumerate(operator.arguments) if a.name in ("non_blocking", "pin_memory")}
    return tuple(
        (position, default)
        for position, default in enumerate(operator.defaults)
        if position not in takes and position not in consumed
    )


def _over_tensors(context: ResolveContext, backend: Backend, choice: BoundKernel) -> CachedCall:
    """Return the cached call of a kernel that gets tensors; it serves as a composite of its device and layout does."""
    operator, form = context.operator, context.form
    function, takes = choice.function, choice.takes
    takes_all = choice.leading == len(operator.arguments)
    changes_first = choice.registration.kernel.form == "inplace"

    def chosen(*args: Any) -> Any:
        # Kernels over tensors are wrapped, so `CachedCall.run` does not choose for them.
        if not choice.accepts(args):
            return operator.resolve_rest(cached).run(args)
        if changes_first and form == "functional":
            args = (operator.registry.overload("clone").execute((args[0], None)), *args[1:])
        try:
            result = function(*args) if takes_all else function(*[args[position] for position in takes])
        except ValueError as error:
            check_limits(cached, args, error)
            raise
        return args[0] if changes_first else result

    def in_place(cached: CachedCall, args: tuple[Any, ...]) -> Any:
        target = args[0]
        # The version shows whether the inner calls have counted the change already.
        before = target._version
        chosen(*args)
        if target._version == before:  # its inner calls wrote into memory that the target has alone
            target._bump_version()
        return target

    if changes_first and form == "inplace":
        cached = make_cached_call(context, REROUTE, function=in_place)
    else:
        cached = composite_call(context, chosen)
    cached.backend = backend
    return cached


def taken_positions(operator: Operator, registration: Registration) -> tuple[int, ...]:
    """Return the schema positions of the arguments that a kernel takes.

    Raises
    ------
    KernelContractError
        When the kernel has parameters that the schema does not know, or lacks one without a default.
    """
    names = taken_names(registration.kernel, operator.definition.signature)
    problem = _wrong_names(operator, names)
    if problem:
        raise KernelContractError(
            f"the kernel of {operator.name} by {registration} {problem}\n  schema: {operator.definition.signature}"
        )
    return tuple([operator.positions[name] for name in names])


def wrong_parameters(operator: Operator, kernel: Kernel) -> str:
    """Return why a kernel cannot get the arguments of an operator, or an empty text."""
    return _wrong_names(operator, taken_names(kernel, operator.definition.signature))


def _wrong_names(operator: Operator, names: tuple[str, ...]) -> str:
    if operator.positions.keys() == set(names) and len(names) == len(operator.arguments):
        return ""
    unknown = [name for name in names if name not in operator.positions]
    if unknown:
        return f"has parameters that the schema lacks: {', '.join(unknown)}"
    # The dispatcher deals with dtype, device and layout, whether a kernel takes them or not.
    missing = [
        a.name for i, a in enumerate(operator.arguments) if a.default is MISSING and a.name not in names
        and i not in (operator.dtype_at, operator.device_at, operator.layout_at)
    ]  # fmt: skip
    has = "has" if len(missing) == 1 else "have"
    return f"does not take {', '.join(missing)}, which {has} no default" if missing else ""


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
        # The targets have to exist before the call: the shape rule says which.
        results = run_rule(operator.definition, _full(operator, takes, prepared), backend)
        results = results if isinstance(results, tuple | list) else (results,)
        targets = [backend.empty(r.shape, backend.native_dtype(r.dtype)) for r in results]
        function(*prepared, *targets)
        return targets[0] if len(targets) == 1 else tuple(targets)

    return functional


def _checked(
    function: Callable[..., Any], operator: Operator, takes: tuple[int, ...], backend: Backend
) -> Callable[..., Any]:
    def checked(*prepared: Any) -> Any:
        run_rule(operator.definition, _full(operator, takes, prepared), backend)
        return function(*prepared)

    return checked


def _full(operator: Operator, takes: tuple[int, ...], prepared: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the full argument tuple of a kernel call, with defaults for arguments that the kernel does not take."""
    full = list(operator.defaults)
    for position, value in zip(takes, prepared, strict=False):
        full[position] = value
    return tuple(full)


# --- results ---------------------------------------------------------------------------------------------------


def _set_results(cached: CachedCall, operator: Operator, backend: Backend, dtypes: CallDtypes) -> None:
    returns = operator.definition.signature.returns
    tensors = [r.type.is_tensor for r in returns]
    cached.specs = tuple([backend.spec(d) if d is not None and t else None
                        for d, t in zip(dtypes.results, tensors, strict=True)])  # fmt: skip
    if cached.specs and cached.specs[0] is not None:
        cached.spec = cached.specs[0]
    cached.handle_type = backend.handle_type
    if len(returns) > 1:
        lists = any(r.type.list and r.type.is_tensor for r in returns)
        cached.result = MIXED if lists else SEVERAL
    elif not returns or not tensors[0]:
        cached.result = RAW
    else:
        cached.result = LIST if returns[0].type.list else ONE
    if operator.definition.format_of and cached.form == "functional" and backend.has_views:
        cached.format_of = operator.format_of
    if operator.definition.kind == "view" and cached.form == "functional" and backend.has_views:
        cached.shares = (
            codes.FIRST_MEMORY if operator.name == "detach" else 0
        )  # detached tensors have no part in the history


def _allow_direct(cached: CachedCall, operator: Operator, dtypes: CallDtypes) -> None:
    """Set the kernel that an overload may call with bare handles; `verify` switches it on after the first run."""
    leading = operator.overload(cached.form).leading
    choice = cached.choices[0]
    # A direct call passes the handles of the first arguments and nothing else, and wraps one result.
    if (
        leading
        and not operator.mutates
        and choice.leading == leading
        and cached.result == ONE
        and cached.compute_code < 0
        and cached.downcast is None
        and cached.shares == codes.UNSHARED
        and cached.specs[0] is not None
        and not operator.indexed
        and cached.format_of is None
    ):
        cached.plain = choice.function
        # Where all operands promote, the bits show whether one has dimensions, and so whether the result has.
        if operator.definition.kind == "pointwise" and operator.group == tuple(range(leading)):
            # Zero-dimensional results stay unknown (0): NumPy returns them as scalars, which have to be looked at.
            cached.result_bits = 0 if dtypes.zero_dim else cached.spec.dim_bit


def _generic_call(
    context: ResolveContext, backend: Backend, dtypes: CallDtypes, generic: Callable[..., Any]
) -> CachedCall:
    operator, form, resolution = context.operator, context.form, context.resolution
    results = dtypes.results

    def function(*prepared: Any) -> Any:
        return generic(prepared, results)

    choice = BoundKernel(
        function, tuple(range(len(operator.arguments))), (), resolution.taken and resolution.taken.source
    )
    how = codes.CHANGES_FIRST if operator.mutates else codes.RETURNS
    if changes_metadata(operator) and form == "inplace":
        how = codes.CHANGES_METADATA
    kind = MUTATE if operator.mutates else KERNEL
    cached = make_cached_call(context, kind, choices=(choice,), writes_target=how, backend=backend)
    _set_results(cached, operator, backend, dtypes)
    cached.verified = True
    return cached
