"""Overloads that are mostly called with one or two tensors and nothing else.

They do what `OpOverload.fast_path` does, written out for these calls: no tuple is made and no loop runs.  This is a
hot module: plain Python that Cython compiles with the C types of `unary_binary.pxd`.
"""

from __future__ import annotations

from typing import Any

from tt.core.dispatch.call.argument_kinds import FALL_THROUGH
from tt.core.dispatch.call.callers import OpOverload
from tt.core.dispatch.call.entry import EMPTY
from tt.core.dispatch.call.kernel_errors import failed_direct
from tt.core.tensor.base import TensorBase
from tt.core.types.promotion import SCALAR_WORDS
from tt.core.types.state import STATE

SCALARS = SCALAR_WORDS


class UnaryOverload(OpOverload):
    """An operator whose arguments behind the first tensor all have defaults: `exp(x)`, `x.sum()`."""

    def one(self, value: Any) -> Any:
        """Call with the tensor alone."""
        if isinstance(value, TensorBase):
            tensor = value
            entry = self.last
            if (
                entry.keys != tensor._keys
                or entry.promotion != tensor._promotion
                or entry.positions != 0
                or entry.epoch != STATE.guard
            ):
                entry = self.find(tensor._keys, tensor._promotion, 0)
                if entry is EMPTY:
                    return self.general((value,), None)
            if entry.direct:
                try:
                    handle = entry.plain(tensor._handle)
                except Exception as error:
                    handle = failed_direct(entry, error, (value,), self.tail)
                return entry.wrap_direct(handle)
            # Concatenated, because unpacking would make a list first.
            return entry.run((value,) + self.tail)  # noqa: RUF005
        return self.general((value,), None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator with what its signature takes."""
        if len(args) == 1 and not kwargs:
            return self.one(args[0])
        result = self.fast_path(args, kwargs)
        return self.general(args, kwargs) if result is FALL_THROUGH else result


class BinaryOverload(OpOverload):
    """An operator on two tensors, or a tensor and a number, whose further arguments have defaults."""

    def two(self, left: Any, right: Any) -> Any:
        """Call with the two operands alone."""
        try:
            first: TensorBase = left
            keys = first._keys
            bits = first._promotion
        except (AttributeError, TypeError):  # no tensor; the compiled form already refuses the assignment
            return self.general((left, right), None)
        positions = 0
        if isinstance(right, TensorBase):
            second = right
            keys |= second._keys
            bits |= second._promotion
            operand = second._handle
        else:
            bit = SCALARS.get(type(right))
            if bit is None:
                return self.general((left, right), None)
            positions = bit
            operand = right
        entry = self.last
        if (
            entry.keys != keys
            or entry.promotion != bits
            or entry.positions != positions
            or entry.epoch != STATE.guard
        ):
            entry = self.find(keys, bits, positions)
            if entry is EMPTY:
                return self.general((left, right), None)
        if entry.direct:
            try:
                handle = entry.plain(first._handle, operand)
            except Exception as error:
                handle = failed_direct(entry, error, (left, right), self.tail)
            return entry.wrap_direct(handle)
        return entry.run((left, right) + self.tail)  # noqa: RUF005  # as in UnaryOverload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator with what its signature takes."""
        if len(args) == 2 and not kwargs:
            return self.two(args[0], args[1])
        result = self.fast_path(args, kwargs)
        return self.general(args, kwargs) if result is FALL_THROUGH else result
