"""tt.nn: modules, functions and parameters for neural networks."""

from tt.core.lazy import attach
from tt.nn.modules import __all__ as _modules

__all__ = attach(
    __name__,
    {
        ".modules": " ".join(_modules),
        ".parallel": "DataParallel",
        ".parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    },
    modules="attention functional grad init modules parallel parameter utils",
    whole=True,
)
