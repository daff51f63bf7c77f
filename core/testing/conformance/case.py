"""One sample of one operator: what every check looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tt.core.tensor.base import TensorBase
from tt.core.testing.conformance.report import Failure
from tt.core.testing.conformance.reproduce import reproduce
from tt.core.testing.references import Reference
from tt.core.testing.samples import Sample
from tt.core.types.dtype import dtype as Dtype

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator

__all__ = ["ROUNDED", "SKIPPED", "UNDEFINED", "Case", "copy_of", "tensors_in", "to_meta"]

UNDEFINED: Final = frozenset({"empty", "empty_strided", "empty_like", "new_empty"})
"""Operators whose values are undefined."""
ROUNDED: Final = 4
"""How many intermediate results of a composite may be rounded to half precision."""
SKIPPED: Final = "skipped"
"""What a check yields that does not apply."""


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
        What the call returned.
    before : list
        The tensors among the arguments, with their values and versions before the call.
    shared : dict
        What a check remembers from one sample of an operator and dtype to the next.
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
        """Whether the values are drawn."""
        return "random" in self.definition.tags

    @cached_property
    def bound(self) -> dict[str, Any]:
        """All arguments by name, with defaults filled in."""
        operator = self.operator
        caller = operator.caller("inplace" if self.inplace_only else "functional")
        bind = caller.binder or operator.binder(caller)
        values = bind(self.sample.args, dict(self.sample.kwargs))
        return dict(zip(operator.positions, values, strict=True))

    @cached_property
    def tensors(self) -> list[Any]:
        """The tensors among the arguments."""
        return [*tensors_in(self.sample.args), *tensors_in(list(self.sample.kwargs.values()))]

    @property
    def places(self) -> set[str]:
        """The device types on which results may be: those of the tensors, and those that an argument names."""
        from tt.core.types.device import Device

        named = {value.type for value in self.bound.values() if isinstance(value, Device)}
        return named | {t.device.type for t in self.tensors} or {str(self.device).partition(":")[0]}

    @property
    def steps(self) -> int:
        """How many intermediate results the call may round: none in a kernel, some in a composite."""
        from tt.core.dispatch.registry.registry import REGISTRY

        device = str(self.device).partition(":")[0]
        return 0 if REGISTRY.kernels_of(self.operator.name, device, ("strided",)) else ROUNDED

    def call(self, args: Sequence[Any], form: str = "functional", **more: Any) -> Any:
        """Call a form of the operator."""
        return self.operator.caller(form)(*args, **self.sample.kwargs, **more)

    def run(self, args: Sequence[Any] | None = None) -> Any:
        """Call the operator as its users do: for those with nothing but an in-place form, on a copy.

        The result of an operator that changes arguments is what becomes of copies of them.
        """
        given = self.sample.args if args is None else args
        if self.inplace_only:
            return self.call((copy_of(given[0]), *given[1:]), "inplace")
        if self.operator.mutates:
            given, changed = self._with_copies(given)
            self.call(given)
            return changed
        return self.call(given)

    def _with_copies(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return arguments with copies in the place of those that the operator changes, and the copies."""
        copies = [
            [copy_of(t) for t in value] if position in self.operator.mutates and isinstance(value, list) else
            copy_of(value) if position in self.operator.mutates and isinstance(value, TensorBase) else value
            for position, value in enumerate(values)
        ]  # fmt: skip
        return copies, list(tensors_in([copies[i] for i in self.operator.mutates if i < len(copies)]))

    def run_bound(self, bound: dict[str, Any]) -> Any:
        """Call the operator with all arguments by name."""
        if self.inplace_only:
            first, *rest = bound.values()
            return self.operator.caller("inplace").dispatch((copy_of(first), *rest))
        if self.operator.mutates:
            values, changed = self._with_copies(list(bound.values()))
            self.operator.caller().dispatch(tuple(values))
            return changed
        return self.operator.caller().dispatch(tuple(bound.values()))

    def failure(self, check: str, message: str) -> Failure:
        """Return a failed check."""
        try:
            code = reproduce(self, check)
        except Exception as error:  # what reads the arguments may be just what is wrong
            code = f"# the arguments cannot be read: {type(error).__name__}: {error}".replace("\n", "\n# ")
        return Failure(
            self.operator.name, str(self.device), self.dtype.name, self.sample.name, check, message, code
        )


def copy_of(tensor: Any) -> Any:
    """Return a copy of a tensor, in the same order of dimensions."""
    return tensor.clone()


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors of an argument or a result."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def to_meta(value: Any) -> Any:
    """Return the same argument without data."""
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.meta import describe
    from tt.core.tensor.tensor import wrap

    if isinstance(value, TensorBase):
        return wrap(describe(value), REGISTRY.backend("meta").spec(value.dtype))
    if isinstance(value, list | tuple):
        return type(value)(to_meta(item) for item in value)
    return value
