"""Overloads: callables such as `tt.add`, and the path of every call.

An `OpOverload` is one form (functional, in-place, out=) of one operator.  A call with one or two tensors and nothing
else packs no arguments, binds no signature, touches no thread-local state and walks no list: `one` and `two`.
`introspection` subclasses the class and adds its name, documentation and pickling.  This is a hot module: plain Python
that Cython compiles with the C types of `op_overload.pxd`.

Note [The path of a call]
-------------------------
1. OR the keys (level 1) and promotion bits (level 2) of the arguments.
2. Compare with the cached call of the previous call; the comparison covers settings and modes, too (see Note [Epochs
   and the guard] in `state`).  On a miss look the pair up; on the first call resolve it.
3. Run the cached call: call the kernel on the handles and wrap its result, or run a composite, or a layer's rule.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.argument_kinds import FALL_THROUGH
from tt.core.dispatch.call.cached_call import EMPTY
from tt.core.dispatch.call.fast_path import FastPath
from tt.core.dispatch.intercept.modes import cached_call_with_modes, call_with_modes
from tt.core.dispatch.intercept.tt_function import call_refused, call_with_overrides
from tt.core.errors import ArgumentError
from tt.core.tensor.base import TensorBase
from tt.core.types.keys import FUNCTION
from tt.core.types.promotion import SCALAR_WORDS
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.binding import Binder
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.call.signature_plan import SignaturePlan
    from tt.core.schema.model import OpDefinition, Signature

SCALARS = SCALAR_WORDS

# The bit of tensors whose class has `__tt_function__`.
OVERRIDDEN = FUNCTION


class OpOverload(FastPath):
    """One form of one operator; calling it dispatches.

    Attributes
    ----------
    name : str
        As the user writes it: "add", "add_", "acme::twice".
    binder : callable or None
        Turns a user's arguments into the full tuple; generated at first use.
    """

    name: str
    binder: Binder | None

    def __init__(self, operator: Operator, form: str, plan: SignaturePlan, name: str) -> None:
        super().__init__(operator, form, plan)
        self.name = name
        self.binder = None

    @property
    def definition(self) -> OpDefinition:
        """The operator's entry in ops.yaml."""
        return self.operator.definition

    @property
    def schema(self) -> Signature:
        """The signature of this form."""
        return self.operator.signature(self.form)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self, instance)

    def execute(self, args: tuple[Any, ...]) -> Any:
        """Dispatch a full argument tuple for what stands above the layers already: plain modes do not see it."""
        if STATE.modes != 0:
            return cached_call_with_modes(self, args).run(args)
        keys, bits, positions = self.scan(args)
        cached = self.cached_call(keys, bits, positions, args)
        return cached.run(args)

    def dispatch(self, args: tuple[Any, ...]) -> Any:
        """Dispatch a full argument tuple for code of tt's own: only a user's calls are seen by `__tt_function__`."""
        if STATE.modes != 0:
            return call_with_modes(self, args)
        return self.execute(args)

    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """Bind a user's arguments and dispatch them."""
        if kwargs and ("out" in kwargs or "requires_grad" in kwargs or "pin_memory" in kwargs):
            return self.operator.call_with_options(self, args, kwargs)
        binder = self.binder
        if binder is None:
            leading = self.leading
            if (
                0 < leading == len(args)
                and not kwargs
                and isinstance(args[0], TensorBase)
                and isinstance(args[leading - 1], TensorBase)
            ):
                # The first call, of many operators the only one that comes here: later ones find their cached call.
                return self.called(args + self.plan.tail, self, args, kwargs)
            binder = self.operator.binder(self)
        bound = None
        try:
            bound = binder(args, kwargs)
        except ArgumentError as error:
            refused = error
        if bound is None:
            return call_refused(self, refused, args, kwargs)
        return self.called(bound, self, args, kwargs)

    def called(
        self, bound: tuple[Any, ...], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        """Dispatch a full argument tuple that the user passed to `function`."""
        if STATE.modes != 0:
            return call_with_modes(self, bound, function, args, kwargs)
        keys, bits, positions = self.scan(bound)
        if keys & OVERRIDDEN:
            return call_with_overrides(self, bound, function, args, kwargs)
        cached = self.cached_call(keys, bits, positions, bound)
        if self.plan.ranged:
            self.refuse_out_of_range(cached, bound)
        return cached.run(bound)

    def one(self, value: Any) -> Any:
        """Call with one argument."""
        if self.leading == 1 and isinstance(value, TensorBase):
            tensor = value
            cached = self.last
            if (
                cached.keys != tensor._keys
                or cached.promotion != tensor._promotion
                or cached.positions != 0
                or cached.epoch != STATE.guard
            ):
                cached = self.find(tensor._keys, tensor._promotion, 0)
                if cached is EMPTY:
                    return self.general((value,), None)
            if cached.direct:
                try:
                    handle = cached.plain(tensor._handle)
                except Exception as error:
                    handle = cached.direct_failed(error, (value, *self.plan.tail))
                return cached.wrap_direct(handle)
            # Concatenated, because unpacking would make a list first.
            return cached.run((value,) + self.plan.tail)  # noqa: RUF005
        return self.general((value,), None)

    def two(self, left: Any, right: Any) -> Any:
        """Call with two arguments."""
        if self.leading != 2:
            return self.general((left, right), None)
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
            if self.ranged_operand:
                return self.two_apart(left, right)
            positions = bit
            operand = right
        cached = self.last
        if (
            cached.keys != keys
            or cached.promotion != bits
            or cached.positions != positions
            or cached.epoch != STATE.guard
        ):
            cached = self.find(keys, bits, positions)
            if cached is EMPTY:
                # Of arguments that do not promote, like scores and classes, the dtypes are in the second word.
                return self.two_apart(left, right)
        if cached.direct:
            try:
                handle = cached.plain(first._handle, operand)
            except Exception as error:
                handle = cached.direct_failed(error, (left, right, *self.plan.tail))
            return cached.wrap_direct(handle)
        return cached.run((left, right) + self.plan.tail)  # noqa: RUF005  # as in `one`

    def two_apart(self, left: Any, right: Any) -> Any:
        """Call with two arguments whose types, or the number's range, `two` does not look at."""
        result = FastPath.fast_path(self, (left, right), None)
        return self.general((left, right), None) if result is FALL_THROUGH else result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator with what its signature takes."""
        if self.leading != 0 and len(args) == self.leading and not kwargs:
            # By way of the class: a direct call where this is compiled.
            return self.one(args[0]) if self.leading == 1 else OpOverload.two(self, args[0], args[1])
        result = FastPath.fast_path(self, args, kwargs)
        return self.general(args, kwargs) if result is FALL_THROUGH else result
