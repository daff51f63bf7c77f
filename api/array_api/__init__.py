"""tt.array_api: the Python array API standard, version 2024.12, over tt's operators.

The arrays are tt's tensors; names, arguments and promotion are the standard's.  `Tensor.__array_namespace__` returns
this module.

Examples
--------
>>> import tt
>>> xp = tt.ones(2).__array_namespace__()
>>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
tensor([4, 6])
"""

from __future__ import annotations

from math import e, inf, nan, pi

from tt import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    newaxis,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tt.array_api import creation, fft, indexing, linalg, pointwise, reduction, shaping
from tt.array_api.creation import *  # noqa: F403
from tt.array_api.dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from tt.array_api.indexing import *  # noqa: F403
from tt.array_api.info import __array_namespace_info__
from tt.array_api.linalg import matmul, tensordot, vecdot
from tt.array_api.pointwise import *  # noqa: F403
from tt.array_api.reduction import *  # noqa: F403
from tt.array_api.shaping import *  # noqa: F403

__array_api_version__ = "2024.12"

__all__ = [  # noqa: PLE0604, RUF100 - strings, all of them
    "__array_api_version__",
    "__array_namespace_info__",
    "astype",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "e",
    "fft",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "linalg",
    "matmul",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "tensordot",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vecdot",
    *creation.__all__,
    *indexing.__all__,
    *pointwise.__all__,
    *reduction.__all__,
    *shaping.__all__,
]
