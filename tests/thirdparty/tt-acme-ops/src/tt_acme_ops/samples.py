"""The calls on which the checks of tt try the operators in ops.yaml."""

from tt.testing import Sample


def moving_average(make):
    """Windows of several sizes, in several layouts, and a size that is refused."""
    for size in (1, 2, 5):
        yield Sample((make.tensor(5), size), name=f"a vector, size {size}")
    for layout in ("contiguous", "transposed", "strided", "offset"):
        yield Sample((make.tensor(3, 4, layout=layout), 2), name=layout)
    yield Sample((make.tensor(0, 4), 3), name="no rows")
    yield Sample((make.tensor(3), 4), name="too large", error=ValueError)
