"""Every exception that tt raises on purpose, and the text of its message.

Each class carries its facts as attributes, is a `TTError`, and is also the built-in exception that a caller of a
PyTorch program would catch (`RuntimeError`, `IndexError`, ...).  A message gives the request, the finding, the
nearest candidates and what to do.  The modules hold them by topic; all are imported from here.

Examples
--------
>>> from tt.library import errors
>>> issubclass(errors.ArgumentError, TypeError) and issubclass(errors.ArgumentError, errors.TTError)
True
"""

from __future__ import annotations

from tt.core.errors.arguments import (
    ArgumentError,
    AssertedError,
    ChoiceError,
    DivisionByZeroError,
    ElementCountError,
    LinAlgError,
    NondeterministicError,
    NothingToCheckError,
    NumberRangeError,
    UnsupportedError,
    ValueRangeError,
)
from tt.core.errors.base import (
    TTError,
)
from tt.core.errors.base import (
    _restored as _restored,
)
from tt.core.errors.base import (
    describe as describe,
)
from tt.core.errors.devices import (
    DeviceError,
    DeviceMismatchError,
    HostMemoryError,
    KeyBitsExhaustedError,
    NoDataError,
    OutOfMemoryError,
)
from tt.core.errors.devices import (
    format_bytes as format_bytes,
)
from tt.core.errors.dispatch import (
    DispatchError,
    DtypeNotServedError,
    KernelContractError,
    KernelFailedError,
    MissingFakeError,
    NoKernelError,
    NoOverrideError,
    OpCheckError,
    PluginFailedError,
    PluginMissingError,
)
from tt.core.errors.dispatch import (
    _restored_failure as _restored_failure,
)
from tt.core.errors.files import CorruptFileError, EmptyFileError, UnsafeGlobalError, UntrustedSourceError
from tt.core.errors.gradients import (
    AnomalyError,
    CheckpointError,
    GradcheckError,
    GradientError,
    InferenceTensorError,
    NoDerivativeError,
    SavedTensorError,
    UnstableOutputsError,
)
from tt.core.errors.names import (
    UnknownNameError,
    UnknownOpError,
    nearest,
)
from tt.core.errors.names import (
    did_you_mean as did_you_mean,
)
from tt.core.errors.plugins import (
    ConfigurationError,
    DuplicateRegistrationError,
    MemberError,
    PluginConflictError,
    PluginError,
)
from tt.core.errors.plugins import (
    how_to_choose as how_to_choose,
)
from tt.core.errors.processes import SharedMemoryError, WorkerExitError, WorkerTimeoutError
from tt.core.errors.sources import (
    CompileError,
    NoCompilerError,
    SchemaError,
    SchemaProblem,
    TraceError,
)
from tt.core.errors.tensors import (
    BroadcastError,
    CastError,
    DataDependentError,
    DataTypeError,
    DimensionCountError,
    DimensionError,
    DtypeError,
    ExportError,
    HiddenValuesError,
    IndexValueError,
    InplaceError,
    LayoutError,
    NumpyError,
    PlaceError,
    PromotionError,
    ReadOnlyError,
    ShapeError,
    SizeLimitError,
    TargetDtypeError,
)

__all__ = [
    "AnomalyError",
    "ArgumentError",
    "AssertedError",
    "BroadcastError",
    "CastError",
    "CheckpointError",
    "ChoiceError",
    "CompileError",
    "ConfigurationError",
    "CorruptFileError",
    "DataDependentError",
    "DataTypeError",
    "DeviceError",
    "DeviceMismatchError",
    "DimensionCountError",
    "DimensionError",
    "DispatchError",
    "DivisionByZeroError",
    "DtypeError",
    "DtypeNotServedError",
    "DuplicateRegistrationError",
    "ElementCountError",
    "EmptyFileError",
    "ExportError",
    "GradcheckError",
    "GradientError",
    "HiddenValuesError",
    "HostMemoryError",
    "IndexValueError",
    "InferenceTensorError",
    "InplaceError",
    "KernelContractError",
    "KernelFailedError",
    "KeyBitsExhaustedError",
    "LayoutError",
    "LinAlgError",
    "MemberError",
    "MissingFakeError",
    "NoCompilerError",
    "NoDataError",
    "NoDerivativeError",
    "NoKernelError",
    "NoOverrideError",
    "NondeterministicError",
    "NothingToCheckError",
    "NumberRangeError",
    "NumpyError",
    "OpCheckError",
    "OutOfMemoryError",
    "PlaceError",
    "PluginConflictError",
    "PluginError",
    "PluginFailedError",
    "PluginMissingError",
    "PromotionError",
    "ReadOnlyError",
    "SavedTensorError",
    "SchemaError",
    "SchemaProblem",
    "ShapeError",
    "SharedMemoryError",
    "SizeLimitError",
    "TTError",
    "TargetDtypeError",
    "TraceError",
    "UnknownNameError",
    "UnknownOpError",
    "UnsafeGlobalError",
    "UnstableOutputsError",
    "UnsupportedError",
    "UntrustedSourceError",
    "ValueRangeError",
    "WorkerExitError",
    "WorkerTimeoutError",
    "nearest",
]


# Tracebacks, documentation and pickles name these classes by `__module__`: the place to import it from, which
# stays when a class moves to another of these modules.
for _defined in list(globals().values()):
    if getattr(_defined, "__module__", "").startswith(f"{__name__}."):
        _defined.__module__ = __name__
del _defined
