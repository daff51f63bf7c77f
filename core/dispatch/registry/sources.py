"""Sources: who brought a registration, and the handle that undoes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from tt.core.dispatch.registry.preference import Eligibility, Names, PluginNames, eligibility_of
from tt.core.dispatch.registry.tables import Kernel

__all__ = [
    "TT_SOURCE",
    "CodeLocation",
    "CompositeRegistration",
    "Provider",
    "Registration",
    "RegistrationHandle",
    "code_location",
]


class Provider(NamedTuple):
    """The provider of a registration.

    Attributes
    ----------
    distribution, version : str
        The installed package.
    plugin : str
        The name of its entry point.
    """

    distribution: str = "(this program)"
    version: str = ""
    plugin: str = ""

    @property
    def is_program(self) -> bool:
        """Whether the program itself registered it, not a package."""
        return self.distribution == "(this program)"

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".rstrip() + (f" ({self.plugin})" if self.plugin else "")


def code_location(function: Callable[..., Any]) -> str:
    """Return "module:line" of a function, or the name of a builtin."""
    # A partial, such as a kernel in the quiet context, stands for the function in it.
    function = inspect.unwrap(getattr(function, "func", function))
    code = getattr(function, "__code__", None)
    module = getattr(function, "__module__", None) or type(function).__module__
    if code is None:
        return f"{module}.{getattr(function, '__name__', type(function).__name__)}"
    return f"{module}:{code.co_firstlineno}"


class CodeLocation:
    """The location of a function, found when it is written as text."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __str__(self) -> str:
        return code_location(self._function)


def _namespace(op: str) -> Names:
    namespace, separator, _ = op.partition("::")
    return (("namespace", namespace),) if separator else ()


class Registration:
    """A kernel in the registry: what was declared, for which device and layouts, by whom."""

    __slots__ = ("device", "dtypes", "kernel", "layouts", "result", "scope", "source")

    def __init__(
        self,
        kernel: Kernel,
        device: str,
        layouts: tuple[str, ...],
        source: Provider,
        dtypes: frozenset[str],
        result: str | None = None,
        scope: PluginNames | None = None,
    ) -> None:
        self.kernel, self.device, self.layouts, self.source = kernel, device, layouts, source
        self.dtypes, self.result, self.scope = dtypes, result, scope

    @property
    def names(self) -> Names:
        """The names that it serves."""
        layouts = [("layout", layout) for layout in self.layouts if layout != "strided"]
        return (("device", self.device), *layouts, *_namespace(self.kernel.op))

    @property
    def plugin_name(self) -> str:
        """The plugin of a third party that brought it; empty for tt itself and the program."""
        return "" if self.scope is None else self.source.plugin

    def eligibility(self) -> Eligibility:
        """Return whether it takes part currently, and how preferred it is."""
        return eligibility_of(self.source, self.scope, self.names, self.kernel.op, self.device)

    def __str__(self) -> str:
        return f"{self.source} {code_location(self.kernel.function)}"

    @property
    def where(self) -> str:
        """The device and layouts in words."""
        layouts = "+".join(self.layouts)
        return self.device if layouts == "strided" else f"{self.device}/{layouts}"


class CompositeRegistration:
    """A composite in the registry."""

    __slots__ = ("function", "op", "scope", "source")

    def __init__(
        self, op: str, function: Callable[..., Any], source: Provider, scope: PluginNames | None = None
    ) -> None:
        self.op, self.function, self.source, self.scope = op, function, source, scope

    def eligibility(self) -> Eligibility:
        """Return whether it takes part currently, and how preferred it is."""
        return eligibility_of(self.source, self.scope, _namespace(self.op), self.op, None)

    def __str__(self) -> str:
        return f"{self.source} {code_location(self.function)}"


class RegistrationHandle:
    """Undoes one registration, exactly; also usable in a `with` statement.

    Attributes
    ----------
    what : str
        What was registered, in words; may be empty.
    """

    def __init__(self, undo: Callable[[], Any], what: str = "") -> None:
        self._undo: Callable[[], Any] | None = undo
        self.what = what

    @property
    def active(self) -> bool:
        """Whether the registration is still active."""
        return self._undo is not None

    def __repr__(self) -> str:
        return f"<handle of {self.what or 'a registration'}{'' if self.active else ', removed'}>"

    def remove(self) -> None:
        """Unregister; what was shadowed comes back.  Doing it twice does nothing."""
        # Taken out first, so that an undo that removes this handle again ends at once.
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def __enter__(self) -> RegistrationHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


TT_SOURCE = Provider("tt-tensor", "", "")
"""The core itself."""
