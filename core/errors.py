"""Every exception that tt raises on purpose, and the text of its message.

Each class carries its facts as attributes, is a `TTError`, and is also the built-in exception that a caller of a
PyTorch program would catch (`RuntimeError`, `IndexError`, ...).  A message says what was asked, what was found, the
nearest candidates and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MemberDescriptorType
from typing import Any

__all__ = [
    "AnomalyError",
    "ArgumentError",
    "BroadcastError",
    "CastError",
    "CheckpointError",
    "CompileError",
    "ConfigurationError",
    "DataDependentError",
    "DataTypeError",
    "DeviceError",
    "DeviceMismatchError",
    "DimensionError",
    "DispatchError",
    "DivisionByZeroError",
    "DtypeError",
    "DtypeNotServedError",
    "DuplicateRegistrationError",
    "ElementCountError",
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
    "NoKernelError",
    "NoOverrideError",
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
    "SizeLimitError",
    "TTError",
    "UnknownNameError",
    "UnknownOpError",
    "UnsupportedError",
    "ValueRangeError",
    "nearest",
]


def nearest(word: str, candidates: Iterable[str], *, count: int = 3) -> list[str]:
    """Return the candidates that `word` was probably meant to be, best first.

    Examples
    --------
    >>> from tt.core.errors import nearest
    >>> nearest("matmull", ["matmul", "mul", "exp"], count=1)
    ['matmul']
    """
    return difflib.get_close_matches(word, list(candidates), n=count, cutoff=0.6)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return "; did you mean 'x' or 'y'?" or an empty string."""
    found = nearest(word, candidates)
    return "; did you mean " + " or ".join(repr(name) for name in found) + "?" if found else ""


class TTError(Exception):
    """The base of every exception that tt raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by calling the class: constructors take facts, and `args` is the text that they made of them.
        return _restored, (type(self), self.args), {**_members(self), **self.__dict__}

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        _set(self, state or {})


def _set(error: BaseException, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(error, name, value)


def _restored(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Return an exception as it was, from its class and arguments; its fields follow."""
    new = kind.__new__(kind)
    new.args = args
    return new


def _members(error: BaseException) -> dict[str, Any]:
    """Return the fields of an exception that are not in its `__dict__`: slots, and those of built-in classes."""
    return {
        name: getattr(error, name)
        for base in reversed(type(error).__mro__)
        if base is not BaseException
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType) and name != "__weakref__" and hasattr(error, name)
    }


# --- names and arguments ---------------------------------------------------------------------------------------


class UnknownNameError(TTError, ValueError):
    """A name (device, layout, dtype, plugin, mode, ...) that nobody registered."""

    def __init__(self, kind: str, name: str, candidates: Iterable[str], *, note: str = "") -> None:
        self.kind, self.name, self.candidates = kind, name, tuple(candidates)
        known = ", ".join(sorted(self.candidates)) or "(none)"
        text = f"unknown {kind} {name!r}{did_you_mean(name, self.candidates)}\n  known: {known}"
        super().__init__(text + (f"\n  {note}" if note else ""))


class UnknownOpError(TTError, AttributeError):
    """An operator that no schema defines."""

    def __init__(self, op: str, candidates: Iterable[str] = ()) -> None:
        self.op, self._names = op, tuple(candidates)
        super().__init__(op)
        # Python would take the object from which the name was asked, and end the text with a guess of its own.
        self.name, self.obj = op, None

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """The nearest names; searched for when they are asked for, since `hasattr` asks for none."""
        return tuple(nearest(self.op, self._names))

    def __str__(self) -> str:
        return f"no operator is named {self.op!r}{did_you_mean(self.op, self.candidates)}\n  see: tt ops list"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"op": self.op, "name": self.op, "obj": None, "_names": self.candidates}
        return _restored, (type(self), self.args), {**self.__dict__, **state}


class NothingToCheckError(TTError, ValueError):
    """A check that would make no call: no operator of those that are meant has inputs for it."""

    def __init__(self, backend: str, patterns: Sequence[str] = ()) -> None:
        self.backend, self.patterns = backend, tuple(patterns)
        which = f"that matches {', '.join(self.patterns)}" if patterns else "of this backend"
        super().__init__(
            f"nothing was checked on {backend}: no operator {which} has samples\n"
            "  try: `samples:` in its entry, or tt.library.opcheck with inputs of your own"
        )


