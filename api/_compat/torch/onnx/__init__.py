"""torch.onnx: nothing is exported; kinds of files and numbers can be named."""

from __future__ import annotations

import enum

__all__ = [
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "is_in_onnx_export",
    "is_onnxrt_backend_supported",
]

producer_name = "pytorch"


class TensorProtoDataType(enum.IntEnum):
    """Dtypes by ONNX's numbers."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


class OperatorExportTypes(enum.IntEnum):
    """Which operators an exported file may have."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export() -> bool:
    """Return False: nothing is exported."""
    return False


def is_onnxrt_backend_supported() -> bool:
    """Return False: there is no compiler."""
    return False
