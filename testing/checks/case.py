"""One sample of one operator, as every check gets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.types.device import Device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import can_cast
from tt.testing.checks.call import UNDEFINED, CheckedCall, map_tensors, tensors_in
from tt.testing.references import Reference
from tt.testing.samples import Sample

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator

__all__ = ["ROUNDED", "SKIPPED", "Case", "copy_of", "fits"]

ROUNDED: Final = 4
"""The number of intermediate results that a composite may round to half precision."""
SKIPPED: Final = "skipped"
"""Yielded by a check that does not apply."""


@dataclass
class Case:
    """One sample of one operator, and its result once it ran.

    Attributes
    ----------
    operator, device, dtype, sample : Operator, str, dtype, Sample
        The call.
    reference : callable or None
        What values are compared with, where the caller has chosen.
    result : object
        The result of the call.
    before : Snapshot
        The arguments before the call.
    shared : dict
        Data that a check keeps from one sample of an operator and dtype to the next.
    last : bool
        Whether it is the last sample of an operator and dtype that must succeed.
    """

    operator: Operator
    device: str
    dtype: Dtype
    sample: Sample
    reference: Reference | None
    result: Any = None
    before: Any = None
    shared: dict[str, Any] = field(default_factory=dict)
    last: bool = False

    @property
    def definition(self) -> Any:
        """The operator's definition."""
        return self.operator.definition

    @property
    def inplace_only(self) -> bool:
        """Whether the operator has only its in-place form in public."""
        return "inplace_only" in self.definition.tags

    @property
    def random(self) -> bool:
        """Whether the values are random."""
        return "random" in self.definition.tags

    @cached_property
    def bound(self) -> dict[str, Any]:
        """All arguments by name, with defaults filled in."""
        operator = self.operator
        caller = operator.overload(self._form)
        bind = caller.binder or operator.binder(caller)
        values = bind(self.sample.args, dict(self.sample.kwargs))
        return dict(zip(operator.positions, values, strict=True))

    @cached_property
    def tensors(self) -> list[Any]:
        """The tensors among the arguments."""
        return [*tensors_in(self.sample.args), *tensors_in(list(self.sample.kwargs.values()))]

    @cached_property
    def given(self) -> CheckedCall:
        """The call with all its arguments, for the checks that need nothing else."""
        return CheckedCall(self.operator.overload(self._form), tuple(self.bound.values()), self.sample.name)

    @property
    def determined(self) -> bool:
        """Whether the values are: not drawn, not undefined, and made without changing an argument."""
        return not (self.random or self.inplace_only or self.definition.name in UNDEFINED)

    @property
    def device_type(self) -> str:
        """The device type."""
        return str(self.device).partition(":")[0]

    @property
    def named_places(self) -> list[str]:
        """The device types on which results may be: those that arguments name, those of the tensors; at least one."""
        named = [value.type for value in self.bound.values() if isinstance(value, Device)]
        return [*named, *(t.device.type for t in self.tensors)] or [self.device_type]

    @property
    def steps(self) -> int:
        """The number of intermediate results that the call may round: none in a kernel, some in a composite."""
        return 0 if REGISTRY.kernels_of(self.operator.name, self.device_type, ("strided",)) else ROUNDED

    @property
    def _form(self) -> str:
        return "inplace" if self.inplace_only else "functional"

    def call(self, args: Sequence[Any], form: str = "functional", **more: Any) -> Any:
        """Call a form of the operator."""
        return self.operator.overload(form)(*args, **self.sample.kwargs, **more)

    def into(self, outs: Sequence[Any]) -> Any:
        """Call the out= form."""
        return self.call(self.sample.args, out=outs[0] if len(outs) == 1 else tuple(outs))

    def run(self, args: Sequence[Any] | None = None) -> Any:
        """Call the operator as its users do: for those with nothing but an in-place form, on a copy.

        For an operator that changes arguments, the result is the changed copies of them.
        """
        arguments = self.sample.args if args is None else args
        return self._on_copies(arguments, lambda values: self.call(values, self._form))

    def run_bound(self, bound: Mapping[str, Any]) -> Any:
        """Call the operator with all arguments by name."""
        caller = self.operator.overload(self._form)
        return self._on_copies([*bound.values()], lambda values: caller.dispatch(tuple(values)))

    def _on_copies(self, values: Sequence[Any], call: Callable[[Sequence[Any]], Any]) -> Any:
        """Make a call with copies of the arguments that it changes."""
        if self.inplace_only:
            return call((copy_of(values[0]), *values[1:]))
        if not self.operator.mutates:
            return call(values)
        arguments = [
            map_tensors(v, copy_of) if i in self.operator.mutates else v for i, v in enumerate(values)
        ]
        call(arguments)
        return list(tensors_in([arguments[i] for i in self.operator.mutates if i < len(arguments)]))


def copy_of(tensor: Any) -> Any:
    """Return a copy of a tensor, in the same order of dimensions."""
    return tensor.clone()


def fits(case: Case, result: Any, target: Any) -> bool:
    """Return whether the in-place form can write a result into its target."""
    if case.definition.kind == "view":
        return True
    exact = "exact_target" in case.definition.tags and result.dtype is not target.dtype
    return bool(result.shape == target.shape and can_cast(result.dtype, target.dtype) and not exact)
