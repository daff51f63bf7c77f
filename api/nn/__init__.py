"""tt.nn: modules, functions and parameters for neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt._names.late_names import late_names
from tt.nn.modules import __all__ as _modules

if TYPE_CHECKING:
    from tt.nn import attention, functional, grad, init, modules, parallel, parameter, utils
    from tt.nn.modules import *  # noqa: F403
    from tt.nn.parallel import DataParallel
    from tt.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            ".modules": " ".join(_modules),
            ".parallel": "DataParallel",
            ".parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
            **dict.fromkeys((".attention", ".functional", ".grad", ".init", ".utils"), ""),
        },
    )

__all__ = [  # noqa: PLE0604, RUF100 - strings, all of them
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
    *_modules,
]
