"""Resolving: the slow path that turns a new combination of keys and dtypes into a cached call.

Order: layers, from the outermost in; then mixed devices; then, for one device, direct kernel, composite, fallback.
Everything that is looked at is noted in a `Resolution`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.cached_call import CachedCall, PassThrough
from tt.core.dispatch.call.codes import ABSENT, COMPOSITE, KERNEL, LAYER, MUTATE, PYTHON, REROUTE
from tt.core.dispatch.intercept.ambient import ambient_rule, without_ambient
from tt.core.dispatch.mutate.out import run_out
from tt.core.dispatch.registry.sources import CodeLocation
from tt.core.dispatch.resolve.composite import composite_call, make_cached_call
from tt.core.dispatch.resolve.dtypes import CallDtypes, describe_level_2, dtypes_on, resolve_dtypes
from tt.core.dispatch.resolve.fallback import policy_of, run_fallback, run_strided
from tt.core.dispatch.resolve.kernels import kernel_call, out_call
from tt.core.dispatch.resolve.mixed_devices import run_mixed
from tt.core.dispatch.resolve.resolution import CallKey, Resolution, ResolveContext
from tt.core.errors import CastError, NoKernelError, TargetDtypeError
from tt.core.schema.classes import dtype_names
from tt.core.types.keys import KEYS
from tt.core.types.keys import PYTHON as PYTHON_BIT
from tt.core.types.promotion import can_cast
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.intercept.layers import Layer
    from tt.core.tensor.backend import Backend

__all__ = ["resolve"]


def resolve(
    operator: Operator,
    form: str,
    keys: int,
    bits: int,
    args: tuple[Any, ...],
    *,
    without_kernels: bool = False,
) -> CachedCall:
    """Return the cached call for a combination.

    Parameters
    ----------
    operator, form : Operator, str
        The called form.
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
    resolution = Resolution(operator.name, form, partial(_described, operator, form, keys, bits))
    context = ResolveContext(CallKey(operator, form, keys, bits), args, resolution)
    # PyTorch returns the argument itself here, so that it keeps its identity and its history.
    if form == "functional" and "real_is_self" in operator.definition.tags:
        compute = resolve_dtypes(operator, form, bits).compute
        if compute is not None and not compute.is_complex:
            resolution.note("composite", "(itself)", True, "of real numbers, the result is the argument")
            return make_cached_call(context, COMPOSITE, function=_itself)
    # Ambient layers (autocast) have no bit in the keys of tensors; they are asked before the layers that have.
    if STATE.ambient != 0:
        cached = _resolve_ambient(context)
        if cached is not None:
            return cached
    if keys & KEYS.mask("layer"):
        return _resolve_layer(context)
    devices = KEYS.names("device", keys)
    if form == "out":
        return _resolve_out(context, devices)
    if len(devices) > 1:
        resolution.note(
            "reroute", "tt.core.dispatch.resolve.mixed_devices", True, "tensors of several device types"
        )
        return make_cached_call(context, REROUTE, function=_run_mixed)
    return _resolve_device(context, devices[0], without_kernels)


def _resolve_ambient(context: ResolveContext) -> CachedCall | None:
    """Return the cached call of an ambient layer that has a rule for a call, or None if none has.

    An operator that is no composite is a unit: what its composite calls, on a backend without a kernel, meets no
    ambient layer, so that results do not depend on which kernels a backend has.  Nor do in-place forms and `out=`.
    """
    (operator, form, keys, bits), resolution = context.key, context.resolution
    if not STATE.ambient_settings():
        return None
    rule = ambient_rule(operator, keys) if form == "functional" else None
    if rule is not None:
        resolution.note("ambient layer", CodeLocation(rule), True, str(rule))
        return make_cached_call(context, LAYER, rule=rule)
    kind = operator.definition.kind
    if form == "functional" and kind in ("composite", "view", "factory"):
        return None
    # Resolved as if no ambient layer were there, to see what would run below.
    with without_ambient():
        below = operator.overload(form).cached_call_of(keys, bits, context.args)
    bottom = below
    while bottom.kind == LAYER and bottom.below is not ABSENT:
        bottom = bottom.below
    # A kernel calls no operators that a setting could reach, so nothing has to be suspended for it.
    if bottom.kind not in (COMPOSITE, REROUTE):
        return None
    resolution.note("ambient layers", "(none)", False, "what the operator consists of does not meet them")
    resolution.below = below.resolution
    resolution.device, resolution.layout = below.resolution.device, below.resolution.layout
    resolution.compute, resolution.results = below.resolution.compute, below.resolution.results
    return make_cached_call(context, LAYER, below=below, rule=_run_suspended)


