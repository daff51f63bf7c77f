"""Calls of kernels: how arguments are converted, and results wrapped.

This is a hot module: plain Python that Cython compiles with the C types of `kernel_call.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.argument_kinds import ABSENT
from tt.core.dispatch.call.kernel_errors import cast_failed, failed, method_escaped, method_failed
from tt.core.dispatch.call.memory_formats import in_format_of
from tt.core.dispatch.call.results import verify, wrap_mixed
from tt.core.tensor.base import TensorBase, wrap_handle
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor
from tt.core.types.device import HOME
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.bound_kernel import BoundKernel
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.resolve.resolution import Resolution
    from tt.core.tensor.backend import Backend
    from tt.core.tensor.base import TensorSpec


class KernelCall:
    """Passes arguments to the kernels of a cached call, and wraps their results.

    Attributes
    ----------
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
    """

    __slots__ = (
        "__weakref__", "backend", "choices", "compute_code", "compute_native", "device_at", "direct", "downcast",
        "dtype_at", "form", "format_of", "group", "handle_type", "like_at", "native", "operator", "plain", "resolution",
        "result", "result_bits", "shares", "spec", "specs", "verified",
    )  # fmt: skip

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

    def __init__(self, operator: Operator | None, form: str) -> None:
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

    # --- the arguments -----------------------------------------------------------------------------------------

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
            if code >= 0 and tensor._spec.code != code and position in self.group:
                handle = self.cast(handle, position)
            return handle
        if type(value) is list:
            return self.handle_list(value, position)
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

    # --- the call ----------------------------------------------------------------------------------------------

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

    # --- the results -------------------------------------------------------------------------------------------

    def wrap_direct(self, handle: Any) -> Tensor:
        """Return the tensor of the one result of a direct kernel."""
        spec = self.spec
        bits = self.result_bits
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

    def as_handle(self, found: Any, spec: TensorSpec | None, args: tuple[Any, ...] | None) -> Any:
        """Return a kernel's result as a handle, in the dtype of a spec where one is given."""
        try:
            if type(found) is not self.handle_type:
                found = self.backend.normalise(found)
            return found if spec is None else self.backend.cast(found, spec.backend.native_dtype(spec.dtype))
        except Exception as error:
            if args is None:
                method_failed(error, self.backend, "normalise", self.operator.name, found)
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