class ArgumentError(TTError, TypeError):
    """An argument that an operator does not take, lacks, or takes in another type."""

    def __init__(self, op: str, problem: str, *, signatures: Sequence[str] = (), hint: str = "") -> None:
        self.op, self.problem, self.signatures, self.hint = op, problem, tuple(signatures), hint
        lines = [f"{op}(): {problem}"]
        lines += [f"  signature: {signature}" for signature in self.signatures]
        lines += [f"  {hint}"] if hint else []
        super().__init__("\n".join(lines))


class ValueRangeError(TTError, ValueError, RuntimeError):
    """An argument of the right type whose value is not allowed.

    PyTorch raises ValueError in some of these places and RuntimeError in others; this is both.
    """


class DivisionByZeroError(TTError, RuntimeError, ZeroDivisionError):
    """Integers divided by zero; PyTorch raises a RuntimeError whose text is "ZeroDivisionError"."""


class LinAlgError(TTError, RuntimeError):
    """A matrix for which a decomposition or an inverse does not exist."""


# --- shapes ----------------------------------------------------------------------------------------------------


class ShapeError(TTError, RuntimeError):
    """Shapes that an operator cannot combine."""


class SizeLimitError(ShapeError):
    """A shape that no tensor can have: its bytes exceed 63 bits, or the array library has no such array."""

    def __init__(
        self, op: str, shape: Sequence[int], dtype: str | None = None, *, reason: str | None = None
    ) -> None:
        self.op, self.shape, self.dtype, self.reason = op, tuple(shape), dtype, reason
        kind = f" and dtype {dtype}" if dtype else ""
        limit = (
            f", or what it is computed from, is no array: {reason}"
            if reason
            else (" would be larger than any can be (2**63 - 1 bytes)")
        )
        super().__init__(f"{op}(): a tensor of shape {list(shape)}{kind}{limit}")


class BroadcastError(ShapeError):
    """Two shapes that do not broadcast."""

    def __init__(self, op: str, left: Sequence[int], right: Sequence[int], dim: int) -> None:
        self.op, self.left, self.right, self.dim = op, tuple(left), tuple(right), dim
        from_end = dim - max(len(left), len(right))
        size_left, size_right = left[from_end], right[from_end]
        super().__init__(
            f"{op}(): the shapes {list(left)} and {list(right)} do not broadcast: in dimension {dim} the sizes are "
            f"{size_left} and {size_right}, and neither is 1"
        )


class DimensionError(TTError, IndexError):
    """A dimension that the tensor does not have."""

    def __init__(self, op: str, dim: int, ndim: int) -> None:
        self.op, self.dim, self.ndim = op, dim, ndim
        low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
        super().__init__(
            f"{op}(): there is no dimension {dim}: a tensor with {ndim} dimensions has those from {low} to {high}"
        )


class IndexValueError(TTError, IndexError):
    """An index outside of the dimension that it indexes, or an index expression that is not one."""


class PlaceError(IndexValueError, RuntimeError):
    """An index outside of its dimension in gather and scatter, where PyTorch raises RuntimeError."""


# --- dtypes ----------------------------------------------------------------------------------------------------


class DtypeError(TTError, RuntimeError):
    """A dtype that the operator, not a particular backend, refuses."""


class PromotionError(DtypeError):
    """Two dtypes that have no common dtype."""

    def __init__(self, left: str, right: str) -> None:
        self.left, self.right = left, right
        super().__init__(
            f"{left} and {right} have no common dtype: uint16, uint32 and uint64 do not promote with other dtypes\n"
            f"  try: convert one of them first, for instance x.to(tt.{right})"
        )


class CastError(DtypeError, TypeError):
    """A result whose dtype cannot be stored in the target of an in-place or out= call."""

    def __init__(self, op: str, found: str, target: str) -> None:
        self.op, self.found, self.target = op, found, target
        super().__init__(f"{op}(): the result has dtype {found}, which the target's {target} cannot hold")


# --- devices ---------------------------------------------------------------------------------------------------