def _run_suspended(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    suspended = STATE.suspend()
    try:
        return cached.below.run(args)
    finally:
        STATE.resume(suspended)


def _itself(self: Any) -> Any:
    return self


def _described(operator: Operator, form: str, keys: int, bits: int) -> str:
    """Return a combination in words, which only explanations and messages need."""
    return f"{KEYS.describe(keys)}: {describe_level_2(operator, form, bits)}"


def _resolve_out(context: ResolveContext, devices: Sequence[str]) -> CachedCall:
    """Return the cached call of a call with `out=`: kernels that write there, or a copy of their result."""
    (operator, _, keys, bits), resolution = context.key, context.resolution
    if len(devices) == 1 and operator.definition.kind == "pointwise":
        layouts = tuple(sorted(KEYS.names("layout", keys)))
        backend = operator.registry.backend(devices[0], _main_layout(layouts))
        dtypes = dtypes_on(backend, operator, "out", bits)
        cached = out_call(context, backend, layouts, dtypes)
        if cached is not None:
            resolution.device, resolution.layout = devices[0], "+".join(layouts)
            resolution.compute, resolution.results = dtypes.compute, dtypes.results
            cached.function = _run_out
            return cached
    resolution.note(
        "reroute", "tt.core.dispatch.mutate.out", True, "runs the functional form and writes its result"
    )
    return make_cached_call(context, REROUTE, function=_run_out)


def _run_out(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    return run_out(cached, args)


def _run_mixed(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    return run_mixed(cached, args)


# --- layers ----------------------------------------------------------------------------------------------------


def _resolve_layer(context: ResolveContext) -> CachedCall:
    (operator, form, keys, bits), args, resolution = context.key, context.args, context.resolution
    registry = operator.registry
    layers = sorted((registry.layer(name) for name in KEYS.names("layer", keys)), key=lambda x: -x.order)
    top = layers[0]
    composite = registry.composite(operator.name)
    layouts = KEYS.names("layout", keys)
    rule = top.rule(operator, form) if layouts == ["strided"] else top.rule_for(operator, form, layouts)
    who = f"layer {top.name}"
    if rule is not None:
        resolution.note(who, CodeLocation(rule), True, "the layer has a rule for the operator")
        if top.bit == PYTHON_BIT:
            return make_cached_call(context, PYTHON, function=rule)
        if top.terminal:
            dtypes = resolve_dtypes(operator, form, bits)
            resolution.compute, resolution.results = dtypes.compute, dtypes.results
            return make_cached_call(context, LAYER, rule=rule, clear=top.bit)
    elif form == "out":
        resolution.note(who, "(none)", False, "no rule for out=")
        resolution.note(
            "reroute", "tt.core.dispatch.mutate.out", True, "runs the functional form and writes its result"
        )
        return make_cached_call(context, REROUTE, function=_run_out)
    elif operator.is_factory and top.passes_through(operator, form):
        # Before its composite, whose inner factories would see none of the tensors that the call is like.
        resolution.note(who, "(none)", True, "the layer lets the operator pass")
        rule = PassThrough()
    elif composite is not None and form != "out" and _takes_composite(operator, keys, layouts):
        resolution.note(
            who, "(none)", False, "no rule for the operator; its composite meets the layer in its parts"
        )
        if "same_dtype" in operator.definition.tags:
            resolve_dtypes(operator, form, bits)  # refuses others, which the composite's parts would promote
        resolution.note("composite", composite, True, "runs on the original tensors")
        function = registry.composite_on(operator.name, keys)
        assert function is not None, "the operator has a composite"
        cached = composite_call(context, function, top)
        return _unless_idle(cached, top, context) if top.idles and form == "functional" else cached
    elif top.passes_through(operator, form):
        resolution.note(who, "(none)", True, "the layer lets the operator pass")
        rule = PassThrough()
    else:
        resolution.note(who, "(none)", True, "no rule and no composite: the result's use in the layer raises")
        rule = _unsupported(top)
    below = operator.overload(form).cached_call_of(keys & ~top.bit, bits, args)
    resolution.below = below.resolution
    resolution.device, resolution.layout = below.resolution.device, below.resolution.layout
    resolution.compute, resolution.results = below.resolution.compute, below.resolution.results
    return make_cached_call(context, LAYER, below=below, rule=rule, clear=top.bit)


def _takes_composite(operator: Operator, keys: int, layouts: Sequence[str]) -> bool:
    """Return whether the backends of a call's tensors let the operator's composite serve."""
    if layouts == ["strided"]:
        return True
    layout, devices = _main_layout(tuple(layouts)), KEYS.names("device", keys)
    return all(operator.registry.backend(device, layout).takes_composite(operator.name) for device in devices)


def _unless_idle(cached: CachedCall, layer: Layer, context: ResolveContext) -> CachedCall:
    """Return a cached call that runs the kernel below, if there is one, in threads where the layer has nothing to do.

    Formulas call operators with tensors that require gradients, mostly where nothing is recorded: the kernel then takes
    one step, and the composite ten.  Views always meet the layer, which may have to know of them.
    """
    operator, composite = cached.operator, cached.function
    kind, devices = operator.definition.kind, KEYS.names("device", cached.keys)
    if kind == "view" or (
        kind == "composite"
        and not any(operator.registry.kernels_of(operator.name, device, ("strided",)) for device in devices)
    ):
        return cached
    try:
        below = operator.overload(cached.form).cached_call_of(
            cached.keys & ~layer.bit, cached.bits, context.args
        )
    except NoKernelError:
        return cached  # the composite may still serve calls that the operator as such does not
    # Of an operator without kernels of its own, one over tensors: it gets them as they are, like the composite.
    over_tensors = kind == "composite" and below.kind == COMPOSITE and below.backend is not ABSENT
    if below.kind not in (KERNEL, LAYER, MUTATE, PYTHON) and not over_tensors:
        return cached
    context.resolution.when_idle = layer.idle, below.resolution
    context.resolution.candidates[-1].reason += "; in threads where the layer is idle, the kernel below runs"

    def unless_idle(cached: CachedCall, args: tuple[Any, ...]) -> Any:
        if not layer.idle():
            return composite(*args)
        return below.run(args) if over_tensors else cached.call_below(args)

    return make_cached_call(context, LAYER, below=below, rule=unless_idle, clear=layer.bit)


def _unsupported(layer: Any) -> Callable[[CachedCall, tuple[Any, ...]], Any]:
    def unsupported(cached: CachedCall, args: tuple[Any, ...]) -> Any:
        return layer.unsupported(cached, args)

    return unsupported


# --- one device ------------------------------------------------------------------------------------------------


def _resolve_device(context: ResolveContext, device: str, without_kernels: bool) -> CachedCall:
    (operator, form, keys, bits), args, resolution = context.key, context.args, context.resolution
    registry = operator.registry
    layouts = tuple(sorted(KEYS.names("layout", keys)))
    backend = registry.backend(device, _main_layout(layouts))
    if args and operator.is_factory:  # explain, which has no arguments, works without the device
        backend.require_available()
    dtypes = dtypes_on(backend, operator, form, bits)
    resolution.device, resolution.layout = device, "+".join(layouts)
    resolution.compute, resolution.results = dtypes.compute, dtypes.results
    _check_target(operator, dtypes)
    if not without_kernels:
        cached = kernel_call(context, backend, layouts, dtypes)
        if cached is not None:
            return cached
    else:
        from tt.core.dispatch.resolve.no_kernel_errors import NOT_ALL_ARGUMENTS  # which few programs meet

        resolution.note("kernel", f"of {device}", False, NOT_ALL_ARGUMENTS)
    composite = registry.composite(operator.name)
    if backend.prefer_fallback:
        cached = _fallback_call(context, backend)
        if cached is not None:
            return cached
    if composite is None:
        resolution.note("composite", "(none)", False, "the operator has none")
    elif not backend.takes_composite(operator.name):
        resolution.note("composite", composite, False, f"not for the layout {backend.layout}")
    elif (
        (operator.group or "inplace_only" in operator.definition.tags)
        and dtypes.compute is not None
        and dtypes.compute.name not in _declared(operator)
    ):
        # A composite would compute whatever its parts can; the operator refuses the dtype.
        resolution.note(
            "composite", composite, False, f"the operator is not defined for {dtypes.compute.name}"
        )
    else:
        resolution.note("composite", composite, True, "no kernel serves; the composite calls other operators")
        return composite_call(context, composite.function)
    if not backend.prefer_fallback:
        cached = _fallback_call(context, backend)
        if cached is not None:
            return cached
    from tt.core.dispatch.resolve.no_kernel_errors import no_kernel

    raise no_kernel(operator, resolution, args, backend, layouts)


def _declared(operator: Operator) -> tuple[str, ...]:
    """Return the dtypes that the schema declares for an operator; complex64 stands for complex32, too."""
    names = dtype_names(operator.definition.dtypes)
    return (*names, "complex32") if "complex64" in names else names


def _main_layout(layouts: tuple[str, ...]) -> str:
    """Return the layout whose backend makes the results: the one that is not strided, in a mixed call."""
    special = [layout for layout in layouts if layout != "strided"]
    return special[0] if special else "strided"


def _check_target(operator: Operator, dtypes: CallDtypes) -> None:
    result = dtypes.results[0] if dtypes.results else None
    # Checked here and not in each run, since the key decides both dtypes.
    if dtypes.target is None or result is None or result is dtypes.target:
        return
    if "exact_target" in operator.definition.tags:
        raise TargetDtypeError(operator.definition.inplace_name, result.name, dtypes.target.name)
    if not can_cast(result, dtypes.target):
        raise CastError(operator.definition.inplace_name, result.name, dtypes.target.name)


def _fallback_call(context: ResolveContext, backend: Backend) -> CachedCall | None:
    resolution = context.resolution
    run = run_strided if backend.strided_fallback else run_fallback
    there = "strided tensors" if backend.strided_fallback else backend.fallback
    if there is None:
        resolution.note("fallback", "(none)", False, "the backend declares no fallback")
        return None
    policy = policy_of(backend.layout if backend.strided_fallback else backend.device_type)
    if policy == "error":
        resolution.note("fallback", f"to {there}", False, "policy: error")
        return None
    resolution.note("fallback", f"to {there}", True, f"policy: {policy}")
    return make_cached_call(context, REROUTE, function=run, backend=backend)
