"""Cached calls: the resolved path of one operator for one combination of keys and dtypes.

`resolve` makes a cached call once, slowly; every later call with the same combination runs it: it chooses between
kernel, composite and layer, converts the arguments of kernels and wraps their results.  This is a hot module: plain
Python that Cython compiles with the C types of `cached_call.pxd`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.codes import ABSENT
from tt.core.dispatch.call.kernel_errors import (
    cast_failed,
    failed,
    method_escaped,
    method_failed,
    name_caller,
)
from tt.core.dispatch.call.memory_formats import in_format_of
from tt.core.dispatch.call.mutation import give_own, hand_back, refuse_written, with_targets, write_new
from tt.core.dispatch.call.results import verify, wrap_mixed
from tt.core.dispatch.intercept.drawing import call_drawing
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED
from tt.core.dispatch.mutate.overlap import note_overlap, refuse_shared
from tt.core.tensor.base import TensorBase, wrap_handle
from tt.core.tensor.storage import Storage, memory_of
from tt.core.tensor.tensor import Tensor, alias
from tt.core.types.device import HOME
from tt.core.types.promotion import join_bits, split_bits
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.resolve.resolution import Resolution
    from tt.core.tensor.backend import Backend
    from tt.core.tensor.base import TensorSpec


class BoundKernel:
    """A kernel together with the arguments that it takes.

    Attributes
    ----------
    function : callable
        Gets the arguments positionally.
    takes : tuple of int
        Their positions in the schema.
    omitted : tuple of (int, object)
        Positions that it does not take, with their defaults: it serves calls that leave these unchanged.
    leading : int
        How many arguments it takes, if these are exactly the leading positions; else -1.
    registration : object
        What brought it.
    """

    __slots__ = ("function", "leading", "omitted", "registration", "takes")

    function: Callable[..., Any]
    takes: tuple[int, ...]
    omitted: tuple[tuple[int, Any], ...]
    registration: Any
    leading: int

    def __init__(
        self,
        function: Callable[..., Any],
        takes: tuple[int, ...],
        omitted: tuple[tuple[int, Any], ...],
        registration: Any,
    ) -> None:
        self.function = function
        self.takes = takes
        self.omitted = omitted
        self.registration = registration
        self.leading = len(takes) if takes == tuple(range(len(takes))) else -1

    def accepts(self, args: tuple[Any, ...]) -> bool:
        """Return whether a call with these arguments leaves all omitted ones at their defaults."""
        for position, default in self.omitted:
            value = args[position]
            # `is` first: comparing tensors or arrays with == would not give a bool.
            # A bool is not the number that it equals: `alpha=True`.
            if value is not default and (
                isinstance(value, TensorBase) or value != default or type(value) is bool
            ):
                return False
        return True


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


class CachedCall:
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
    operator, form : Operator, str
        The called operator and its form: "functional", "inplace" or "out".
        Form "out" is an OUT, or a REROUTE that runs the functional form and writes the result.
    direct : bool
        A call with defaults is one call of `plain` on bare handles, with nothing to cast, check or share.
    verified : bool
        Whether the results of the first run were those of the schema.
    plain : callable
        The kernel that takes the leading tensor arguments only.
    choices : tuple of BoundKernel
        The candidate kernels, the narrowest first.
    compute_code : int
        Code of the dtype that the promotion group is cast to; -1 if all have it already.
    compute_native : object
        `compute_code` as the backend's own dtype.
    group : tuple of int
        The positions of the promotion group.
    result : int
        ONE, SEVERAL, LIST, RAW or MIXED.
    spec, specs : TensorSpec, tuple of TensorSpec
        The specs of the first result and of all results.
    result_bits : int
        The promotion bit of the results where they are known to be handles with dimensions, else 0.
    downcast : object
        The backend's dtype to which float32 results of half precision calls are cast back, or None.
    shares : int
        Position of the argument whose memory the results share, or -1; -2: the first argument's, although the result
        is not a view of it.
    backend, handle_type : Backend, type
        Whose kernels run, and the type of its handles.
    dtype_at, native : int, object
        Position of `dtype=` among the arguments, or -1; the backend's own dtype, which kernels get instead.
    device_at, like_at : int
        For a factory: positions of the device and of the tensor that it is like, or -1; else -2.
    format_of : tuple of int or None
        The positions of the arguments whose memory format the results have; see Note [Memory formats].
    resolution : Resolution
        The reasons; `explain` prints it.
    writes_target : int
        How the form is made from that of the kernel: RETURNS, CHANGES_FIRST, WRITES_OUTPUT or CHANGES_METADATA.
    operands : tuple of int
        For OUT: the positions of the tensors.
    function : callable
        The function of a COMPOSITE, REROUTE or PYTHON call; of an OUT call, the one that copies the result where the
        kernel cannot write it.
    """

    __slots__ = (
        "__weakref__", "backend", "below", "choices", "clear", "compute_code", "compute_native", "device_at",
        "direct", "downcast", "draws", "dtype_at", "epoch", "form", "format_of", "function", "functional",
        "group", "handle_type", "keys", "kind", "like_at", "limit", "native", "operands", "operator", "plain",
        "positions", "promotion", "resolution", "rest", "result", "result_bits", "rule", "shares", "spec",
        "specs", "verified", "writes_target",
    )  # fmt: skip

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
    operator: Operator
    form: str
    dtype_at: int
    native: Any
    device_at: int
    like_at: int
    direct: bool
    verified: bool
    plain: Callable[..., Any]
    choices: tuple[BoundKernel, ...]
    compute_code: int
    compute_native: Any
    group: tuple[int, ...]
    result: int
    spec: TensorSpec
    specs: tuple[TensorSpec | None, ...]
    result_bits: int
    downcast: Any
    shares: int
    backend: Backend
    handle_type: type
    format_of: tuple[int, ...] | None
    resolution: Resolution
    writes_target: int
    operands: tuple[int, ...]
    function: Callable[..., Any]

    def __init__(
        self, operator: Operator | None, form: str, keys: int, bits: int, epoch: int, kind: int
    ) -> None:
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
        self.operator = ABSENT if operator is None else operator
        self.form = form
        self.dtype_at = -1 if operator is None else operator.dtype_at
        self.native = None
        self.device_at = -2
        self.like_at = -2
        if operator is not None and operator.indexed:
            self.device_at = operator.device_at
            self.like_at = operator.tensor_at
        self.direct = False
        self.verified = False
        self.plain = ABSENT
        self.choices = ()
        self.compute_code = -1
        self.compute_native = None
        self.group = ()
        self.result = codes.ONE
        self.spec = ABSENT
        self.specs = ()
        self.result_bits = 0
        self.downcast = None
        self.shares = codes.UNSHARED
        self.backend = ABSENT
        self.handle_type = ABSENT
        self.format_of = None
        self.resolution = ABSENT
        self.writes_target = codes.RETURNS
        self.operands = ()
        self.function = ABSENT

    @property
    def bits(self) -> int:
        """The level-2 bits as one integer."""
        return join_bits(self.promotion, self.positions)

    def with_bits(self, bits: int) -> CachedCall:
        """Return a copy for other level-2 bits."""
        # `verified` and `direct` stay off: the first run with the other bits is checked like any first run.
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

    # --- the call ---
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
        # One comparison in place of three: the kinds from MUTATE on get the tensors as they are.
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

    # --- the arguments of a kernel ---
    def choose(self, args: tuple[Any, ...]) -> BoundKernel | None:
        """Return the narrowest kernel that accepts the call, or None."""
        for choice in self.choices:
            if choice.accepts(args):
                return choice
        return None

    def handles(self, choice: BoundKernel, args: tuple[Any, ...]) -> list[Any]:
        """Return the kernel's arguments: handles instead of tensors, cast where the group needs it."""
        prepared = []
        for position in choice.takes:
            prepared.append(self.prepare(args[position], position))
        return prepared

    def prepare(self, value: Any, position: int) -> Any:
        """Return one argument in the kernel's form."""
        if isinstance(value, TensorBase):
            tensor = value
            handle = tensor._handle
            code = self.compute_code
            # The dtype comes first, since mostly it is right; `in` walks a tuple.
            if code >= 0 and tensor._spec.code != code and position in self.group:
                handle = self.cast(handle, position)
            return handle
        if type(value) is list:
            return self.handle_list(value, position)
        # The dtype is part of the bits of a call, so all calls of one cached call have the same native dtype.
        if position == self.dtype_at:
            if self.native is None:
                self.native = self.backend.native_dtype(self.spec.dtype)
            return self.native
        return value

    def handle_list(self, values: list[Any], position: int) -> list[Any]:
        """Return the handles of a list of tensors; None and numbers stay."""
        code = self.compute_code
        prepared = []
        for value in values:
            if isinstance(value, TensorBase):
                tensor = value
                handle = tensor._handle
                if code >= 0 and tensor._spec.code != code and position in self.group:
                    handle = self.cast(handle, position)
                prepared.append(handle)
            else:
                prepared.append(value)
        return prepared

    def cast(self, handle: Any, position: int) -> Any:
        """Return the handle of an argument of the promotion group in the common dtype of the group."""
        try:
            return self.backend.cast(handle, self.compute_native)
        except Exception as error:
            cast_failed(self, error, handle, position)

    # --- the call of a kernel ---
    def run_kernel(self, choice: BoundKernel, args: tuple[Any, ...]) -> Any:
        """Run a kernel and wrap its results."""
        handles = self.call_kernel(choice, args)
        if not self.verified:
            verify(self, choice, handles)
        result = self.wrap_one(handles, 0, args) if self.result == codes.ONE else self.wrap_all(handles, args)
        return result if self.format_of is None else in_format_of(result, self.format_of, args)

    def call_kernel(self, choice: BoundKernel, args: tuple[Any, ...]) -> Any:
        """Call the kernel and return its result."""
        takes = choice.takes
        count = len(takes)
        if count > 4:
            prepared = self.handles(choice, args)
            try:
                return choice.function(*prepared)
            except Exception as error:
                return failed(self, choice, error, args, prepared)
        # Unrolled, because packing the arguments of short calls would cost more than many kernels.
        second: Any = None
        third: Any = None
        fourth: Any = None
        position = takes[0] if count > 0 else 0
        first = self.prepare(args[position], position) if count > 0 else None
        if count > 1:
            position = takes[1]
            second = self.prepare(args[position], position)
        if count > 2:
            position = takes[2]
            third = self.prepare(args[position], position)
        if count > 3:
            position = takes[3]
            fourth = self.prepare(args[position], position)
        try:
            if count == 1:
                return choice.function(first)
            if count == 2:
                return choice.function(first, second)
            if count == 3:
                return choice.function(first, second, third)
            if count == 4:
                return choice.function(first, second, third, fourth)
            return choice.function()
        except Exception as error:
            return failed(self, choice, error, args, [first, second, third, fourth][:count])

    def direct_failed(self, error: Exception, args: tuple[Any, ...]) -> Any:
        """Handle an error of the direct kernel, called with bare handles; see `failed`."""
        choice = self.choices[0]
        return failed(self, choice, error, args, self.handles(choice, args))

    # --- the results of a kernel ---
    def wrap_direct(self, handle: Any) -> Tensor:
        """Return the tensor of the one result of a direct kernel."""
        spec = self.spec
        bits = self.result_bits
        # Unknown: the handle may be a NumPy scalar, or have no dimensions.
        if bits == 0:
            if type(handle) is not self.handle_type:
                handle = self.as_handle(handle, None, None)
            bits = spec.dim_bit if handle.ndim else spec.zero_dim_bit
        return wrap_handle(Tensor, handle, spec, spec.keys, bits)

    def wrap_one(self, handle: Any, index: int, args: tuple[Any, ...]) -> Any:
        """Return the tensor of one result."""
        spec = self.specs[index]
        if spec is None:
            return handle
        if self.downcast is not None:
            handle = self.as_handle(handle, spec, args)
        elif type(handle) is not self.handle_type:
            handle = self.as_handle(handle, None, args)
        if self.device_at != -2:
            spec = self.spec_at(spec, args)
        bits = spec.dim_bit if handle.ndim else spec.zero_dim_bit
        new = wrap_handle(Tensor, handle, spec, spec.keys, bits)
        if self.shares >= 0:
            # A root is no view itself, so that one step leads from any view to the tensor that was there first.
            source = args[self.shares]
            new._storage = source._storage if source._storage is not None else source._ensure_storage()
            new._root = source if source._root is None else source._root
        elif self.shares == codes.FIRST_MEMORY:
            source = args[0]
            storage = source._ensure_storage()
            if source._root is not None and type(storage) is Storage:
                storage.may_overlap = True  # the result is not a view, but may have the strides of one
            new._storage = storage
        return new

    def wrap_all(self, handles: Any, args: tuple[Any, ...]) -> Any:
        """Return the tensors of all results."""
        result = self.result
        if result == codes.ONE:
            return self.wrap_one(handles, 0, args)
        if result == codes.SEVERAL:
            several = []
            for index, handle in enumerate(handles):
                several.append(self.wrap_one(handle, index, args))
            return self.operator.return_type(several)
        if result == codes.LIST:
            several = []
            for handle in handles:
                several.append(self.wrap_one(handle, 0, args))
            return tuple(several)
        if result == codes.MIXED:
            return wrap_mixed(self, handles, args)
        return handles

    def as_handle(self, value: Any, spec: TensorSpec | None, args: tuple[Any, ...] | None) -> Any:
        """Return a kernel's result as a handle, in the dtype of a spec where one is given."""
        try:
            if type(value) is not self.handle_type:
                value = self.backend.normalise(value)
            return value if spec is None else self.backend.cast(value, spec.backend.native_dtype(spec.dtype))
        except Exception as error:
            if args is None:
                method_failed(error, self.backend, "normalise", self.operator.name, value)
            method_escaped(self, error, args)

    def spec_at(self, spec: TensorSpec, args: tuple[Any, ...]) -> TensorSpec:
        """Return the spec for the device of a factory's result."""
        if self.like_at >= 0:
            source = args[self.like_at]
            if isinstance(source, TensorBase):
                tensor = source
                if tensor._spec.device is spec.device and (
                    self.device_at < 0 or args[self.device_at] is None
                ):
                    return spec
        elif (
            STATE.placed == 0 and spec.device is HOME and (self.device_at < 0 or args[self.device_at] is None)
        ):
            return spec
        return self.operator.spec_at(spec, args)

    # --- calls that change tensors ---
    def run_inplace(self, choice: BoundKernel, args: tuple[Any, ...]) -> Any:
        """Change the first argument and return it."""
        target = args[0]
        how = self.writes_target
        if target._storage is not None and how != codes.CHANGES_METADATA:
            # Mostly one comparison: tensors that were never viewed or changed have no storage.
            storage = target._storage
            shared = target._root is not None
            owner = None
            if type(storage) is Storage:
                memory = storage
                owner = memory.owner
                if memory.may_overlap:
                    shared = True
            else:
                shared = True
            # An operand in the target's memory may be overwritten before it is read; `refuse_shared` looks closer.
            for value in args:
                if isinstance(value, TensorBase):
                    other = value
                    if other is not target and other._storage is not None and not shared:
                        # Of `x.data` and x, which have two storages, the owner is one.
                        if type(other._storage) is Storage:
                            memory = other._storage
                            shared = memory.owner is owner
                        else:
                            shared = memory_of(other._storage) is owner
            if shared:
                refuse_shared(self, target, args)
        if how == codes.CHANGES_FIRST:
            self.call_kernel(choice, args)
        elif how == codes.WRITES_OUTPUT:
            prepared = self.handles(choice, args)
            prepared.append(target._handle)
            try:
                if len(prepared) == 3:
                    choice.function(prepared[0], prepared[1], prepared[2])
                else:
                    choice.function(*prepared)
            except Exception as error:
                failed(self, choice, error, args, prepared)
        else:
            handle = self.call_kernel(choice, args)
            if not self.verified:
                verify(self, choice, handle)
            if how == codes.CHANGES_METADATA:
                storage = target._storage
                if storage is None or self.backend.storage_owner(handle) is storage.owner:
                    target._set_data(handle, target._spec)
                else:  # resize_ needs more memory than there is
                    from tt.core.tensor.sharing import move_storage  # which few programs need

                    move_storage(storage, target, handle)
                note_overlap(target)
            else:
                self.operator.write_back(self, target, handle, args)
        target._bump_version()
        return target

    def run_out(self, args: tuple[Any, ...]) -> Any:
        """Let the kernel write its result into the last argument, if nothing else is to be done."""
        choice = self.choose(args)
        count = len(args) - 1
        target = args[count]
        shape = target._handle.shape
        filled = False
        plain = choice is not None and target._root is None
        storage = target._storage
        owner = None
        if type(storage) is Storage:
            memory = storage
            owner = memory.owner
            if memory.may_overlap:
                plain = False
        elif storage is not None:
            plain = False  # perhaps read-only
        for position in range(count):
            value = args[position]
            if isinstance(value, TensorBase):
                tensor = value
                own_shape = tensor._handle.shape
                if own_shape == shape:
                    filled = True
                elif own_shape != ():  # an operand with dimensions may broadcast beyond the output
                    plain = False
                # Backends without views do not write outputs themselves: there is an owner.
                if tensor is not target and tensor._storage is not None and storage is not None and plain:
                    if type(tensor._storage) is Storage:
                        memory = tensor._storage
                        plain = memory.owner is not owner
                    else:
                        plain = memory_of(tensor._storage) is not owner
        # With an operand of the output's shape, and none beyond it, the output
        # needs no resize; else the copying form does.
        if not filled or not plain or choice is None:
            return self.function(self, args)
        prepared = self.handles(choice, args)
        prepared.append(target._handle)
        try:
            if len(prepared) == 3:  # unrolled, as in `call_kernel`
                choice.function(prepared[0], prepared[1], prepared[2])
            else:
                choice.function(*prepared)
        except Exception as error:
            failed(self, choice, error, args, prepared)
        target._bump_version()
        return target

    def run_mutating(self, choice: BoundKernel, args: tuple[Any, ...]) -> Any:
        """Run the kernel of an operator that changes arguments, and note what changed."""
        targets = []
        shared = False
        for position in self.operator.mutates:
            value = args[position]
            if isinstance(value, TensorBase):
                targets.append(value)
            elif value is not None:
                for item in value:
                    if item is not None:
                        targets.append(item)
        if len(targets) == 1 and targets[0]._root is None:
            # Mostly one comparison: few tensors share memory.
            storage = targets[0]._storage
            if storage is not None and (type(storage) is not Storage or storage.may_overlap):
                shared = True  # perhaps read-only
            for value in args:
                if isinstance(value, TensorBase):
                    if value._storage is not None and value is not targets[0]:
                        shared = True
                elif type(value) is list:
                    shared = True
        else:
            shared = True
        if shared and not self.all_apart(args):
            refuse_written(self, targets, args)
        # Before the handles are taken: the kernel must get the arrays that were cloned.
        if self.backend.functionalised:
            give_own(self, targets, args)
        prepared = self.handles(choice, args)
        try:
            handles = choice.function(*prepared)
        except Exception as error:
            handles = failed(self, choice, error, args, prepared)
        if self.writes_target == codes.RETURNS:  # the new values, and then the results
            handles = write_new(self, targets, handles, args)
        for target in targets:
            target._bump_version()
        if self.operator.returns_targets:
            return with_targets(self, choice, args, handles)
        if not self.verified:
            verify(self, choice, handles)
        return self.wrap_all(handles, args)

    def all_apart(self, args: tuple[Any, ...]) -> bool:
        """Return whether the tensors certainly share no memory; looks at each one only once, as lists may be long."""
        seen = set()
        viewed = set()
        spans = []
        count = 0
        for value in args:
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, TensorBase):
                    tensor = item
                    storage = tensor._storage
                    if storage is None:
                        seen.add(id(tensor))
                        count += 1
                    elif type(storage) is not Storage or storage.may_overlap:
                        return False
                    elif tensor._root is None:
                        seen.add(id(storage.owner))
                        count += 1
                    elif tensor._root._keys & ~tensor._keys:
                        return False  # a layer holds the root, and may refuse the change
                    else:  # parameters are often parts of one tensor
                        backend, handle = storage.backend, tensor._handle
                        size = math.prod(handle.shape) * tensor._spec.dtype.itemsize
                        if size == 0 or not backend.is_row_major(handle):
                            return False
                        begin = backend.data_ptr(handle)
                        spans.append((begin, begin + size))
                        viewed.add(id(storage.owner))
        # A memory that occurs twice, or both whole and in part, is left to the exact test of the caller.
        if len(seen) != count or not seen.isdisjoint(viewed):
            return False
        spans.sort()
        return all(one[1] <= other[0] for one, other in pairwise(spans))


EMPTY: Final = CachedCall(None, "functional", -1, 0, -2, codes.REROUTE)
"""Matches no call; every overload starts with it."""