class TargetDtypeError(DtypeError):
    """The target of an in-place or out= call does not have the dtype of the result, and is not cast to.

    Parameters
    ----------
    op : str
        The operator.
    found, target : str
        The dtypes of the result and of the target.
    """

    def __init__(self, op: str, found: str, target: str) -> None:
        super().__init__(
            f"{op}(): expected the tensor that is written to to have dtype {found}, but got {target} instead\n"
            f"  try: a tensor of dtype {found}, and convert it afterwards"
        )


class DeviceError(TTError, RuntimeError):
    """A device that is not there, or that is asked for what it cannot do."""


class DeviceMismatchError(DeviceError):
    """Tensors of several devices in one call that permits one."""

    def __init__(self, op: str, found: Sequence[tuple[str, str]]) -> None:
        self.op, self.found = op, tuple(found)
        devices = list(dict.fromkeys(device for _, device in found))
        lines = [
            f"{op}(): the tensors of one call must lie on one device, but these lie on "
            + " and ".join(devices)
        ]
        lines += [f"  argument {name!r} is on {device}" for name, device in found]
        lines.append(f"  try: {found[-1][0]}.to({devices[0]!r})")
        super().__init__("\n".join(lines))


class OutOfMemoryError(DeviceError, MemoryError):
    """A device that has not as much memory as is asked for, also after everything unused was given back."""

    def __init__(
        self,
        device: str,
        *,
        asked: int,
        allocated: int,
        reserved: int,
        free: int,
        total: int,
        limit: int | None = None,
    ) -> None:
        self.device, self.asked, self.allocated, self.reserved = device, asked, allocated, reserved
        self.free, self.total, self.limit = free, total, limit
        lines = [
            f"{device.partition(':')[0].upper()} out of memory: {device} has no {format_bytes(asked)} more",
            f"  allocated: {format_bytes(allocated)} in tensors",
            f"  reserved: {format_bytes(reserved)} by the pool",
            f"  free: {format_bytes(free)} of {format_bytes(total)} on the device",
        ]
        if limit is not None:
            lines.append(f"  limit: {format_bytes(limit)}, by set_per_process_memory_fraction")
        if allocated + asked <= reserved:
            lines.append("  the pool holds enough, in pieces that are too small")
        lines.append(
            "  try: smaller batches, del of tensors that are not needed, tt.no_grad() where gradients are not"
        )
        lines.append("  see: tt.cuda.memory_summary()")
        super().__init__("\n".join(lines))


class HostMemoryError(TTError, RuntimeError, MemoryError):
    """Memory of the host that there is not; `asked` is the number of bytes of the results, where it is known."""

    def __init__(self, op: str, asked: int | None, reason: str) -> None:
        self.op, self.asked, self.reason = op, asked, reason
        wanted = f"a result of {format_bytes(asked)}" if asked else "its result and what it is computed from"
        super().__init__(f"{op}(): not enough memory for {wanted}" + (f": {reason}" if reason else ""))


