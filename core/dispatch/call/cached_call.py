"""Cached calls: the resolved path of one operator for one combination of keys and dtypes.

`resolve` makes a cached call once, slowly; every later call with the same combination runs it.  This is a hot module:
plain Python that Cython compiles with the C types of `cached_call.pxd`.

Note [A cached call in three classes]
-------------------------------------
`KernelCall` prepares arguments, calls kernels and wraps results; `MutatingCall` adds the forms that change tensors;
`CachedCall` adds the combination that it serves and the choice between kernel, composite and layer.  They are base
classes of one another, because compiled methods of one object call each other through its table of C functions: parts
in objects of their own would cost a call through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.argument_kinds import ABSENT
from tt.core.dispatch.call.kernel_errors import name_caller
from tt.core.dispatch.call.mutating_call import MutatingCall
from tt.core.dispatch.intercept.drawing import call_drawing
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED
from tt.core.dispatch.mutate.mutation import hand_back
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import alias
from tt.core.types.promotion import join_bits, split_bits
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator


class LayerRule:
    """A layer's rule that is called without packing arguments; any callable serves as a rule, too."""

    __slots__ = ()

    def call(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call; `cached.call_below(args)` runs what lies below the layer.

        Parameters
        ----------
        cached : CachedCall
            The cached call.
        args : tuple
            All arguments of the schema.
        """
        raise NotImplementedError(f"{type(self).__name__}.call")

    def __call__(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call of the operator."""
        return self.call(cached, args)


class PassThrough(LayerRule):
    """The rule of calls with which a layer has nothing to do."""

    __slots__ = ()

    def call(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        """Run what lies below the layer."""
        return cached.call_below(args)


class CachedCall(MutatingCall):
    """The resolved path of one operator for one (keys, bits) pair in one epoch.

    Attributes
    ----------
    keys, epoch : int
        The calls for which it is valid.
    promotion, positions : int
        The two words of the level-2 bits of these calls; see Note [Level 2] in `promotion`.
    kind : int
        KERNEL, COMPOSITE, LAYER, REROUTE (mixed devices, fallbacks), MUTATE (a kernel of an operator whose schema
        declares changed arguments), PYTHON (`__tt_dispatch__`), or OUT (a kernel that writes its result into the
        tensor of `out=`).
    functional : bool
        Whether the form is the functional one.
    draws : bool
        Whether the operator draws random numbers, so that handlers of these may see the call.
    below, rule, clear : CachedCall, callable, int
        For LAYER: the cached call below, the layer's rule, and the bits that `call_below` clears.
    limit : float
        The largest magnitude of numbers that need not be compared with the range of the dtype; see
        Note [Numbers in range] in `number_ranges`.
    rest : CachedCall or None
        Serves the calls that no kernel of `choices` accepts.
    """

    __slots__ = (
        "below",
        "clear",
        "draws",
        "epoch",
        "functional",
        "keys",
        "kind",
        "limit",
        "positions",
        "promotion",
        "rest",
        "rule",
    )

    keys: int
    promotion: int
    positions: int
    epoch: int
    kind: int
    functional: bool
    draws: bool
    below: CachedCall
    rule: Callable[[CachedCall, tuple[Any, ...]], Any]
    clear: int
    limit: float
    rest: CachedCall | None

    def __init__(
        self, operator: Operator | None, form: str, keys: int, bits: int, epoch: int, kind: int
    ) -> None:
        super().__init__(operator, form)
        self.keys = keys
        self.promotion, self.positions = split_bits(bits)
        self.epoch = epoch
        self.kind = kind
        self.functional = form == "functional"
        self.draws = operator is not None and "random" in operator.definition.tags
        self.below = ABSENT
        self.rule = ABSENT
        self.clear = 0
        self.limit = 0.0
        self.rest = None

    @property
    def bits(self) -> int:
        """The level-2 bits as one integer."""
        return join_bits(self.promotion, self.positions)

    def with_bits(self, bits: int) -> CachedCall:
        """Return a copy for other level-2 bits."""
        new = CachedCall(self.operator, self.form, self.keys, bits, self.epoch, self.kind)
        new.plain = self.plain
        new.choices = self.choices
        new.compute_code = self.compute_code
        new.compute_native = self.compute_native
        new.group = self.group
        new.result = self.result
        new.spec = self.spec
        new.specs = self.specs
        new.downcast = self.downcast
        new.shares = self.shares
        new.backend = self.backend
        new.handle_type = self.handle_type
        new.writes_target = self.writes_target
        new.below = self.below
        new.rule = self.rule
        new.clear = self.clear
        new.function = self.function
        new.rest = self.rest
        new.format_of = self.format_of
        new.resolution = self.resolution
        return new

    def run(self, args: tuple[Any, ...]) -> Any:
        """Run the call; `args` holds all arguments of the schema (and the out tensors for form "out")."""
        if self.draws and STATE.drawing != 0:
            handled = call_drawing(self.operator.overload(self.form), args)
            if handled is not NOT_HANDLED:
                return handled
        kind = self.kind
        if kind == codes.KERNEL or kind == codes.MUTATE:
            choice = self.choose(args)
            if choice is None:
                aliases = self.strip_to(args)
                result = self.operator.resolve_rest(self).run(aliases)
                if self.functional and not self.operator.mutates:
                    return result
                return hand_back(self, args, aliases, result)
            if kind == codes.MUTATE:
                return self.run_mutating(choice, args)
            if self.functional:
                return self.run_kernel(choice, args)
            return self.run_inplace(choice, args)
        if kind == codes.LAYER:
            rule = self.rule
            if isinstance(rule, LayerRule):
                layer_rule = rule
                return layer_rule.call(self, args)
            return rule(self, args)
        if kind == codes.COMPOSITE:
            try:
                return self.function(*args)
            except Exception as error:
                name_caller(self, error)
                raise
        if kind == codes.OUT:
            return self.run_out(args)
        return self.function(self, args)

    def call_below(self, args: tuple[Any, ...]) -> Any:
        """Run the cached call below the layer, for the layer's rule.

        Kernels get bare handles, and Python code gets the user's own tensors, so both are passed on unchanged;
        composites and further layers get shallow aliases that the layer does not hold.  Changes to an alias are changes
        to the tensor itself, and a returned argument is the user's own tensor.
        """
        below = self.below
        if below.kind == codes.KERNEL or below.kind >= codes.MUTATE:  # MUTATE, PYTHON, OUT
            return below.run(args)
        aliases = self.strip(args)
        result = below.run(aliases)
        if self.functional and not self.operator.mutates:
            return result
        return hand_back(self, args, aliases, result)

    def strip(self, args: Sequence[Any]) -> Any:
        """Return the arguments with aliases instead of tensors that the layer holds."""
        clear = self.clear
        stripped = []
        for value in args:
            if isinstance(value, TensorBase):
                if value._keys & clear:
                    value = alias(value, clear)
            elif type(value) is list or type(value) is tuple:
                value = self.strip(value)
            stripped.append(value)
        return stripped if type(args) is list else tuple(stripped)

    def strip_to(self, args: Sequence[Any]) -> Any:
        """Return the arguments as code below the layers sees them: kernels do not look, composites do."""
        stripped = []
        for value in args:
            if isinstance(value, TensorBase):
                above = value._keys & ~self.keys
                if above:
                    value = alias(value, above)
            elif type(value) is list or type(value) is tuple:
                value = self.strip_to(value)
            stripped.append(value)
        return stripped if type(args) is list else tuple(stripped)


EMPTY: Final = CachedCall(None, "functional", -1, 0, -2, codes.REROUTE)
"""Matches no call; every overload starts with it."""
