"""The samples of the operators as functions of their differentiable tensors."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from typing import Any

import tt
from tt.core.library import REGISTRY, OpDefinition
from tt.testing.samples import samples

DEFINITIONS = [d for d in REGISTRY.definitions() if "::" not in d.name]
# Random numbers differ from call to call, so differences mean nothing.
RANDOM = [d.name for d in DEFINITIONS if "random" in d.tags]
DIFFERENTIABLE = [
    d
    for d in DEFINITIONS
    if d.name not in RANDOM
    and (d.grad or (d.kind == "composite" and not d.undifferentiated))
    and any(a.type.is_tensor for a in d.signature.arguments)
    and d.samples
]


class Call:
    """One sample of an operator as a function of its differentiable tensors, other than those called constant."""

    def __init__(
        self, definition: OpDefinition, bound: tuple[Any, ...], constant: Collection[str] = ()
    ) -> None:
        self.definition, self.bound = definition, bound
        names = [a.name for a in definition.signature.arguments]
        self.wanted = {names.index(n) for n in definition.grad} if definition.grad else set(range(len(names)))
        if definition.name == "cross_entropy":
            self.wanted.discard(names.index("weight"))  # the weights of classes are constants, as in torch
        self.wanted.difference_update(names.index(name) for name in constant)
        self.inputs = [t for i, v in enumerate(bound) if i in self.wanted for t in tensors_of(v)]

    def fill(self, tensors: Any, convert: Any = lambda value: value) -> list[Any]:
        remaining = iter(tensors)
        filled: list[Any] = []
        for i, value in enumerate(self.bound):
            if i in self.wanted and isinstance(value, list | tuple) and tensors_of(value):
                filled.append([next(remaining) if is_floating(item) else convert(item) for item in value])
            elif i in self.wanted and is_floating(value):
                filled.append(next(remaining))
            else:
                filled.append(convert(value))
        return filled

    def __call__(self, *tensors: Any) -> Any:
        args = self.fill(tensors)
        with warnings.catch_warnings():
            # Some samples give the old arguments of losses, with which both libraries find fault.
            warnings.filterwarnings("ignore", ".*size_average and reduce", UserWarning)
            warnings.filterwarnings(
                "ignore", ".*(is deprecated|without a window|not contiguous|padding='same')", UserWarning
            )
            return self._run(args)

    def _run(self, args: list[Any]) -> Any:
        operator = REGISTRY.operator(self.definition.name)
        if "inplace_only" in self.definition.tags:
            args[0] = args[0].clone()
            return operator.overload("inplace").dispatch(tuple(args))
        if not self.definition.signature.returns:
            # The changed lists are its result.
            for position in operator.mutates:
                args[position] = [t.clone() for t in args[position]]
            operator.overload().dispatch(tuple(args))
            return tuple(t for position in operator.mutates for t in args[position])
        found = operator.overload().dispatch(tuple(args))
        if isinstance(found, tt.Tensor):
            return found
        return tuple(t for t in found if isinstance(t, tt.Tensor))


def is_moderate(tensor: Any) -> bool:
    """Return whether no product or quotient of a few of the values overflows or is lost."""
    size = tensor.detach().abs()
    return bool((tensor.isfinite() & (size < 1e50) & ((size > 1e-50) | (size == 0))).all())


def is_floating(value: Any) -> bool:
    return isinstance(value, tt.Tensor) and (value.is_floating_point() or value.is_complex())


def tensors_of(value: Any) -> list[Any]:
    return [t for t in (value if isinstance(value, list | tuple) else [value]) if is_floating(t)]


def calls(
    definition: OpDefinition, dtype: tt.dtype, constant: Collection[str] = ()
) -> Iterator[tuple[str, Call]]:
    operator = REGISTRY.operator(definition.name)
    caller = operator.overload("inplace" if "inplace_only" in definition.tags else "functional")
    binder = caller.binder or operator.binder(caller)
    for sample in samples(definition, "cpu", dtype):
        if sample.error is None:
            call = Call(definition, binder(sample.args, sample.kwargs), constant)
            if definition.kind == "composite" and not runs(call):
                continue  # a part of the composite refuses the dtype
            if call.inputs and all(t.dtype in (tt.float64, tt.complex128) for t in call.inputs):
                yield sample.name, call


def runs(call: Call) -> bool:
    try:
        call(*call.inputs)
    except (tt.core.errors.NoKernelError, tt.core.errors.DtypeError):
        return False
    except UserWarning:
        return False  # a conversion drops the imaginary parts
    return True


def serves(definition: OpDefinition, dtype: tt.dtype) -> bool:
    from tt.core.schema.classes import dtype_names

    return definition.kind == "composite" or dtype.name in dtype_names(definition.dtypes)
