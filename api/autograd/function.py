"""Operations with a custom gradient: `Function` and what belongs to it."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.plugins.autograd.custom.function": "Function FunctionCtx InplaceFunction once_differentiable",
    },
    layer="autograd",
)
