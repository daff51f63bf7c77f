"""Kernels that combine elements along dimensions."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder
from tt.core.library import degrees_of_freedom

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    _sums(builder)
    _extremes(builder)
    _moments(builder)


# --- sums, products, truth -------------------------------------------------------------------------------------


def _sums(builder: KernelBuilder) -> None:
    xp = builder.xp

    def total(self: Any, dim: Any, keepdim: bool) -> Any:
        return xp.sum(
            builder.as_number(self), axis=builder.axes(dim, self.ndim), keepdims=keepdim, dtype=self.dtype
        )

    def count(self: Any, dim: Any) -> int:
        return builder.product(self.shape[axis] for axis in builder.axes(dim, self.ndim)) if self.ndim else 1

    def mean(self: Any, dim: Any, keepdim: bool) -> Any:
        # A mean of nothing is 0 / 0 in the arithmetic of the dtype, not of Python.
        return total(self, dim, keepdim) / builder.number(count(self, dim), self.dtype)

    builder.kernel("sum", lambda self: total(self, None, False))
    builder.kernel("sum.dim", total)
    builder.kernel("mean", lambda self: mean(self, None, False), dtypes="floating_complex")
    builder.kernel("mean.dim", mean, dtypes="floating_complex")

    def product(self: Any, dim: Any, keepdim: bool) -> Any:
        result = xp.prod(self, axis=builder.axes(dim, self.ndim), keepdims=keepdim, dtype=self.dtype)
        return builder.reduced(result, self)

    def conjunction(self: Any, dim: Any, keepdim: bool) -> Any:
        return builder.reduced(xp.all(self, axis=builder.axes(dim, self.ndim), keepdims=keepdim), self)

    builder.kernel("prod", lambda self: xp.prod(self, dtype=self.dtype), dtypes="number")
    builder.kernel("prod.dim", product, dtypes="number")
    builder.kernel("prod", lambda self: xp.all(self), dtypes="bool")
    builder.kernel("prod.dim", conjunction, dtypes="bool")

    def truth(function: Any) -> Any:
        """Return all or any so that it stays in uint8, as PyTorch's do."""

        def kernel(self: Any, **how: Any) -> Any:
            result = builder.reduced(function(self, **how), self)
            if self.dtype == xp.uint8:
                return xp.astype(result, xp.uint8)
            # Where nothing is combined, some libraries return the argument.
            return xp.asarray(result, copy=True) if result.shape == self.shape else result

        return kernel

    for op in ("all", "any"):
        function = truth(getattr(xp, op))
        builder.kernel(op, lambda self, f=function: f(self), half="native", takes=("self",))
        builder.kernel(
            op + ".dim",
            # Over an empty list of dimensions these two, unlike sums, combine nothing.
            lambda self, dim, keepdim, f=function: f(
                self,
                axis=builder.axes(dim, self.ndim) if dim is None or isinstance(dim, int) or len(dim) else (),
                keepdims=keepdim,
            ),
            half="native",
            takes=("self", "dim", "keepdim"),
        )


# --- extremes --------------------------------------------------------------------------------------------------


