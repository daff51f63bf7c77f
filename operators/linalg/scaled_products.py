"""The product of matrices of eight bits an element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, ShapeError
from tt.core.types.dtype import STORED, bfloat16, float8_e4m3fn, float8_e5m2, float16, float32
from tt.core.types.dtype import dtype as Dtype
from tt.operators.helpers import as_type

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

_RESULTS: Final = (float32, float16, bfloat16, *STORED)


@composite("_scaled_mm")
def scaled_mm(
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None,
    scale_result: Tensor | None,
    out_dtype: Dtype | None,
    use_fast_accum: bool,
) -> Any:
    dtype = self.dtype if out_dtype is None else out_dtype
    _check(self, mat2, bias, dtype)
    rows, columns = self.shape[0], mat2.shape[1]
    scales = _scales(scale_a, scale_b, rows, columns)
    # Sums are exact enough in float32, whatever use_fast_accum permits.
    result = ops.mul(ops.mul(ops.mm(as_type(self, float32), as_type(mat2, float32)), scales[0]), scales[1])
    if bias is not None:
        result = ops.add(result, as_type(bias, float32))
    if scale_result is not None and dtype in STORED:
        result = ops.mul(result, as_type(scale_result, float32))
    return as_type(result, dtype)


def _check(self: Tensor, mat2: Tensor, bias: Tensor | None, dtype: Dtype) -> None:
    """Raise unless the matrices can be multiplied."""
    for name, matrix in (("self", self), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise DimensionCountError(
                f"_scaled_mm(): {name} must be a matrix, and it has {matrix.ndim} dimensions"
            )
        if matrix.dtype not in (float8_e4m3fn, float8_e5m2):
            raise DtypeError(
                f"_scaled_mm(): {name} must be of float8_e4m3fn or float8_e5m2, not {matrix.dtype.name}\n"
                f"  try: {name}.to(tt.float8_e4m3fn)"
            )
    if self.shape[1] != mat2.shape[0]:
        raise ShapeError(
            f"_scaled_mm(): matrices of the shapes {list(self.shape)} and {list(mat2.shape)} cannot be multiplied"
        )
    if dtype not in _RESULTS:
        raise DtypeError(
            f"_scaled_mm(): out_dtype must be float32, float16, bfloat16 or a float8 dtype, not {dtype.name}"
        )
    if bias is not None and tuple(bias.shape) != (mat2.shape[1],):
        raise ShapeError(
            f"_scaled_mm(): the bias must have one number for each of {mat2.shape[1]} columns, and its shape is "
            f"{list(bias.shape)}"
        )


def _scales(scale_a: Any, scale_b: Any, rows: int, columns: int) -> tuple[Any, Any]:
    """Return the scales in shapes that broadcast with the product."""
    if scale_a.numel() == 1 and scale_b.numel() == 1:
        return ops.reshape(as_type(scale_a, float32), ()), ops.reshape(as_type(scale_b, float32), ())
    if tuple(scale_a.shape) != (rows, 1) or tuple(scale_b.shape) != (1, columns):
        raise ShapeError(
            f"_scaled_mm(): the scales must be single numbers, or have the shapes {[rows, 1]} and {[1, columns]}; "
            f"they have {list(scale_a.shape)} and {list(scale_b.shape)}"
        )
    return as_type(scale_a, float32), as_type(scale_b, float32)