def format_bytes(count: int) -> str:
    """Return a number of bytes in the largest unit of which there is at least one.

    Examples
    --------
    >>> from tt.core.errors import format_bytes
    >>> format_bytes(512), format_bytes(3 * 2**20), format_bytes(5 * 2**29)
    ('512 bytes', '3.00 MiB', '2.50 GiB')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} bytes"


class LayoutError(TTError, RuntimeError):
    """A tensor whose layout does not have what is asked of it."""


class KeyBitsExhaustedError(TTError, RuntimeError):
    """More device types, layouts and layers than the 62 bits of a dispatch key."""

    def __init__(self, kind: str, name: str, holders: Sequence[str]) -> None:
        self.kind, self.name, self.holders = kind, name, tuple(holders)
        super().__init__(
            f"no dispatch key bit is left for the {kind} {name!r}: all {len(self.holders)} are taken\n"
            f"  taken by: {', '.join(self.holders)}\n"
            f"  try: disable plugins that are not needed (TT_DISABLE_PLUGINS)"
        )


# --- kernels: the four cases -----------------------------------------------------------------------------------


class UnsupportedError(TTError, NotImplementedError):
    """An option, or a combination of arguments, that an operator does not have."""


class NoOverrideError(TTError, TypeError):
    """All classes and modes that could have answered a call returned NotImplemented.

    Attributes
    ----------
    function : str
        What was called.
    protocol : str
        "__tt_function__" or "__tt_dispatch__".
    types : tuple of str
        The classes that were asked, in order.
    mode : str or None
        The mode that was asked before them.
    """

    def __init__(self, function: str, protocol: str, types: Sequence[str], mode: str | None = None) -> None:
        self.function, self.protocol, self.types, self.mode = function, protocol, tuple(types), mode
        asked = [f"the mode {mode}"] if mode else []
        if types:
            asked.append(f"the types [{', '.join(types)}]")
        who = " and ".join(asked) or "no argument's class"
        lines = [f"no implementation found for {function!r}: {protocol} was asked of {who}"]
        if asked:
            lines[0] += ", and all returned NotImplemented"
            lines.append(
                f"  try: answer {function} in {protocol}, or convert the arguments to plain tensors first"
            )
        super().__init__("\n".join(lines))


class DispatchError(TTError, NotImplementedError):
    """A call that the dispatcher cannot route.

    Attributes
    ----------
    op : str
        Signature of the operator that was called.
    arguments : tuple of (name, description)
        What was found.
    tried : tuple of str
        The candidates in order, each with the reason why it was passed over.
    """

    def __init__(
        self,
        op: str,
        headline: str,
        *,
        arguments: Sequence[tuple[str, str]] = (),
        tried: Sequence[str] = (),
        exist: str = "",
        hint: str = "",
        see: str = "",
    ) -> None:
        self.op, self.headline = op, headline
        self.arguments, self.tried = tuple(arguments), tuple(tried)
        self.exist, self.hint, self.see = exist, hint, see
        lines = [headline]
        lines += [f"  argument {name!r}: {description}" for name, description in self.arguments]
        lines += [f"  tried: {' -> '.join(self.tried)}"] if self.tried else []
        lines += [f"  kernels exist for: {exist}"] if exist else []
        lines += [f"  try: {hint}"] if hint else []
        lines += [f"  see: {see}"] if see else []
        super().__init__("\n".join(lines))


class NoKernelError(DispatchError):
    """No kernel, composite or fallback serves this operator on this backend."""


class MissingFakeError(NoKernelError):
    """An operator with kernels, but nothing that says what its results look like, met tensors without data."""


class DtypeNotServedError(NoKernelError):
    """The backend has kernels for this operator, but not for this dtype."""


class PluginFailedError(DispatchError):
    """The plugin that would serve the call is installed but failed to load."""


class PluginMissingError(DispatchError):
    """The plugin that would serve the call is known but not installed."""


class KernelContractError(TTError, RuntimeError):
    """A kernel whose result is not what the schema promises; the fault is the plugin's, not the caller's."""


class KernelFailedError(Exception):
    """What a library raised within a kernel or a method of a backend; it is also of that exception's class.

    It is no `TTError`: nothing was refused on purpose.

    Attributes
    ----------
    op, device : str
        The operator that was called, and the backend that served it; the operator is empty outside of calls.
    kernel : str
        Who brought the kernel.
    method : str
        The method of the backend in which it happened, if it was one.
    call : str
        The arguments in words.
    """

    def __init__(
        self, error: BaseException, op: str, device: str, kernel: str, call: str, method: str = ""
    ) -> None:
        self.op, self.device, self.kernel, self.call, self.method = op, device, kernel, call, method
        where = f"`{method}` of backend {device}" if method else f"the kernel by {kernel} on {device}"
        lines = [str(error) or type(error).__name__, f"  while {where} served {op}({call})"]
        if method and kernel:
            lines.append(f"  kernel: {kernel}")
        Exception.__init__(self, "\n".join(lines))

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote it

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        _set(self, state or {})

    @staticmethod
    def of(error: Exception, op: str, device: str, kernel: str, call: str, method: str = "") -> Exception:
        """Return the error that takes the place of a library's; of classes that allow none, their own with a note."""
        kind: Any = type(error)
        try:
            made = _also(kind)
            new: KernelFailedError = made.__new__(made)
            _set(new, {**_members(error), **vars(error)})
            KernelFailedError.__init__(new, error, op, device, kernel, call, method)
        except Exception:  # a class that cannot be inherited from, or takes no object without arguments
            error.add_note(str(KernelFailedError(error, op, device, kernel, call, method)).partition("\n")[2])
            return error
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        kind = getattr(type(self), "_kind", None)
        state = {**_members(self), **self.__dict__}
        return (_restored, (KernelFailedError, self.args), state) if kind is None else (
            _restored_failure, (kind, self.args), state
        )  # fmt: skip