def _extremes(builder: KernelBuilder) -> None:
    xp = builder.xp

    def expect_elements(self: Any, axes: tuple[int, ...]) -> None:
        """Raise, because an empty line has no largest element; the shape rule explains it."""
        if self.ndim and any(self.shape[axis] == 0 for axis in axes):
            raise ValueError("a dimension to reduce is empty")

    def extreme(function: Any) -> Any:
        def kernel(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
            axes = builder.axes(dim, self.ndim)
            expect_elements(self, axes)
            result = function(builder.as_number(self), axis=axes, keepdims=keepdim)
            return xp.astype(builder.reduced(result, self), self.dtype, copy=False)

        return kernel

    def position(function: Any) -> Any:
        def kernel(self: Any, dim: Any, keepdim: bool) -> Any:
            axes = builder.axes(dim, self.ndim)
            expect_elements(self, axes)
            if not self.ndim:
                return xp.zeros((), dtype=xp.int64)
            values, axis = builder.as_number(self), None if dim is None else axes[0]
            if builder.is_kind(values, "real floating"):
                # Where there are NaN, the first of them is the result.
                nan = xp.isnan(values)
                plain = function(xp.where(nan, xp.zeros_like(values), values), axis=axis, keepdims=keepdim)
                first = xp.argmax(xp.astype(nan, xp.uint8), axis=axis, keepdims=keepdim)
                return builder.int64(xp.where(xp.any(nan, axis=axis, keepdims=keepdim), first, plain))
            return builder.int64(function(values, axis=axis, keepdims=keepdim))

        return kernel

    for name, reduce_name in (("max", "amax"), ("min", "amin")):
        function, place = extreme(getattr(xp, name)), position(getattr(xp, "arg" + name))
        builder.kernel(reduce_name, function, dtypes="real")
        builder.kernel(name, lambda self, f=function: f(self), dtypes="real", takes=("self",))
        builder.kernel("arg" + name, place, dtypes="real_number")
        builder.kernel(
            name + ".dim",
            lambda self, dim, keepdim, f=function, p=place: (f(self, dim, keepdim), p(self, dim, keepdim)),
            dtypes="real",
            takes=("self", "dim", "keepdim"),
        )


# --- moments ---------------------------------------------------------------------------------------------------


def _moments(builder: KernelBuilder) -> None:
    xp = builder.xp

    def moments(op: str, self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
        """Return variance and mean in passes of their own, which loses no digits where the mean is large."""
        axes = builder.axes(dim, self.ndim)
        count = builder.product(self.shape[axis] for axis in axes) if self.ndim else 1
        mean = xp.sum(self, axis=axes, keepdims=True, dtype=self.dtype) / builder.number(count, self.dtype)
        complex_ = builder.is_kind(self, "complex floating")
        total = sum(
            squares(part, axes, count, keepdim)
            for part in ((xp.real(self), xp.imag(self)) if complex_ else (self,))
        )
        freedom = degrees_of_freedom(op, count, correction)
        return total / builder.number(freedom, total.dtype), xp.reshape(mean, tuple(total.shape))

    def squares(part: Any, axes: Any, count: int, keepdim: bool) -> Any:
        """Return the sum of squared deviations from the mean."""
        number = builder.number(count, part.dtype)
        # Twice, for what rounding leaves of the mean: equal elements deviate by nothing.
        for _ in range(2):
            part = part - xp.sum(part, axis=axes, keepdims=True, dtype=part.dtype) / number
        return xp.sum(part * part, axis=axes, keepdims=keepdim, dtype=part.dtype)

    options: Any = {"dtypes": "floating_complex"}

    @builder.kernel("var_mean", **options)
    def var_mean(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
        return moments("var_mean", self, dim, correction, keepdim)

    @builder.kernel("var", **options)
    def var(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        return moments("var", self, dim, correction, keepdim)[0]

    @builder.kernel("std_mean", **options)
    def std_mean(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
        variance, mean = moments("std_mean", self, dim, correction, keepdim)
        return xp.sqrt(variance), mean

    @builder.kernel("std", **options)
    def std(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        return xp.sqrt(moments("std", self, dim, correction, keepdim)[0])

    @builder.kernel("logsumexp", dtypes="floating")
    def logsumexp(self: Any, dim: Any, keepdim: bool) -> Any:
        axes = builder.axes(dim, self.ndim)
        if self.ndim and any(self.shape[axis] == 0 for axis in axes):
            return xp.log(xp.sum(xp.exp(self), axis=axes, keepdims=keepdim))
        largest = xp.max(self, axis=axes, keepdims=True)
        largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        result = xp.log(xp.sum(xp.exp(self - largest), axis=axes, keepdims=keepdim))
        return builder.reduced(result + xp.reshape(largest, tuple(result.shape)), self)
