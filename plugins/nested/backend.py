"""The backend of the layout jagged: its tensors consist of one strided array and offsets on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from tt.core.library import (
    ComposedBackend,
    Device,
    Operator,
    errors,
    handle_of,
    ops,
    wrap,
)
from tt.plugins.nested.handle import JaggedHandle
from tt.plugins.nested.raggedness import Raggedness

__all__ = ["ALLOWED", "JaggedBackend"]

ALLOWED: Final = frozenset({
    "adjoint", "alias_copy", "angle", "bernoulli", "bfloat16", "bool", "byte", "cdouble", "cfloat", "char",
    "chunk", "detach", "detach_copy", "dist", "div.optional_mode", "double", "elu.inplace", "celu.inplace",
    "expand_as", "float", "float_power", "float_power.Scalar", "half", "hardsigmoid.inplace", "hardswish.inplace",
    "hardtanh.inplace", "int", "isclose", "leaky_relu.inplace", "long", "mH", "mT", "max.other", "min.other",
    "mish.inplace", "movedim", "movedim.int", "mvlgamma", "narrow", "polygamma.method", "positive", "relu.inplace",
    "relu6", "reshape_as", "resolve_conj", "resolve_neg", "select_copy", "selu.inplace", "short", "silu.inplace",
    "slice_copy", "softmin", "softsign", "special_xlog1py.Scalar", "special_zeta.self_scalar", "split_copy",
    "split_copy.sizes", "split_with_sizes", "std.unbiased", "std.unbiased_dim", "std_mean.unbiased",
    "std_mean.unbiased_dim", "tanhshrink", "threshold.inplace", "to.device", "to.dtype", "to.other", "transpose_copy",
    "unbind_copy", "unsqueeze_copy", "var.unbiased", "var.unbiased_dim", "var_mean.unbiased", "var_mean.unbiased_dim",
    "view_as", "xlogy.Scalar", "zero",
})  # fmt: skip
"""Operators whose composites compute with no size of a dimension, so that they are right for ragged ones."""


class JaggedBackend(ComposedBackend):
    """The jagged tensors of one device.

    Parameters
    ----------
    device_type : str
        For instance "cpu".

    Examples
    --------
    >>> from tt.plugins.nested.backend import JaggedBackend
    >>> JaggedBackend("cpu").handle_type.__name__
    'JaggedHandle'
    """

    layout = "jagged"
    handle_type = JaggedHandle
    hints: Mapping[str, str] = {
        "*": "{self}.to_padded_tensor(0.0), or a loop over {self}.unbind()",
        **dict.fromkeys(
            ("empty", "full", "ones", "rand", "randint", "randn", "zeros"),
            "tt.nested.nested_tensor_from_jagged(values, offsets), or zeros_like() of a jagged tensor",
        ),
    }

    def takes_composite(self, op: str) -> bool:
        """Return whether the composite of an operator computes with no ragged size."""
        return op in ALLOWED

    def generic_kernel(self, operator: Operator) -> Callable[..., Any] | None:
        """Return the kernel of another package's operator that treats each element alone: it runs on the values."""
        from tt.plugins.nested.pointwise import (
            function_of_others,
        )  # with the kernels, which the manifest does not load

        function = function_of_others(operator.name)
        if function is None:
            return None

        def kernel(args: Sequence[Any], results: Sequence[Any]) -> Any:
            result = function(*map(self._tensor_of, args))
            return tuple(map(handle_of, result)) if isinstance(result, tuple | list) else handle_of(result)

        return kernel

    def _tensor_of(self, value: Any) -> Any:
        """Return a handle as a tensor, and any other argument as it is."""
        if isinstance(value, JaggedHandle):
            return wrap(
                value, self.spec(self.dtype_of_array(value.values), self.arrays.device_of(value.values))
            )
        if isinstance(value, self.arrays.handle_type):
            return wrap(value, self.arrays.spec(self.dtype_of_array(value), self.arrays.device_of(value)))
        return value

    # --- handles -------------------------------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Any:
        """Refuse: a size says nothing of the lengths of rows."""
        raise errors.LayoutError(
            f"a size, {list(shape)}, does not say how long each row of a jagged tensor is\n"
            "  try: tt.nested.nested_tensor_from_jagged(values, offsets), or zeros_like() of a jagged tensor"
        )

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> Any:
        """Return an array as rows of equal lengths.

        Raises
        ------
        LayoutError
            For an array with less than two dimensions, or without rows.
        """
        if array.ndim < 2 or not array.shape[0]:
            raise errors.LayoutError(
                f"a jagged tensor has rows of at least one dimension, which an array of shape {list(array.shape)} "
                "does not"
            )
        rows, length = array.shape[:2]
        flat = np.ascontiguousarray(array).reshape(rows * length, *array.shape[2:])
        offsets = np.arange(rows + 1) * length
        return JaggedHandle(self.arrays.from_numpy(flat, device), Raggedness(offsets.tolist()))

    def to_numpy(self, handle: Any) -> np.ndarray[Any, Any]:
        """Return the rows as one array, if they have one length.

        Raises
        ------
        LayoutError
            When they do not.
        """
        if not isinstance(handle, JaggedHandle):
            return self.arrays.to_numpy(handle)
        rows = handle.raggedness
        if rows.shortest != rows.longest:
            raise errors.LayoutError(
                f"rows of different lengths, {handle.shape[handle.ragged_dim]}, do not form an array\n"
                "  try: x.to_padded_tensor(0.0)"
            )
        return self._padded(handle)

    def _padded(self, handle: Any) -> np.ndarray[Any, Any]:
        values, rows, dim = self.arrays.to_numpy(handle.values), handle.raggedness, handle.ragged_dim
        front = np.moveaxis(values, dim - 1, 0)
        whole = np.zeros((rows.batch, rows.longest, *front.shape[1:]), values.dtype)
        whole[rows.rows, rows.positions] = front[rows.places]
        return np.moveaxis(whole, 1, dim)

    def to_strided(self, handle: Any) -> Any:
        """Return the rows as one array, with zeros behind those that are shorter than the longest."""
        return self.arrays.from_numpy(self._padded(handle))

    def copy_into(self, target: Any, source: Any) -> None:
        """Write the elements of another handle with rows of the same lengths."""
        ops.copy_(self._tensor_of(target), self._tensor_of(source))

    def clone(self, handle: Any) -> Any:
        """Return a copy of the values with the same rows."""
        if not isinstance(handle, JaggedHandle):
            return self.arrays.clone(handle)
        return handle.with_values(self.arrays.clone(handle.values))

    def numel(self, handle: Any) -> int:
        """Return the number of elements of all rows together."""
        sizes = list(handle.values.shape)
        sizes[handle.ragged_dim - 1] = handle.raggedness.total
        return prod(sizes)

    # --- components ----------------------------------------------------------------------------------------------

    def parts(self, handle: Any) -> Mapping[str, Any]:
        """Return the values."""
        return {"values": handle.values}

    def facts(self, handle: Any) -> Mapping[str, Any]:
        """Return where the rows lie."""
        rows = handle.raggedness
        return {
            "offsets": rows.offsets.tolist(),
            "lengths": None if rows.lengths is None else rows.lengths.tolist(),
            "ragged_dim": handle.ragged_dim,
        }

    def assemble(self, parts: Mapping[str, Any], shape: Sequence[int], facts: Mapping[str, Any]) -> Any:
        """Return the handle with these values and rows."""
        rows = Raggedness(facts["offsets"], facts["lengths"])
        values, dim = parts["values"], int(facts["ragged_dim"])
        if not 0 < dim <= len(values.shape):
            raise errors.ValueRangeError(f"a jagged tensor of these values has no dimension {dim}")
        rows.check("a jagged tensor", int(values.shape[dim - 1]))
        return JaggedHandle(values, rows, dim)

    def filled(self, handle: Any) -> Any:
        """Return the same tensor: every element is stored."""
        return handle

    def values(self, tensor: Any) -> Any:
        """Return the values of all rows."""
        return ops.nested.values(tensor)

    def view_step(self, target: Any, root: Any) -> tuple[Any, ...] | None:
        """Return the view that leads from all values to a jagged tensor, or from that to its values."""
        ragged, strided = (target, root) if target.layout.name == "jagged" else (root, target)
        own, other = handle_of(ragged), handle_of(strided)
        arrays = self.arrays
        dims = [
            (tuple(array.shape), arrays.strides(array), arrays.data_ptr(array))
            for array in (own.values, other)
        ]
        if not isinstance(own, JaggedHandle) or strided.layout.name != "strided" or dims[0] != dims[1]:
            return None
        if target is strided:
            return ("nested::values",)
        facts = self.facts(own)
        return "nested::jagged_view", facts["offsets"], facts["lengths"], facts["ragged_dim"]

    def summary(self, handle: Any) -> Sequence[str]:
        """Return where the rows lie in words."""
        rows = handle.raggedness
        shown = [f"offsets={_short(rows.offsets)}"]
        return shown if rows.lengths is None else [*shown, f"lengths={_short(rows.lengths)}"]

    # --- memory --------------------------------------------------------------------------------------------------

    def strides(self, handle: Any) -> tuple[int, ...]:
        """Refuse: rows of different lengths are not at regular distances."""
        raise errors.LayoutError(
            "a tensor of the layout tt.jagged has no strides\n  try: x.values().stride()"
        )

    def is_contiguous(self, handle: Any) -> bool:
        """Return whether the values are in row-major order, and nothing lies between the rows."""
        return handle.raggedness.contiguous and self.arrays.is_row_major(handle.values)

    def data_ptr(self, handle: Any) -> int:
        """Return the address of the values."""
        return self.arrays.data_ptr(handle.values if isinstance(handle, JaggedHandle) else handle)


def _short(numbers: np.ndarray[Any, Any]) -> str:
    if len(numbers) <= 10:
        return str(numbers.tolist())
    first, last = numbers[:3].tolist(), numbers[-3:].tolist()
    return f"[{', '.join(map(str, first))}, ..., {', '.join(map(str, last))}]"
