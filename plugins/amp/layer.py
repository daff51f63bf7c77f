"""The layer of autocast: operators choose the precision in which they compute.

The policy of an operator is a key of its entry in ops.yaml, so that all backends have autocast.  The layer is ambient
(see Note [Ambient layers] in `tt.core.types.state`) and stands above all others: the casts are recorded by autograd, so
that gradients come back in the dtype of the leaf, and levels of transforms and modes see them as ordinary calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from tt.core.library import KEYS, STATE, Layer, dtype, errors, promote_types, to_dtype
from tt.plugins.amp.casting import CastRule
from tt.plugins.amp.state import LAYER, Setting

if TYPE_CHECKING:
    from tt.core.library import OpDefinition, Operator

__all__ = ["AutocastLayer"]


FLOAT32: Final = to_dtype("float32")


class LowerRule(CastRule):
    """Computes in the precision of autocast."""

    policy = "lower"


class Float32Rule(CastRule):
    """Computes in float32."""

    policy = "float32"

    def converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.cast_all(args, FLOAT32)


class WidestRule(CastRule):
    """Computes in the widest precision among those of the tensors and that of autocast."""

    policy = "widest"

    def converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        widest = self.precision
        for position in self.positions:
            value = args[position]
            for each in value if type(value) is list or type(value) is tuple else (value,):
                if self.takes(each):
                    widest = promote_types(widest, each._spec.dtype)
        return self.cast_all(args, widest)


class SetDtypeRule(CastRule):
    """Sets the argument `dtype` to float32 unless the caller did."""

    policy = "set_dtype"

    def converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        at = self.operator.dtype_at
        if args[at] is not None or not self.takes(args[0]):
            return args
        return (*args[:at], FLOAT32, *args[at + 1 :])


class RefuseRule(CastRule):
    """Refuses the call."""

    policy = "refuse"

    def converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        name = self.operator.name
        safe = f"{name}_with_logits"
        remedy = f"{safe}, which is safe, " if safe in self.operator.registry.names() else "float32 "
        raise errors.UnsupportedError(
            f"{name}: autocast refuses it on {self.device_type}, because half precision makes it overflow\n"
            f"  try: {remedy}or this call inside of tt.autocast({self.device_type!r}, enabled=False)"
        )


class LowerResultRule(CastRule):
    """Casts the result: the last step of the operator is a product, and the steps before it need the precision."""

    policy = "lower_result"

    def call(self, cached: Any, args: tuple[Any, ...]) -> Any:
        # Autocast is off in the call below, which would meet this rule again.
        suspended = STATE.suspend()
        try:
            return self.cast(self.overload.dispatch(args), self.precision, {})
        finally:
            STATE.resume(suspended)


class WholeRule(CastRule):
    """Leaves a composite alone with its parts: PyTorch has an operator of that name, without a policy."""

    policy = "whole"

    def converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args


class GivenDtypeRule(CastRule):
    """Computes in a dtype that was registered for the operator."""

    def __str__(self) -> str:
        return f"registered for autocast: {self.precision}"


class FunctionRule(CastRule):
    """Calls a function that was registered in the place of the operator."""

    def __init__(
        self, operator: Operator, device_type: str, precision: dtype, function: Callable[..., Any]
    ) -> None:
        super().__init__(operator, device_type, precision)
        self.function = function
        self.keywords = tuple(a.name for a in operator.arguments if a.keyword_only)

    def __str__(self) -> str:
        return "registered for autocast: a function"

    def call(self, cached: Any, args: tuple[Any, ...]) -> Any:
        count = len(args) - len(self.keywords)
        # The function calls the operator, which would meet this rule again.
        suspended = STATE.suspend()
        try:
            return self.function(*args[:count], **dict(zip(self.keywords, args[count:], strict=True)))
        finally:
            STATE.resume(suspended)


RULES: Final[dict[str, type[CastRule]]] = {
    rule.policy: rule
    for rule in (LowerRule, Float32Rule, WidestRule, SetDtypeRule, RefuseRule, LowerResultRule, WholeRule)
}


class AutocastLayer(Layer):
    """Casts the arguments of operators by their policies, in threads where autocast is on."""

    name = LAYER
    ambient = True
    generic = True

    def __init__(self) -> None:
        super().__init__()
        self._registered: dict[str, list[dict[str, Any]]] = {}
        self._rules: dict[tuple[str, str, dtype], CastRule | None] = {}

    def accept(self, table: Any, source: Any = None) -> Callable[[], None]:
        """Take the policies of operators that ops.yaml does not name.

        Parameters
        ----------
        table : object
            Its `policies` maps operators to dicts from device types to a policy's word, a dtype or a function.
        source : Source, optional
            Who brought it.
        """
        for op, policies in table.policies.items():
            self._registered.setdefault(op, []).insert(0, policies)
        self._rules = {}

        def remove() -> None:
            for op, policies in table.policies.items():
                self._registered[op] = [each for each in self._registered[op] if each is not policies]
            self._rules = {}

        return remove

    def policy(self, operator: Operator, device_type: str) -> Any:
        """Return the policy of an operator on devices of a type: a word, a dtype, a function, or an empty text."""
        for policies in self._registered.get(operator.name, ()):
            if device_type in policies:
                return policies[device_type]
        return operator.definition.autocast_policy(device_type)

    def ambient_rule(self, operator: Operator, keys: int, setting: Setting) -> CastRule | None:
        """Return the rule of an operator's policy on the device of a call."""
        chosen = [pair for pair in setting if keys & KEYS.bit("device", pair[0])]
        if not chosen:
            return None
        # A call may have a number from the CPU beside tensors of another device.
        device_type, precision = next((pair for pair in chosen if pair[0] != "cpu"), chosen[0])
        key = operator.name, device_type, precision
        if key not in self._rules:
            self._rules[key] = self._rule(operator, device_type, precision)
        return self._rules[key]

    def check(self, definitions: Iterable[OpDefinition]) -> list[tuple[str, str]]:
        """Return (operator, fault) for operators whose results have other dtypes than their policies say."""
        from tt.plugins.amp.check import faults

        return list(faults(definitions, self.policy))

    def _rule(self, operator: Operator, device_type: str, precision: dtype) -> CastRule | None:
        policy = self.policy(operator, device_type)
        if isinstance(policy, dtype):
            return GivenDtypeRule(operator, device_type, policy)
        if callable(policy):
            return FunctionRule(operator, device_type, precision, policy)
        return RULES[policy](operator, device_type, precision) if policy else None
