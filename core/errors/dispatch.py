"""Calls that the dispatcher cannot route, and kernels that fail or break their promise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tt.core.errors.base import FromText, TTError, _members, _restored, _set


class NoOverrideError(TTError, TypeError):
    """All classes and modes that could have handled a call returned NotImplemented.

    Attributes
    ----------
    function : str
        What was called.
    protocol : str
        "__tt_function__" or "__tt_dispatch__".
    types : tuple of str
        The classes that were tried, in order.
    mode : str or None
        The mode that was tried before them.
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
    """A kernel whose result breaks the schema's promise; the fault is the plugin's, not the caller's."""


class KernelFailedError(Exception, metaclass=FromText):
    """The error of a library within a kernel or a method of a backend; it is also of that exception's class.

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
            combined = _also(kind)
            new: KernelFailedError = combined.__new__(combined)
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


class OpCheckError(TTError, AssertionError):
    """An operator that does not do what its registrations say, found by `opcheck`."""

    def __init__(self, op: str, failures: Sequence[Any], report: str) -> None:
        self.op, self.failures, self.report = op, tuple(failures), report
        super().__init__(report)
