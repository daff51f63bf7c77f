"""Moving a module to another device, dtype or memory format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, cast

import tt
from tt.library import warn_user
from tt.nn.modules.traversal import Traversal
from tt.nn.parameter import Parameter

__all__ = ["Conversion"]


def _takes_data(old: Any, new: Any) -> bool:
    """Return whether a parameter or gradient stays the object that it is and gets the new data.

    Meta tensors have no data to exchange with others, and a tensor does not change its layout.
    """
    return (
        not _overwrites()
        and old.layout == new.layout
        and (old.device.type == "meta") == (new.device.type == "meta")
    )


def _overwrites() -> bool:
    from tt import __future__ as future

    return future.get_overwrite_module_params_on_conversion()


def _swaps() -> bool:
    from tt import __future__ as future

    return future.get_swap_module_params_on_conversion()


def _target(
    args: tuple[Any, ...], device: Any, dtype: Any, non_blocking: Any, memory_format: Any
) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of the forms that `Module.to` takes."""
    rest = list(args)
    if rest and isinstance(rest[0], tt.Tensor):
        other = rest.pop(0)
        device, dtype = other.device, other.dtype
    elif rest and isinstance(rest[0], tt.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], tt.dtype)):
            dtype = rest.pop(0)
        elif rest:
            non_blocking = None  # the second is a dtype
    if rest and non_blocking is not None:
        non_blocking = rest.pop(0)
    if rest or not isinstance(non_blocking, int):
        raise TypeError(
            f"Module.to() received an invalid combination of arguments: {args!r}\n"
            "  to(device=None, dtype=None, non_blocking=False), to(dtype, non_blocking=False), "
            "to(tensor, non_blocking=False), to(memory_format=...)"
        )
    if device is not None and not isinstance(device, tt.device):
        device = tt.device(device)
    return device, dtype, bool(non_blocking), memory_format


class Conversion(Traversal):
    """Functions applied to all parameters and buffers."""

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace each parameter, its gradient and each buffer by the result of a function for it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            grad: Any = param.grad
            with tt.no_grad():
                new = fn(param)
                new_grad: Any = None if grad is None else fn(grad)
            of_another_class = type(new) is not type(param)
            if _swaps() or (of_another_class and type(new).__tt_dispatch__ is not tt.Tensor.__tt_dispatch__):
                _swap(param, new, new_grad)  # data alone do not make a parameter of another class
                continue
            if _takes_data(param, new):
                param.data = new
            elif hasattr(type(param), "of_rows"):  # divided among ranks, whose groups know the object
                _swap(param, cast(Any, param).of_rows(new), new_grad)
                continue
            else:
                param = self._parameters[name] = Parameter(new, param.requires_grad)
            if grad is None:
                continue
            if _takes_data(grad, new_grad):
                grad.data = new_grad
            else:
                grad = new_grad.requires_grad_(grad.requires_grad)
            if param.grad is not grad:
                param.grad = None  # of another dtype or device than the parameter has now
                param.grad = grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def cuda(self, device: Any = None) -> Self:
        """Move parameters and buffers to a CUDA device: the current one, or that of a number or name."""
        target = tt.device("cuda", device) if isinstance(device, int) else tt.device(device or "cuda")
        return self._apply(lambda t: t.to(target))

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda t: t.to("cpu"))

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, those of integers too, to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def _floating(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Convert floating-point parameters and buffers to float32."""
        return self._floating(tt.float32)

    def double(self) -> Self:
        """Convert floating-point parameters and buffers to float64."""
        return self._floating(tt.float64)

    def half(self) -> Self:
        """Convert floating-point parameters and buffers to float16."""
        return self._floating(tt.float16)

    def bfloat16(self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._floating(tt.bfloat16)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values, which are undefined afterwards.

        Parameters
        ----------
        device : device, str or int
            The device.
        recurse : bool
            Whether submodules are moved, too.
        """
        return self._apply(lambda t: tt.empty_like(t, device=device), recurse=recurse)

    def to(
        self,
        *args: Any,
        device: Any = None,
        dtype: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
        copy: bool = False,
    ) -> Self:
        """Move or convert the module, in place.

        `to(device, dtype)`, `to(dtype)`, `to(tensor)` and `to(memory_format=...)`.  A dtype is that of floating-point
        and complex parameters and buffers; integers only move.

        Parameters
        ----------
        *args : device, dtype, Tensor
            Where to; a tensor stands for its device and dtype.
        device : device, str or int, optional
            The device.
        dtype : dtype, optional
            A floating-point or complex dtype.
        non_blocking : bool
            Whether copies from pinned memory may run while the program continues.
        memory_format : memory_format, optional
            The memory format of tensors with four or five dimensions.
        copy : bool
            Refused: a module is changed in place.

        Raises
        ------
        TypeError
            If the dtype is one of integers.
        ValueRangeError
            With `copy`.

        Examples
        --------
        >>> import tt
        >>> tt.nn.Linear(1, 1).to(tt.float64).weight.dtype
        tt.float64
        """
        if copy:
            raise tt.errors.ValueRangeError(
                "Module.to() does not accept copy: try copy.deepcopy(module).to(...)"
            )
        device, dtype, non_blocking, memory_format = _target(args, device, dtype, non_blocking, memory_format)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn_user(
                "Module.to(): some modules do not compute with complex parameters as they are meant to\n"
                "  try: to check outputs, then type(dtype), which does not say this"
            )
        dims = {tt.channels_last: (4,), tt.channels_last_3d: (5,)}.get(memory_format, (4, 5))

        def convert(t: Any) -> Any:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            options = {} if memory_format is None or t.dim() not in dims else {"memory_format": memory_format}
            return t.to(
                t.device if device is None else device,
                t.dtype if wanted is None else wanted,
                non_blocking=non_blocking,
                **options,
            )

        return self._apply(convert)

    def share_memory(self) -> Self:
        """Move parameters, their gradients and buffers to memory that processes share."""
        return self._apply(lambda t: t.share_memory_())


def _swap(param: Any, new: Any, grad: Any) -> None:
    """Exchange a parameter's content with that of a new one; references to it see the new values."""
    from tt.utils import swap_tensors

    if not isinstance(new, Parameter):
        new = Parameter(new, param.requires_grad)
    param.grad = None
    swap_tensors(param, new)
    if grad is not None:
        param.grad = grad
