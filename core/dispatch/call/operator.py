"""Operator: one overload of the schema in the dispatcher, with an `OpOverload` for each form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tt.core.dispatch.call import codes as c
from tt.core.dispatch.call.binding import Binder, make_binder, make_plan
from tt.core.dispatch.call.kernel_errors import method_escaped
from tt.core.dispatch.call.op_overload import DescribedOverload
from tt.core.dispatch.call.results import FACTORY_OPTIONS, return_type, with_options
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED, call_refused, intercept
from tt.core.dispatch.mutate.out import FILL_LISTS, call_with_out
from tt.core.errors import ArgumentError, InplaceError, UnknownOpError
from tt.core.schema.model import MISSING, Argument, OpDefinition, Return, Signature
from tt.core.tensor.base import TensorBase, TensorSpec
from tt.core.types.device import get_default_device, to_device
from tt.core.types.dtype import to_dtype
from tt.core.types.keys import KEYS
from tt.core.types.layout import strided, to_layout
from tt.core.types.promotion import (
    DIM_BITS,
    GROUP_BITS,
    POSITION_BITS,
    ZERO_DIM_BITS,
    position_at,
)

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.call.signature import SignaturePlan
    from tt.core.dispatch.registry.registry import Registry

__all__ = ["Operator"]

Resolve: TypeAlias = "Callable[..., CachedCall]"
RunRule: TypeAlias = Callable[[OpDefinition, Sequence[Any]], Any]


def _default(argument: Argument) -> Any:
    """Return the default of an argument in the form for kernels: dtypes, devices and layouts instead of their names."""
    value = argument.default
    if not isinstance(value, str):
        return value
    convert = {"dtype": to_dtype, "device": to_device, "layout": to_layout}.get(argument.type.base)
    return value if convert is None else convert(value)


class Operator:
    """One overload of the schema, with everything the dispatcher can compute once for all calls.

    Attributes
    ----------
    definition : OpDefinition
        The entry in ops.yaml.
    name : str
        Qualified name, for instance "max.dim".
    group : tuple of int
        Positions of the arguments that promote together.
    format_of : tuple of int
        Positions of the arguments whose memory format the results have.
    others : tuple of (int, int)
        Positions of the other tensor arguments, with the shift of their dtype in the level-2 bits, among
        them perhaps a list.
    mutates : tuple of int
        Positions of the arguments that the operator changes.
    returned : tuple of int
        For each result, the position of the argument that is returned, or -1 for a new value.
    leading : int
        How many tensors a short call has, if they do not promote; see Note [Short bits].
    dispatch_rules : dict
        Classes with `__tt_dispatch__`, and modes -> what answers this operator instead; see `register_tt_dispatch`.
    removed : bool
        Whether the definition was unregistered: every call then raises.

    Parameters
    ----------
    definition, registry : OpDefinition, Registry
        What the operator is, and who serves it.
    resolve, run_rule : callable
        What finds the kernel of a new combination, and the shape rule that explains an error.  Both are written above
        the calls; `make_operator` passes them.
    """

    def __init__(
        self, definition: OpDefinition, registry: Registry, resolve: Resolve, run_rule: RunRule
    ) -> None:
        self._resolve, self._run_rule = resolve, run_rule
        self.definition, self.registry, self.name = definition, registry, definition.name
        self.module = f"tt.{definition.module}" if definition.module else "tt"
        self.arguments = definition.signature.arguments
        self.positions = {a.name: i for i, a in enumerate(self.arguments)}
        self.group = tuple(self.positions[name] for name in definition.promote)
        self.format_of = tuple(self.positions[name] for name in definition.format_of)
        self.dtype_at = self._position_of_type("dtype")
        self.device_at = self._position_of_type("device")
        self.layout_at = self._position_of_type("layout")
        self.tensor_at = next(
            (i for i, a in enumerate(self.arguments) if a.type.is_tensor and not a.type.list), -1
        )
        self.is_factory = definition.kind == "factory"
        self.defaults = tuple(map(_default, self.arguments))
        self.mutates = tuple(i for i, a in enumerate(self.arguments) if a.alias and a.alias.write)
        self.returned = tuple(map(self._returned, definition.signature.returns))
        self.returns_targets = any(position >= 0 for position in self.returned)
        self.dispatch_rules: dict[type, Callable[..., Any]] = {}
        self.removed = False
        self.indexed = self.is_factory
        self.writes_out = definition.has_out and (not self.is_factory or self.tensor_at >= 0)
        self.writes_out = self.writes_out and len(definition.signature.returns) == 1
        self._overloads: dict[str, OpOverload] = {}
        self._plans: dict[str, SignaturePlan] = {}
        self._return_type: Callable[..., Any] | None = None
        self.steps, self.others, self.dtype_shift, self.target_shift = self._make_steps()
        self.leading = self._leading()

    def __repr__(self) -> str:
        return f"<operator {self.definition.signature}>"

    def _returned(self, result: Return) -> int:
        """Return the position of the argument that is returned as a result, or -1 for a new value."""
        if result.alias is None or not result.alias.write:
            return -1
        # A result `Tensor(a!)` is the argument in the same alias set.
        same = [i for i in self.mutates if (a := self.arguments[i].alias) and a.sets == result.alias.sets]
        return same[0] if same else -1

    def _position_of_type(self, base: str) -> int:
        return next((i for i, a in enumerate(self.arguments) if a.type.base == base and not a.type.list), -1)

    def _make_steps(self) -> tuple[tuple[tuple[int, int, int], ...], tuple[tuple[int, int], ...], int, int]:
        """Return how arguments make keys and bits, and the positions in the bits of dtypes outside the group."""
        steps, others, shift = [], [], GROUP_BITS
        for position, argument in enumerate(self.arguments):
            type_, grouped = argument.type, position in self.group
            if type_.is_tensor and type_.list:
                steps.append((position, c.GROUP_LIST if grouped else c.OTHER_LIST, 0))
            elif type_.is_tensor and grouped:
                steps.append((position, c.GROUP_TENSOR, 0))
            elif type_.is_tensor:
                # Each tensor outside of the group has a position of its own: which one has which dtype matters.
                steps.append((position, c.OTHER_TENSOR, shift))
                others.append((position, shift))
                shift += POSITION_BITS
            elif type_.base == "Scalar" and grouped:
                steps.append((position, c.SCALAR_IN_GROUP, 0))
        listed = self._deciding_list()
        if listed >= 0:
            at = next(i for i, step in enumerate(steps) if step[0] == listed)
            steps[at] = (listed, c.OTHER_LIST, shift)
            others = sorted([*others, (listed, shift)])
            shift += POSITION_BITS
        dtype_shift = shift
        if self.dtype_at >= 0:
            steps.append((self.dtype_at, c.DTYPE, dtype_shift))
            shift += POSITION_BITS
        # A composite of tensors passes its device to an operator that moves them.
        if self.device_at >= 0 and (self.definition.kind != "composite" or self.tensor_at < 0):
            steps.append((self.device_at, c.DEVICE, 0))
        if self.layout_at >= 0:
            steps.append((self.layout_at, c.LAYOUT, 0))
        return tuple(steps), tuple(others), dtype_shift, shift

    def _leading(self) -> int:
        """Return how many tensors a short call has that keep their dtypes: 1, 2, or 0 for other operators."""
        plain = [a.type.is_tensor and not a.type.list and not a.type.optional for a in self.arguments]
        count = 2 if len(plain) > 1 and plain[0] and plain[1] else int(bool(plain) and plain[0])
        positions = tuple(position for position, _ in self.others[:count])
        rest = self.defaults[count:]
        short = not self.group and positions == tuple(range(count)) and all(d is not MISSING for d in rest)
        return count if short else 0

    def _deciding_list(self) -> int:
        """Return the position of a list of tensors whose first one decides the dtype of a call, or -1.

        That is the first list, where nothing promotes and no tensor that is always there stands before it.
        """
        if self.group or self.definition.kind == "composite":
            return -1
        for position, argument in enumerate(self.arguments):
            if argument.type.is_tensor and argument.type.list:
                return position
            if argument.type.is_tensor and not argument.type.optional:
                return -1
        return -1

    # --- forms and overloads -------------------------------------------------------------------------------------

    def overload(self, form: str = "functional") -> OpOverload:
        """Return the overload object of a form: functional, inplace or out.

        Raises
        ------
        UnknownOpError
            When the operator does not have the form.
        """
        overload = self._overloads.get(form)
        if overload is None:
            # Threads may make it at the same time; `setdefault` keeps one, as the cached calls hang on it.
            overload = self._overloads.setdefault(form, self._make_overload(form))
        return overload

    def _make_overload(self, form: str) -> OpOverload:
        definition = self.definition
        if form == "inplace" and not definition.has_inplace:
            raise UnknownOpError(definition.inplace_name, self.registry.names())
        if form == "out" and not definition.has_out:
            raise UnknownOpError(f"{self.name} with out=", self.registry.names())
        name = definition.signature.name
        if definition.signature.namespace != "tt":
            name = f"{definition.signature.namespace}::{name}"
        if form == "inplace":
            name += "_"
        return DescribedOverload(self, form, self.plan(form), name)

    def adopt(self, kind: type[OpOverload]) -> OpOverload:
        """Make the overload object of the functional form as an instance of another class, and return it."""
        plain = self._make_overload("functional")
        overload = self._overloads["functional"] = kind(self, "functional", plain.plan, plain.name)
        return overload

    def signature(self, form: str = "functional") -> Signature:
        """Return the signature of a form."""
        signature = self.definition.signature
        if form == "inplace":
            return signature.inplace()
        return signature.out() if form == "out" else signature

    @property
    def out_count(self) -> int:
        """The number of tensors that `out=` takes."""
        return len(self.definition.signature.returns)

    def plan(self, form: str) -> SignaturePlan:
        """Return the signature of a form, prepared for its overloads."""
        # The in-place form has the arguments of the functional one.
        kind = "out" if form == "out" else "functional"
        plan = self._plans.get(kind)
        if plan is None:
            plan = self._plans.setdefault(kind, make_plan(self, kind))
        return plan

    @property
    def out_shifts(self) -> tuple[int, ...]:
        """Positions in the bits of the dtypes of the tensors of `out=`."""
        return tuple(self.target_shift + i * POSITION_BITS for i in range(self.out_count))

    def binder(self, overload: OpOverload) -> Binder:
        """Return (and keep) the function that binds a user's arguments for an overload."""
        bind = make_binder(
            self.definition.signature,
            self.defaults,
            overload.name,
            lambda: str(self.signature(overload.form)),
            "variadic" in self.definition.tags,
        )
        overload.binder = bind
        return bind

    def call_with_options(self, overload: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call with `out=`, `requires_grad=` or `pin_memory=`, which are not in the schema."""
        kwargs = dict(kwargs)
        has_out = self.definition.has_out or self.definition.signature.name in FILL_LISTS
        has_out &= overload.form != "inplace"  # which writes into its own tensor
        out = kwargs.pop("out", None) if has_out else None
        options = {name: kwargs.pop(name, False) for name in FACTORY_OPTIONS} if self.is_factory else {}
        binder = overload.binder or self.binder(overload)
        arguments = dict(kwargs)
        if out is not None:
            arguments["out"] = out
        arguments |= {name: value for name, value in options.items() if value}
        refused = None
        try:
            bound = binder(args, kwargs)
        except ArgumentError as error:
            refused = error
        # Outside of `except`, as in `OpOverload.general`.
        if refused is not None:
            return call_refused(overload, refused, args, arguments)
        result = intercept(overload, args, arguments, out)
        if result is not NOT_HANDLED:
            return result
        if out is not None:
            return with_options(call_with_out(self, bound, out), options, filled=True)
        return with_options(overload.dispatch(bound), options)

    # --- used by cached calls ----------------------------------------------------------------------------------

    @property
    def return_type(self) -> Callable[..., Any]:
        """The named tuple of the results (a plain tuple where they have no names)."""
        if self._return_type is None:
            names = [r.name for r in self.definition.signature.returns]
            if all(names) and len(names) > 1:
                make = return_type(self.definition.signature.name, tuple(str(n) for n in names))
                self._return_type = make._make
            else:
                self._return_type = tuple
        return self._return_type

    def place(self, keys: int, args: tuple[Any, ...]) -> int:
        """Return the keys of a call whose device or layout is (also) given by arguments."""
        device = args[self.device_at] if self.device_at >= 0 else None
        layout = args[self.layout_at] if self.layout_at >= 0 else None
        if keys == 0:
            if device is None:
                device = get_default_device()
            keys_of = self.registry.places
            layout_keys = keys_of.get((device, layout))
            if layout_keys is None:
                layout_keys = self.registry.backend(device.type, (layout or strided).name).keys
                keys_of[device, layout] = layout_keys
            return layout_keys
        devices = KEYS.mask("device")
        layouts = KEYS.mask("layout")
        if device is not None:
            bit = KEYS.bit("device", device.type)
            # `zeros_like(x, device=...)` runs on the device of its result; others need both, since their data moves.
            keys = (keys & ~devices) | bit if self.is_factory else keys | bit
        if layout is not None:
            keys = (keys & ~layouts) | layout.bit if self.is_factory else keys | layout.bit
        return keys

    def spec_at(self, spec: TensorSpec, args: tuple[Any, ...]) -> TensorSpec:
        """Return the spec for the device (with index) in the arguments."""
        device = args[self.device_at] if self.device_at >= 0 else None
        if device is None:
            device = args[self.tensor_at].device if self.tensor_at >= 0 else get_default_device()
        if device is spec.device or device.type != spec.device.type:
            return spec
        return spec.backend.spec(spec.dtype, device)

    def write_back(self, cached: CachedCall, target: TensorBase, handle: Any, args: tuple[Any, ...]) -> None:
        """Write a functional result into the target of an in-place call."""
        backend = target._spec.backend
        if type(handle) is not backend.handle_type:
            try:
                handle = backend.normalise(handle)
            except Exception as error:
                method_escaped(cached, error, args)
        if tuple(handle.shape) != tuple(target._handle.shape):
            raise InplaceError(
                f"{self.definition.inplace_name}(): the result has shape {list(handle.shape)}, which the "
                f"target of shape {list(target._handle.shape)} cannot hold"
            )
        try:
            backend.copy_into(target._handle, handle)
        except Exception as error:
            method_escaped(cached, error, args)

    # --- resolving ---------------------------------------------------------------------------------------------

    def resolve(self, form: str, keys: int, bits: int, args: tuple[Any, ...]) -> CachedCall:
        """Return a new cached call for a combination; see `tt.core.dispatch.resolve.resolve`."""
        # Someone may still hold the overload of an operator that has been taken back.
        if self.removed:
            raise UnknownOpError(self.name, self.registry.names())
        return self._resolve(self, form, keys, bits, args)

    def run_rule(self, args: Sequence[Any]) -> Any:
        """Return the metadata of a call's results, or raise PyTorch's error; see `tt.core.meta.run_rule`."""
        return self._run_rule(self.definition, args)

    def short_bits(self, cached: CachedCall) -> tuple[int, ...]:
        """Return the level-2 bits that calls of one or two tensors look up first.

        Note [Short bits]
        -----------------
        Such calls OR the promotion bits of the tensors.  If the arguments do not promote, the result does not show
        which of them has which dtype, unless all have the same.
        """
        if cached.form != "functional" or not self.leading:
            return ()
        shifts = [shift for _, shift in self.others[: self.leading]]
        bits = cached.bits
        code = position_at(bits, shifts[0]) - 1
        if code < 0 or bits != sum((code + 1) << shift for shift in shifts):
            return ()
        dim, zero_dim = DIM_BITS[code], ZERO_DIM_BITS[code]
        return dim, zero_dim, dim | zero_dim

    def resolve_rest(self, cached: CachedCall) -> CachedCall:
        """Return the cached call for calls that no kernel of `cached` accepts."""
        # Without arguments, as it serves all calls that the kernels of `cached` decline.
        if cached.rest is None:
            cached.rest = self._resolve(self, cached.form, cached.keys, cached.bits, (), without_kernels=True)
        return cached.rest

    def invalidate(self) -> None:
        """Drop the cached calls of all forms."""
        for overload in self._overloads.values():
            overload.invalidate()

    # --- documentation -----------------------------------------------------------------------------------------

    def documentation(self, overload: OpOverload) -> str:
        """Return the docstring of an overload."""
        definition = self.definition
        lines = [str(self.signature(overload.form)), ""]
        if overload.form == "inplace":
            lines += [f"In-place form of `{definition.signature.name}`."]
        lines += [definition.doc]
        described = self._parameters_described()
        if described:
            lines += ["", "Parameters", "----------", *described]
        if definition.example and overload.form == "functional":
            lines += ["", "Examples", "--------", ">>> import tt", definition.example.strip()]
        return "\n".join(lines)

    def _parameters_described(self) -> list[str]:
        """Return the parameters with their meanings, as docstrings list them; none if one is not known."""
        from tt.core.schema.operator_texts import (
            meaning,  # start-up: it brings the YAML parser, for those who ask
        )

        lines = []
        for argument in self.arguments:
            about = meaning(self.definition, argument)
            if not about:  # of a plugin's operator: a list with gaps would look complete
                return []
            words, _, default = str(argument).partition("=")
            type_ = words.rpartition(" ")[0]
            lines += [
                f"{argument.name} : {type_}" + (f", default {default}" if default else ""),
                f"    {about}",
            ]
        return lines

    def python_signature(self, overload: OpOverload) -> inspect.Signature:
        """Return the Python signature of an overload, for help() and editors."""
        parameters = []
        # Functions of networks are no methods, and both names are taken.
        of_networks = self.definition.module == "nn.functional"
        for argument in self.arguments:
            name = "input" if of_networks and argument.name == "self" else argument.name
            kind = (
                inspect.Parameter.KEYWORD_ONLY
                if argument.keyword_only
                else inspect.Parameter.POSITIONAL_OR_KEYWORD
            )
            default = inspect.Parameter.empty if argument.default is MISSING else argument.default
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=str(argument.type)))
        if overload.form == "functional" and self.definition.has_out:
            parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
        return inspect.Signature(parameters)
