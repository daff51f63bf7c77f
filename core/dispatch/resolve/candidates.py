"""The kernels that can run a call, in order, and in which form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tt.core.dispatch.call import codes
from tt.core.dispatch.registry.masking import is_masked
from tt.core.dispatch.registry.preference import Rank, eligibilities_of, ranks_of
from tt.core.dispatch.resolve.dtypes import CallDtypes, upcast_of
from tt.core.dispatch.resolve.resolution import Resolution
from tt.core.errors import KernelContractError, PluginConflictError
from tt.core.types.dtype import complex32

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.registry.sources import Registration
    from tt.core.tensor.backend import Backend

__all__ = ["EligibleKernel", "changes_metadata", "choose_form", "eligible_kernels", "refuse_ties"]


class EligibleKernel(NamedTuple):
    """A kernel that serves the dtype of a call."""

    registration: Registration
    upcast: bool  # it computes in float32 or complex64 for a half dtype
    rank: Rank
    preferred: str  # where a rule prefers it


def eligible_kernels(
    operator: Operator, resolution: Resolution, device: str, layouts: tuple[str, ...], dtypes: CallDtypes
) -> list[EligibleKernel]:
    """Return the kernels that serve the dtype, the most preferred first."""
    compute = dtypes.compute
    registrations = operator.registry.all_kernels_of(operator.name, device, layouts)
    if not registrations:
        resolution.note("kernel", "(none)", False, f"no kernel for {device}/{'+'.join(layouts)}")
    eligibilities = eligibilities_of(registrations)
    ranks = ranks_of(eligibilities, [registration.source for registration in registrations])
    served: list[EligibleKernel] = []
    masked = is_masked(operator.definition)
    for index, registration in enumerate(registrations):
        kernel = registration.kernel
        if eligibilities[index].refusal:
            resolution.note("kernel", registration, False, eligibilities[index].refusal)
            continue
        if masked:
            resolution.note("kernel", registration, False, "masked")
            continue
        lacking = kernel.available() if kernel.available is not None else None
        if lacking is not None:
            what = kernel.by or "it"
            resolution.note("kernel", registration, False, f"{what} is not available: {lacking}")
            continue
        if kernel.same_dtype and not dtypes.homogeneous:
            resolution.note("kernel", registration, False, "serves only tensors of one dtype")
            continue
        # A view computes nothing, and without a promotion group there is nothing to cast to float32.
        native = kernel.half == "native" or operator.definition.kind == "view" or not operator.group
        native = native or (kernel.half == "same" and dtypes.homogeneous)
        if compute is complex32:  # which kernels serve themselves only where they name it
            native = "complex32" in registration.dtypes or not operator.group
        wide = None if native else upcast_of(compute)
        upcast = wide is not None
        name = (wide or compute).name if compute is not None else None
        if name is not None and name not in registration.dtypes:
            names = ", ".join(sorted(registration.dtypes))
            resolution.note("kernel", registration, False, f"serves {names}, not {name}")
            continue
        rule = eligibilities[index].rule
        preferred = f"; preferred by {rule.origin}" if rule is not None else ""
        served.append(EligibleKernel(registration, upcast, ranks[index], preferred))
    # A kernel of complex32 itself wins over those that would compute in complex64, whatever their order.
    if compute is complex32 and not all(s.upcast for s in served):
        served = [s for s in served if not s.upcast]

    def order(eligible: EligibleKernel) -> tuple[Any, ...]:
        # The first kernel decides whether the call casts: one that takes a half dtype as it is goes before one that
        # needs float32, whichever was registered first, unless a plugin says that its kernel takes the place of others.
        kernel = eligible.registration.kernel
        return eligible.rank, -kernel.priority, not kernel.override, eligible.upcast

    return sorted(served, key=order)


def refuse_ties(operator: Operator, ranked: list[tuple[tuple[int, ...], EligibleKernel]]) -> None:
    """Raise if two plugins serve the same calls and neither takes precedence."""
    # Only kernels that take the same arguments compete: of others, the narrowest that accepts a call serves it.
    first: dict[tuple[int, ...], EligibleKernel] = {}
    for takes, served in ranked:
        before = first.setdefault(takes, served)
        one, two = before.registration, served.registration
        if (
            one.plugin_name != two.plugin_name
            and before.rank == served.rank
            and (one.kernel.priority, one.kernel.override) == (two.kernel.priority, two.kernel.override)
        ):
            dtypes = ", ".join(sorted(one.dtypes & two.dtypes))
            both = sorted((one, two), key=str)
            raise PluginConflictError(
                f"the kernel of {operator.name} for {one.where} {{{dtypes}}}",
                [str(registration) for registration in both],
                [registration.plugin_name for registration in both if registration.plugin_name],
            )


def choose_form(
    operator: Operator, form: str, backend: Backend, dtypes: CallDtypes, served: list[EligibleKernel]
) -> tuple[int, list[EligibleKernel]]:
    """Return how the form is made (see `codes`) and from which kernels.

    The most preferred kernels decide; others of the same kind serve calls with arguments that those do not take.
    """
    best = [s for s in served if s.rank == served[0].rank]
    how, chosen = _form_of(operator, form, backend, dtypes, best)
    if len(best) == len(served):
        return how, chosen
    # All kernels of one cached call are called alike, so those of other forms do not serve its calls.
    kind = chosen[0].registration.kernel.form
    rest = [s for s in served[len(best) :] if s.registration.kernel.form == kind]
    if how == codes.WRITES_OUTPUT and kind == "functional":
        rest = [s for s in rest if _takes_output(s.registration.kernel.function) and not s.upcast]
    return how, chosen + rest


def _form_of(
    operator: Operator, form: str, backend: Backend, dtypes: CallDtypes, served: list[EligibleKernel]
) -> tuple[int, list[EligibleKernel]]:
    functional = [s for s in served if s.registration.kernel.form == "functional"]
    if form == "functional" and functional and not operator.mutates:
        return codes.RETURNS, functional
    inplace = [s for s in served if s.registration.kernel.form == "inplace"]
    out = [s for s in served if s.registration.kernel.form == "out" and not s.upcast]
    if operator.mutates:
        if out:
            raise KernelContractError(
                f"the kernel of {operator.name} by {out[0].registration} has the form 'out', and the operator changes "
                "its arguments: the form is 'inplace' or 'functional'"
            )
        # Where arrays can change, the kernel that changes them saves a copy; where they cannot, it needs a clone.
        if inplace and (backend.mutable or not functional):
            return codes.CHANGES_FIRST, inplace
        return codes.RETURNS, functional
    if form == "functional":
        return (codes.FROM_INPLACE, inplace) if inplace else (codes.FROM_OUT, out)
    if changes_metadata(operator) and functional:
        return codes.CHANGES_METADATA, functional
    if inplace and all(s.registration.kernel.tensors for s in inplace):
        return codes.CHANGES_FIRST, inplace
    same = dtypes.target is not None and dtypes.results[0] is dtypes.target
    # A kernel that changes its argument must get the target itself, not a copy in another dtype.
    if form == "inplace" and inplace and same and not any(s.upcast for s in inplace):
        return codes.CHANGES_FIRST, inplace
    if same and out:
        return codes.WRITES_OUTPUT, out
    # All or none: a call may take any of the kernels, and they are called alike, with the output behind.
    ufuncs = [s for s in functional if _takes_output(s.registration.kernel.function) and not s.upcast]
    if same and ufuncs and len(ufuncs) == len(functional) and backend.mutable:
        return codes.WRITES_OUTPUT, ufuncs
    if functional:
        return codes.RETURNS, functional
    return (codes.FROM_INPLACE, inplace) if inplace else (codes.FROM_OUT, out)


def _takes_output(function: Any) -> bool:
    """Return whether a function takes its output as a further argument: ufuncs do; maximum and minimum warn."""
    return isinstance(function, np.ufunc) and function not in (np.maximum, np.minimum)


def changes_metadata(operator: Operator) -> bool:
    """Return whether the in-place form points the tensor to another handle instead of writing into it."""
    return operator.definition.kind == "view" or "metadata_inplace" in operator.definition.tags