@cache
def _also(kind: Any) -> Any:
    """Return the class of a failure that was an exception of this class."""
    # Its name is shown where it ends a program.
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "_kind": kind}
    return type(kind.__name__, (KernelFailedError, kind), names)


def _restored_failure(kind: Any, args: tuple[Any, ...]) -> BaseException:
    return _restored(_also(kind), args)


# --- registrations and plugins ---------------------------------------------------------------------------------


class DuplicateRegistrationError(TTError, ValueError):
    """Two registrations for the same operator, key and dtype."""

    def __init__(
        self,
        what: str,
        first: str,
        second: str,
        *,
        hint: str = "override=True, if the second shall replace the first",
    ) -> None:
        self.what, self.first, self.second = what, first, second
        super().__init__(
            f"{what} is registered twice:\n  first by {first}\n  again by {second}\n  try: {hint}"
        )


class PluginError(TTError, RuntimeError):
    """A plugin that is used although it is broken, blocked or made for another version of tt."""


class MemberError(PluginError, AttributeError):
    """A member of tensors whose plugin is blocked, failed or is not installed.

    It is an AttributeError, too: `hasattr(x, "grad")` is False and not an error where nothing brings gradients.
    """


class PluginConflictError(PluginError):
    """Several plugins bring the same, and nothing says which of them is meant."""

    def __init__(self, what: str, claimants: Sequence[str], plugins: Sequence[str]) -> None:
        self.what, self.claimants, self.plugins = what, tuple(claimants), tuple(plugins)
        lines = [f"{what} is brought by {len(self.claimants)} plugins, and nothing says which one is meant:"]
        lines += [f"  {claimant}" for claimant in self.claimants]
        lines += [f"  try: {how_to_choose(self.plugins)}", "  see: tt plugins list"]
        super().__init__("\n".join(lines))


def how_to_choose(plugins: Sequence[str]) -> str:
    """Return in words how one of several plugins is chosen."""
    variables = " or ".join(f"TT_PREFER={name}" for name in plugins)
    return f"{variables}; in a program: with tt.prefer({plugins[0]!r})"


class ConfigurationError(TTError, ValueError):
    """A configuration file, or a variable in its place, that cannot be understood."""

    def __init__(self, where: str, problem: str, *, hint: str = "") -> None:
        self.where, self.problem, self.hint = where, problem, hint
        super().__init__(f"{where}: {problem}" + (f"\n  try: {hint}" if hint else ""))


# --- tensors and Python values ---------------------------------------------------------------------------------
# Each is, besides PyTorch's RuntimeError, the built-in that Python itself or NumPy would raise.


class NumberRangeError(ValueRangeError, RuntimeError):
    """A number that a dtype cannot hold."""


class ElementCountError(ValueRangeError, RuntimeError):
    """A tensor of more or less than one element where one number is needed."""


class DataTypeError(DtypeError, TypeError):
    """A Python object that is neither a number, a sequence nor an array."""


class NumpyError(DtypeError, TypeError):
    """A tensor that is not plain memory of the host where a NumPy array of it is asked for."""


class HiddenValuesError(TTError, RuntimeError):
    """A tensor that stands for others inside a transform, asked for its values."""


class ExportError(DtypeError, BufferError):
    """A tensor that other libraries cannot share; the array API standard asks for a BufferError."""


# --- in-place, fake tensors, gradients -------------------------------------------------------------------------


class InplaceError(TTError, RuntimeError):
    """An in-place or out= call on what does not allow it."""


class ReadOnlyError(InplaceError, ValueError):
    """A write into memory that came in as read-only."""

    def __init__(self, op: str, owner: str) -> None:
        self.op, self.owner = op, owner
        super().__init__(
            f"{op}(): the memory that is written to is read-only, it belongs to {owner}\n"
            "  try: clone() the tensor first"
        )


