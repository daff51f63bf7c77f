"""What a call costs in autocast: the rule that casts the tensors of a call and makes it again below.

This is a hot module: plain Python that Cython compiles with the C types of `casting.pxd`.

Note [Kept casts]
-----------------
A parameter takes part in many calls of a block, and its cast is kept until the outermost block ends.  It is kept with
the version of the parameter: a change in place inside of the block is seen.  It is made with recording switched on: a
forward pass under `no_grad` must not leave a cast without history to a later one that needs it.  In inference mode
nothing is recorded, so nothing is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from tt.core.dispatch.call.cached_call import LayerRule
from tt.core.library import ALL_DTYPES, KEYS, STATE, dtype, to_dtype
from tt.core.tensor.base import TensorBase
from tt.plugins.amp.state import AUTOCAST

if TYPE_CHECKING:
    from tt.core.library import Operator

__all__ = ["FLOAT32", "CastRule"]

FLOAT32: Final = to_dtype("float32")
CAST: Final = frozenset(each for each in ALL_DTYPES if each.is_floating_point and each.name != "float64")
"""The dtypes of the tensors that are cast: float64, integers and complex numbers stay."""


class CastRule(LayerRule):
    """Casts the tensors of a call to the precision of autocast, and makes it again below.

    Parameters
    ----------
    operator : Operator
        The called operator.
    device_type : str
        Only tensors on devices of this type are cast.
    precision : dtype
        That of autocast.

    Attributes
    ----------
    policy : str
        The word of the policy in the schema.
    """

    policy: ClassVar[str] = ""

    operator: Any
    overload: Any
    device: int
    transform: int
    device_type: str
    precision: Any
    positions: tuple[int, ...]
    recorded: int
    copy: Any
    rest: tuple[Any, ...]

    def __init__(self, operator: Operator, device_type: str, precision: dtype) -> None:
        self.operator = operator
        self.overload = operator.overload("functional")
        self.device = KEYS.bit("device", device_type)
        self.transform = KEYS.bit("layer", "transform")
        self.device_type = device_type
        self.precision = precision
        self.recorded = KEYS.bit("layer", "autograd")
        self.copy = operator.registry.overload("_to_copy")
        self.rest = tuple(operator.registry.operator("_to_copy").defaults[2:])
        self.positions = tuple([i for i, a in enumerate(operator.arguments) if a.type.is_tensor])

    def __str__(self) -> str:
        return f"the policy of autocast: {self.policy}"

    def call(self, cached: Any, args: tuple[Any, ...]) -> Any:
        """Make the call with its tensors cast."""
        # Autocast is off in the call below, which would meet this rule again.
        suspended = STATE.suspend()
        try:
            return self.overload.dispatch(self.converted(args))
        finally:
            STATE.resume(suspended)

    def converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with which the call is made below."""
        return self.cast_all(args, self.precision)

    def takes(self, value: Any) -> bool:
        """Return whether a value is a tensor that is cast."""
        if not isinstance(value, TensorBase):
            return False
        tensor = value
        return tensor._keys & self.device != 0 and tensor._spec.dtype in CAST

    def cast_all(self, args: tuple[Any, ...], target: Any) -> tuple[Any, ...]:
        """Return the arguments with their tensors in another dtype."""
        casts = (
            AUTOCAST.here.casts
        )  # once a call: a look at thread-local state costs as much as one in the dict
        values = list(args)
        for position in self.positions:
            value = values[position]
            if isinstance(value, TensorBase):
                values[position] = self.cast(value, target, casts)
            elif type(value) is list or type(value) is tuple:
                values[position] = [self.cast(each, target, casts) for each in value]
        return tuple(values)

    def cast(self, value: Any, target: Any, casts: dict[int, Any]) -> Any:
        """Return a tensor in another dtype, by the kept casts where it has one, or what is not cast as it is."""
        if not isinstance(value, TensorBase):
            return value
        tensor = value
        source = tensor._spec.dtype
        if source is target or tensor._keys & self.device == 0 or source not in CAST:
            return tensor
        # Parameters are float32, and this is the cast that their calls repeat.
        if source is FLOAT32 and target is self.precision:
            kept = casts.get(id(tensor))
            if kept is not None and kept[0] is tensor and kept[2] is target and kept[1] == tensor._version:
                return kept[3]
            # Outside of transforms, what requires a gradient and is no view may be a parameter.
            if (
                tensor._keys & self.recorded != 0
                and tensor._keys & self.transform == 0
                and tensor._root is None
            ):
                return self.cast_recorded(tensor, target)
        return self.copy.dispatch((tensor, target, *self.rest))

    def cast_recorded(self, tensor: Any, target: Any) -> Any:
        """Return the cast of a tensor that requires a gradient; that of a leaf is kept: see Note [Kept casts]."""
        here = AUTOCAST.here
        if not here.caches or here.nesting <= 0 or not tensor.is_leaf:
            return self.copy.dispatch((tensor, target, *self.rest))
        # A tensor that requires a gradient has loaded them; casting alone does not need autograd.
        from tt.plugins.autograd.record.modes import enable_grad, is_grad_enabled

        if is_grad_enabled():  # as nearly always: a block would take as long as the cast
            result = self.copy.dispatch((tensor, target, *self.rest))
        else:
            with enable_grad():
                result = self.copy.dispatch((tensor, target, *self.rest))
        if result.requires_grad:
            here.casts[id(tensor)] = tensor, tensor._version, target, result
        return result
