"""Shape rules: the results of the operators in ops.yaml, and which calls are refused."""

from tt.library import Result, errors


def moving_average(x, size, op):
    """All but the last `size - 1` places of the last dimension."""
    if not x.ndim:
        raise errors.DimensionError(op, -1, 0)
    length = x.shape[-1]
    if not 1 <= size <= length:
        raise errors.ValueRangeError(
            f"{op}(): size must be from 1 to {length}, the last size of x, not {size}"
        )
    return Result((*x.shape[:-1], length - size + 1))