class DataDependentError(TTError, RuntimeError):
    """A call whose result depends on data, made on tensors that have none."""

    def __init__(self, op: str, device: str) -> None:
        self.op, self.device = op, device
        super().__init__(
            f"{op}(): the result depends on the values of its tensors, and a {device} tensor has none\n"
            f"  try: run it on a tensor with data, for instance on device='cpu'"
        )


class GradientError(TTError, RuntimeError):
    """A backward pass that is not possible."""


class GradcheckError(GradientError):
    """A gradient that is not what finite differences say, found by `gradcheck`."""


class OpCheckError(TTError, AssertionError):
    """An operator that does not do what its registrations say, found by `opcheck`."""

    def __init__(self, op: str, failures: Sequence[Any], report: str) -> None:
        self.op, self.failures, self.report = op, tuple(failures), report
        super().__init__(report)


class SavedTensorError(GradientError):
    """A tensor needed by backward was changed in place after it was saved."""

    def __init__(self, node: str, shape: Sequence[int], dtype: str, saved: int, found: int) -> None:
        self.node, self.shape, self.dtype, self.saved, self.found = node, tuple(shape), dtype, saved, found
        super().__init__(
            f"a tensor that backward needs was changed in place: {dtype} {list(shape)}, saved by {node} at version "
            f"{saved}, is now at version {found}\n"
            f"  try: clone the tensor before changing it in place"
        )


class AnomalyError(GradientError):
    """A backward pass that made a NaN, found by `detect_anomaly`."""

    def __init__(self, node: str, place: int) -> None:
        self.node, self.place = node, place
        super().__init__(
            f"{node} made a NaN in its gradient {place}\n  try: see the warning above for the call that was recorded"
        )


class CheckpointError(GradientError):
    """A checkpointed function that did something else when it ran again."""


class InferenceTensorError(GradientError):
    """A tensor made in inference mode was used where that is not possible."""


# --- schema ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One mistake in a schema file, with its place.

    Attributes
    ----------
    file, line, column : str, int, int
        Where; line and column count from 1.
    message : str
        What is wrong.
    source : str
        The text of the line.
    hint : str
        The nearest valid word, or what to write instead.
    """

    file: str
    line: int
    column: int
    message: str
    source: str = ""
    hint: str = ""

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line}:{self.column}: {self.message}"]
        if self.source:
            lines += [f"    {self.source}", "    " + " " * (self.column - 1) + "^"]
        if self.hint:
            lines.append(f"    {self.hint}")
        return "\n".join(lines)


class SchemaError(TTError, ValueError):
    """All the mistakes of one or more schema files, reported together."""

    def __init__(self, problems: Sequence[SchemaProblem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the operator schema"
        super().__init__("\n".join([head, *map(str, self.problems)]))


# --- compiled extensions ---------------------------------------------------------------------------------------


class CompileError(TTError, RuntimeError):
    """C, C++ or CUDA source of an extension that does not compile, link or load.

    Attributes
    ----------
    extension : str
        The name of the extension.
    problems : tuple of Diagnostic
        What the compiler found, each with its place in the user's source.
    command : tuple of str
        What was run.
    output : str
        What it printed.
    """

    def __init__(
        self,
        extension: str,
        headline: str,
        *,
        problems: Sequence[Any] = (),
        hint: str = "",
        command: Sequence[str] = (),
        output: str = "",
    ) -> None:
        self.extension, self.problems = extension, tuple(problems)
        self.command, self.output = tuple(command), output
        lines = [f"{extension}: {headline}", *map(str, self.problems)]
        lines += [f"  try: {hint}"] if hint else []
        super().__init__("\n".join(lines))


class NoCompilerError(TTError, RuntimeError):
    """No compiler for the language of an extension was found."""

    def __init__(self, language: str, tried: Sequence[str], install: str) -> None:
        self.language, self.tried = language, tuple(tried)
        variable = "CC" if language == "c" else "CXX"
        lines = [f"no compiler for {language.upper()} was found"]
        lines += [f"  tried: {item}" for item in self.tried]
        lines += [f"  try: {install}; or name one in the environment variable {variable}"]
        super().__init__("\n".join(lines))


def describe(value: Any) -> str:
    """Return the short name of a value's type, as error messages print it."""
    return type(value).__name__
