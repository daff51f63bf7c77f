"""torch._dynamo.exc: exceptions of a compiler, which programs catch and tt never raises."""

from __future__ import annotations

__all__ = [
    "BackendCompilerFailed", "InternalTorchDynamoError", "RecompileLimitExceeded", "TensorifyScalarRestartAnalysis",
    "TorchDynamoException", "TorchRuntimeError", "Unsupported", "UserError", "UserErrorType",
]  # fmt: skip

import enum


class TorchDynamoException(RuntimeError):
    """What a compiler raises."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the compiler itself."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend could not compile a graph."""


class RecompileLimitExceeded(TorchDynamoException):
    """A function was compiled too often."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """A scalar became a tensor."""


class TorchRuntimeError(TorchDynamoException):
    """An operator failed while it was captured."""


class Unsupported(TorchDynamoException):
    """Code that the compiler cannot capture."""


class UserError(Unsupported):
    """Code that no compiler can capture."""


class UserErrorType(enum.Enum):
    """Kinds of `UserError`."""

    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = enum.auto()
