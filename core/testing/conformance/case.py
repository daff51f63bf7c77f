"""One sample of one operator: what every check looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tt.core.dtype import dtype as Dtype
from tt.core.tensor_base import TensorBase
from tt.core.testing.conformance.report import Failure
from tt.core.testing.references import Reference
from tt.core.testing.samples import Sample
from tt.core.testing.snippets import snippet

if TYPE_CHECKING:
    from tt.core.dispatch.operator import Operator

__all__ = ["ROUNDED", "SKIPPED", "UNDEFINED", "Case", "copy_of", "tensors_in", "to_meta"]

# Their values are undefined.
UNDEFINED: Final = frozenset({"empty", "empty_strided", "empty_like", "new_empty"})
ROUNDED: Final = 4
"""How many intermediate results of a composite may be rounded to half precision."""
SKIPPED: Final = "skipped"
"""What a check yields that does not apply."""


@dataclass
class Case:
    """One sample of one operator, and its result once it ran."""

    operator: Operator
    device: str
    dtype: Dtype
    sample: Sample
    reference: Reference | None
    result: Any = None
    before: Any = None

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

    @property
    def steps(self) -> int:
        """How many intermediate results the call may round: none in a kernel, some in a composite."""
        from tt.core.dispatch.registry import REGISTRY

        device = str(self.device).partition(":")[0]
        return 0 if REGISTRY.kernels_of(self.operator.name, device, ("strided",)) else ROUNDED

    def call(self, args: Sequence[Any], form: str = "functional", **more: Any) -> Any:
        """Call a form of the operator."""
        return self.operator.caller(form)(*args, **self.sample.kwargs, **more)

    def run(self, args: Sequence[Any] | None = None) -> Any:
        """Call the operator as its users do: for those with nothing but an in-place form, on a copy."""
        given = self.sample.args if args is None else args
        if self.inplace_only:
            return self.call((copy_of(given[0]), *given[1:]), "inplace")
        return self.call(given)

    def failure(self, check: str, message: str) -> Failure:
        """Return a failed check."""
        form = "inplace" if self.inplace_only or check == "inplace" else "functional"
        code = snippet(self.definition, form, self.sample.args, self.sample.kwargs)
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
    from tt.core.dispatch.registry import REGISTRY
    from tt.core.meta import describe
    from tt.core.tensor import wrap

    if isinstance(value, TensorBase):
        return wrap(describe(value), REGISTRY.backend("meta").spec(value.dtype))
    if isinstance(value, list | tuple):
        return type(value)(to_meta(item) for item in value)
    return value
