"""autocast: a block in which operators choose their precision, and the decorators for functions with a gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, overload

import tt
from tt.amp.autocast_state import is_autocast_enabled, is_available, require_autocast
from tt.core.library import STATE, Block
from tt.errors import ArgumentError, UnsupportedError
from tt.library import warn_user
from tt.plugins.amp.state import AUTOCAST, autocast_dtypes

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_Before = tuple[tuple[dict[str, Any], bool], dict[str, tt.dtype], bool, int]


class autocast(Block):  # noqa: N801 - PyTorch's name
    """A block, or a decorator, in which operators choose the precision in which they compute.

    Products and convolutions compute in `dtype`, operators that need range or precision in float32, all others in the
    dtype of their arguments; `tt ops show NAME` prints the policy of an operator.  The forward pass and the loss belong
    into the block, the backward pass outside of it: it computes in the dtypes of the forward pass, and gradients come
    back in the dtype of the parameters.  With float16, `tt.amp.GradScaler` keeps small gradients from vanishing.  The
    setting is that of a thread.

    Parameters
    ----------
    device_type : str
        The devices whose tensors are cast: "cpu", "cuda", or that of another backend.
    dtype : dtype, optional
        The precision: by default what `tt.get_autocast_dtype` returns, bfloat16 for the CPU and float16 for CUDA.
    enabled : bool
        False: operators in the block compute in the dtype of their arguments.
    cache_enabled : bool, optional
        Whether casts of parameters are kept until the outermost block ends.

    Raises
    ------
    ValueError
        If `device_type` is no string.
    TypeError
        If `dtype` is no dtype.
    RuntimeError
        If there is no such device, or if it has no autocast.

    Warns
    -----
    UserWarning
        If the device does not compute in `dtype`, or if there is no CUDA: the block is then disabled.

    Examples
    --------
    >>> import tt
    >>> x, w = tt.ones(2, 3), tt.ones(3, 2, requires_grad=True)
    >>> with tt.autocast("cpu"):
    ...     y = x @ w
    >>> y.dtype
    tt.bfloat16
    >>> y.sum().backward()
    >>> w.grad.dtype
    tt.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: tt.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        require_autocast(device_type)
        if dtype is not None and not isinstance(dtype, tt.dtype):
            raise ArgumentError("autocast", f"argument 'dtype' must be dtype, not {type(dtype).__name__}")
        self.device = device_type
        self.fast_dtype = AUTOCAST.dtype_of(device_type) if dtype is None else dtype
        self.cache_enabled = AUTOCAST.here.caches if cache_enabled is None else cache_enabled
        self.enabled = enabled and _may_enable(device_type, self.fast_dtype)

    def _look(self) -> _Before:
        here = AUTOCAST.here
        return STATE.ambient_here(), here.dtypes, here.caches, here.nesting

    def _begin(self) -> autocast:
        here = AUTOCAST.here
        # A new dict, because `_look` has kept the old one to be restored.
        here.dtypes = {**here.dtypes, self.device: self.fast_dtype}
        here.caches = self.cache_enabled
        here.nesting += 1
        AUTOCAST.switch(self.device, self.enabled)
        return self

    def _end(self, before: _Before) -> None:
        here = AUTOCAST.here
        ambient, here.dtypes, here.caches, here.nesting = before
        # Parameters may change after the outermost block, and their casts with them.
        if here.nesting == 0:
            here.casts = {}
        AUTOCAST.restore(self.device, ambient)

    def __call__(self, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        """Make a function that runs in the block."""
        if not callable(function):
            raise TypeError(
                f"autocast()(func) takes a function, not {type(function).__name__}\n"
                "  try: with tt.autocast(device_type): ..."
            )

        @functools.wraps(function)
        def in_block(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            with self:
                return function(*args, **kwargs)

        return in_block


def _may_enable(device_type: str, dtype: tt.dtype) -> bool:
    """Return whether a device computes in a dtype; warn and return False where PyTorch does."""
    if device_type == "cuda" and not tt.cuda.is_available():
        warn_user("CUDA is not available, so autocast is disabled")
        return False
    dtypes = autocast_dtypes(device_type)
    if device_type == "cuda" and dtype is tt.bfloat16 and not tt.cuda.is_bf16_supported():
        raise UnsupportedError("this CUDA device does not compute in bfloat16\n  try: dtype=tt.float16")
    if dtype in dtypes:
        return True
    names = ", ".join(map(str, dtypes))
    warn_user(
        f"in {device_type} autocast, but the target dtype {dtype} is not supported: disabling autocast; "
        f"it supports {names}"
    )
    return False


def is_autocast_available(device_type: str) -> bool:
    """Return whether autocast can be enabled for devices of a type.

    Examples
    --------
    >>> import tt
    >>> tt.amp.is_autocast_available("cpu"), tt.amp.is_autocast_available("meta")
    (True, False)
    """
    tt.device(device_type)
    return is_available(device_type)


# --- functions with a gradient of their own ----------------------------------------------------------------------


@overload
def custom_fwd(
    fwd: None = None, *, device_type: str, cast_inputs: tt.dtype | None = None
) -> Callable[[Callable[..., Result]], Callable[..., Result]]: ...
@overload
def custom_fwd(
    fwd: Callable[..., Result], *, device_type: str, cast_inputs: tt.dtype | None = None
) -> Callable[..., Result]: ...
def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: tt.dtype | None = None
) -> Any:
    """Decorate the `forward` of a `tt.autograd.Function`, so that `custom_bwd` runs in the same state of autocast.

    Parameters
    ----------
    fwd : callable, optional
        The function; without it, a decorator is returned.
    device_type : str
        The devices whose autocast is meant.
    cast_inputs : dtype, optional
        In a block of autocast, the floating tensors among the arguments are cast to it, and the function runs with
        autocast off.  Without it, the function runs in the caller's state.

    Examples
    --------
    >>> import tt
    >>> class Scale(tt.autograd.Function):
    ...     @staticmethod
    ...     @tt.amp.custom_fwd(device_type="cpu", cast_inputs=tt.float32)
    ...     def forward(ctx, x):
    ...         return 3 * x
    ...     @staticmethod
    ...     @tt.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, gradient):
    ...         return 3 * gradient
    >>> with tt.autocast("cpu"):
    ...     Scale.apply(tt.ones(2, dtype=tt.bfloat16)).dtype
    tt.float32
    """
    _require_text(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._dtype = AUTOCAST.dtype_of(device_type)
        on = is_autocast_enabled(device_type)
        context._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        # The inputs have the dtype already, and operators within must not choose another.
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


@overload
def custom_bwd(
    bwd: None = None, *, device_type: str
) -> Callable[[Callable[..., Result]], Callable[..., Result]]: ...
@overload
def custom_bwd(bwd: Callable[..., Result], *, device_type: str) -> Callable[..., Result]: ...
def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate the `backward` of a `tt.autograd.Function`, so that it runs in the state of autocast of its forward.

    Parameters
    ----------
    bwd : callable, optional
        The function; without it, a decorator is returned.
    device_type : str
        The devices whose autocast is meant, as in `custom_fwd`.

    Raises
    ------
    UnsupportedError
        When the forward was not decorated with `custom_fwd`.

    Examples
    --------
    >>> import tt
    >>> @tt.amp.custom_bwd(device_type="cuda")
    ... def backward(ctx, gradient):
    ...     return gradient
    """
    _require_text(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        if not hasattr(context, "_fwd_used_autocast"):
            raise UnsupportedError(
                "custom_bwd: the forward of this function is not decorated\n"
                f"  try: @tt.amp.custom_fwd(device_type={device_type!r})"
            )
        with autocast(device_type, enabled=context._fwd_used_autocast, dtype=context._dtype):
            return bwd(*args, **kwargs)

    return decorated


def _require_text(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def _cast(value: Any, device_type: str, dtype: tt.dtype) -> Any:
    """Return a value with the floating tensors in it, those of float64 excepted, in another dtype."""
    if isinstance(value, tt.Tensor):
        taken = (
            value.is_floating_point() and value.dtype is not tt.float64 and value.device.type == device_type
        )
        return value.to(dtype) if taken else value
    if isinstance(value, Mapping):
        return {
            _cast(key, device_type, dtype): _cast(each, device_type, dtype) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        values = [_cast(each, device_type, dtype) for each in value]
        return values if isinstance(value, list) else tuple(values)
    return value
