"""Elementary functions of one argument."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import Kit

__all__ = ["add_kernels"]


def add_kernels(kit: Kit) -> None:
    """Add the kernels of this family."""
    xp = kit.xp
    kit.functions({
        "log2": "log2", "log10": "log10", "tan": "tan", "sinh": "sinh", "cosh": "cosh",
        "asin": "asin", "acos": "acos", "atan": "atan", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
    }, dtypes="floating_complex", takes=("self",))  # fmt: skip
    kit.functions({"signbit": "signbit"}, dtypes="floating", takes=("self",))
    kit.kernel("exp2", lambda self: xp.pow(kit.operand(2, self), self), dtypes="floating_complex")
    kit.kernel("frac", lambda self: self - xp.trunc(self), dtypes="floating")

    @kit.kernel("sinc", dtypes="floating_complex")
    def sinc(self: Any) -> Any:
        turns = xp.where(self == 0, xp.ones_like(self), self * kit.operand(3.141592653589793, self))
        return xp.where(self == 0, xp.ones_like(self), xp.sin(turns) / turns)
