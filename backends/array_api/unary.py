"""Elementary functions of one argument."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    xp = builder.xp
    builder.functions({
        "log2": "log2", "log10": "log10", "tan": "tan", "sinh": "sinh", "cosh": "cosh",
        "asin": "asin", "acos": "acos", "atan": "atan", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
    }, dtypes="floating_complex", takes=("self",))  # fmt: skip
    builder.functions({"signbit": "signbit"}, dtypes="floating", takes=("self",))
    builder.kernel("exp2", lambda self: xp.pow(builder.operand(2, self), self), dtypes="floating_complex")
    builder.kernel("frac", lambda self: self - xp.trunc(self), dtypes="floating")

    @builder.kernel("sinc", dtypes="floating_complex")
    def sinc(self: Any) -> Any:
        turns = xp.where(self == 0, xp.ones_like(self), self * builder.operand(3.141592653589793, self))
        return xp.where(self == 0, xp.ones_like(self), xp.sin(turns) / turns)
