"""The backend of the layout quantized: its tensors consist of one strided tensor of integers and a quantizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tt.core.library import (
    ComposedBackend,
    as_tensor,
    dtype,
    errors,
    from_numpy_dtype,
    handle_of,
    to_dtype,
    wrap,
)
from tt.plugins.quantized.handle import QuantizedHandle
from tt.plugins.quantized.quantizer import PerChannel, PerTensor, Quantizer
from tt.plugins.quantized.rounding import real

__all__ = ["QuantizedBackend"]

_MAKING: Final = "tt.quantize_per_tensor(x, scale, zero_point, dtype)"


class QuantizedBackend(ComposedBackend):
    """The quantized tensors of one device.

    Parameters
    ----------
    device_type : str
        For instance "cpu".

    Examples
    --------
    >>> from tt.plugins.quantized.backend import QuantizedBackend
    >>> QuantizedBackend("cpu").handle_type.__name__
    'QuantizedHandle'
    """

    layout = "quantized"
    handle_type = QuantizedHandle
    strided_memory = True
    hints: Mapping[str, str] = {
        "*": "{self}.dequantize()",
        **dict.fromkeys(("empty", "full", "ones", "rand", "randint", "randn", "zeros"), _MAKING),
    }

    def takes_composite(self, op: str) -> bool:
        """Return whether an operator treats each of its tensors alone; the tables name all others that are served."""
        return op == "dequantize.tensors"

    # --- handles -------------------------------------------------------------------------------------------------

    def native_dtype(self, dtype: dtype) -> Any:
        """Return the dtype itself: the one of the integers does not tell quantized ones from others."""
        return dtype

    def dtype_of(self, handle: Any) -> Any:
        """Return the dtype of a handle."""
        return handle.dtype if self.is_composed(handle) else self.dtype_of_array(handle)

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Any:
        """Refuse: a size says nothing of the scale."""
        raise errors.LayoutError(f"a size does not say what the integers stand for\n  try: {_MAKING}")

    def to_strided(self, handle: Any) -> Any:
        """Return the numbers that the integers stand for, in float32."""
        return handle_of(real(handle.ints, handle.quantizer))

    def clone(self, handle: Any) -> Any:
        """Return a copy of the integers with the same quantizer."""
        if not isinstance(handle, QuantizedHandle):
            return self.arrays.clone(handle)
        return handle.with_ints(handle.ints.clone())

    # --- components ----------------------------------------------------------------------------------------------

    def parts(self, handle: Any) -> Mapping[str, Any]:
        """Return the integers."""
        return {"int_repr": handle_of(handle.ints)} if isinstance(handle, QuantizedHandle) else {}

    def facts(self, handle: Any) -> Mapping[str, Any]:
        """Return the dtype and the quantizer."""
        quantizer = handle.quantizer
        if isinstance(quantizer, PerTensor):
            return {"dtype": handle.dtype.name, "scale": quantizer.scale, "zero_point": quantizer.zero_point}
        return {
            "dtype": handle.dtype.name,
            "scales": quantizer.scales.tolist(),
            "zero_points": quantizer.zero_points.tolist(),
            "axis": quantizer.axis,
            "fractional": quantizer.fractional,
        }

    def assemble(self, parts: Mapping[str, Any], shape: Sequence[int], facts: Mapping[str, Any]) -> Any:
        """Return the handle with these integers and quantizer."""
        array = parts["int_repr"]
        kind = self.dtype_of_array(array)
        own = to_dtype(facts["dtype"])
        if own.kind != "quantized" or kind is not from_numpy_dtype(own.numpy):
            raise errors.DtypeError(f"integers of {kind} do not make a quantized tensor of {own}")
        ints = wrap(array, self.arrays.spec(kind, self.arrays.device_of(array)))
        quantizer: Quantizer
        if "scale" in facts:
            quantizer = PerTensor(float(facts["scale"]), int(facts["zero_point"]))
        else:
            real_, whole = (np.float32, np.float32) if facts["fractional"] else (np.float64, np.int64)
            scales, points = np.array(facts["scales"], real_), np.array(facts["zero_points"], whole)
            quantizer = PerChannel(scales, points, int(facts["axis"]))
            sizes = tuple(ints.shape)
            if not 0 <= quantizer.axis < len(sizes) or {len(scales), len(points)} != {sizes[quantizer.axis]}:
                raise errors.ShapeError(
                    "a quantized tensor has one scale and one zero point for each channel"
                )
        return QuantizedHandle(ints, own, quantizer)

    def shown(self, handle: Any) -> np.ndarray[Any, Any]:
        """Return the numbers that the integers stand for."""
        return self.to_numpy(handle)

    def summary(self, handle: Any) -> Sequence[str]:
        """Return the scheme with its parameters in words."""
        quantizer = handle.quantizer
        head = f"quantization_scheme={quantizer.scheme}"
        if isinstance(quantizer, PerTensor):
            return [head, f"scale={quantizer.scale}", f"zero_point={quantizer.zero_point}"]
        scales, points = as_tensor(quantizer.scales), as_tensor(quantizer.zero_points)
        return [head, f"scale={scales}", f"zero_point={points}", f"axis={quantizer.axis}"]

    # --- memory --------------------------------------------------------------------------------------------------

    def strides(self, handle: Any) -> tuple[int, ...]:
        """Return the strides of the integers."""
        return self.arrays.strides(handle_of(handle.ints))

    def offset(self, handle: Any) -> int:
        """Return the position of the first integer in the storage."""
        return self.arrays.offset(handle_of(handle.ints))

    def is_contiguous(self, handle: Any) -> bool:
        """Return whether the integers are in row-major order."""
        return self.arrays.is_row_major(handle_of(handle.ints))

    def data_ptr(self, handle: Any) -> int:
        """Return the address of the first integer."""
        return self.arrays.data_ptr(handle_of(handle.ints) if isinstance(handle, QuantizedHandle) else handle)

    def storage_owner(self, handle: Any) -> Any:
        """Return the owner of the memory of the integers."""
        return self.arrays.storage_owner(handle_of(handle.ints))
