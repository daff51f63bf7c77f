"""Names of new packages: which are allowed, and the reason why one is not."""

from __future__ import annotations

import keyword
import re
from typing import Final

import typer

from tt.core.errors import did_you_mean

__all__ = ["check_device", "check_library", "check_license", "check_operator"]

WRAPPERS: Final = "array_api_compat"
"""A package with namespaces of the standard for libraries that lack some of its functions; it is only suggested."""


def refuse(name: str, reason: str) -> typer.BadParameter:
    """Return the error for a name; the command then ends as one that was called wrongly."""
    return typer.BadParameter(f"{name!r}: {reason}")


def check_word(name: str, what: str) -> None:
    """Refuse anything but a module name in lower case."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name.endswith("_"):
        raise refuse(
            name, f"the name of {what} has small letters, digits and underscores, and begins with a letter"
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise refuse(name, "it is a word of Python")


def check_device(name: str) -> None:
    """Refuse a device type that exists, or whose plugin would have the name of another.

    Raises
    ------
    typer.BadParameter
        With the reason.
    """
    from tt.core.host import host
    from tt.core.types.device import CORE_DEVICES

    check_word(name, "a device type")
    if name in CORE_DEVICES:
        raise refuse(name, "the device is tt's own")
    _refuse_taken(name, "device")
    if name in host.names("layout") or name == "strided":
        raise refuse(name, "a layout has this name")


def check_operator(name: str) -> tuple[str, str]:
    """Return namespace and name of "NS::NAME"; refuse a namespace that exists.

    Raises
    ------
    typer.BadParameter
        With the reason.
    """
    from tt.core.dispatch.registry.registry import REGISTRY

    namespace, separator, short = name.partition("::")
    if not separator:
        namespace, _, short = name.rpartition(":")
        raise refuse(name, f"an operator of your own has a namespace, as in {namespace or 'acme'}::{short}")
    if not namespace or not short or "::" in short:
        raise refuse(name, "an operator is named NAMESPACE::NAME, for instance acme::twice")
    check_word(namespace, "a namespace")
    check_word(short, "an operator")
    if namespace == "tt":
        raise refuse(name, "the namespace 'tt' belongs to tt's own operators; choose another one")
    _refuse_taken(namespace, "namespace")
    # `tt.ops.NAME` cannot be an operator and a namespace.
    if namespace in {known.partition(".")[0] for known in REGISTRY.names()}:
        raise refuse(name, f"tt.ops.{namespace} is an operator; choose another namespace")
    return namespace, short


def _refuse_taken(name: str, kind: str) -> None:
    """Refuse the name of a device or namespace that a plugin declares, and the name of a plugin."""
    from tt.core.host import host

    for plugin in host.plugins():
        who = f"the plugin {plugin.name!r} ({plugin.distribution} {plugin.version})"
        if plugin.manifest is not None and name in getattr(plugin.manifest, f"{kind}s"):
            raise refuse(name, f"{who} brings the {kind}")
        if plugin.name == name:
            raise refuse(name, f"{who} has the name")


def check_library(name: str) -> str:
    """Return the distribution of a module with the functions of the array API standard.

    Raises
    ------
    typer.BadParameter
        If it is not a module name, or its package is installed and has no such module, cannot be imported or is not
        such a library.
    """
    from importlib import import_module
    from importlib.metadata import packages_distributions
    from importlib.util import find_spec

    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")):
        raise refuse(name, "a library is the name of a module, for instance numpy or array_api_strict")
    root = name.split(".")[0]
    try:
        module = import_module(name)
    except Exception as error:  # the library's own code runs
        missing = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
        # Not installed is fine, and the package depends on it; a module that is missing in what is
        # installed is not.
        if missing == root:
            near = did_you_mean(name, ("numpy", "array_api_strict", "jax.numpy", "torch", "cupy"))
            if near:
                raise refuse(name, f"it is not installed{near}") from None
            return root.replace("_", "-")
        if f"{name}.".startswith(f"{missing}."):
            raise refuse(name, f"{root} is installed, but has no module {missing!r}") from None
        raise refuse(name, f"it cannot be imported: {type(error).__name__}: {error}") from None
    lacks = [
        function for function in ("asarray", "astype", "isdtype", "matmul") if not hasattr(module, function)
    ]
    if lacks:
        known = find_spec(WRAPPERS) and find_spec(f"{WRAPPERS}.{root}")
        wrapped = f"{WRAPPERS}.{name}"
        raise refuse(
            name,
            f"it has no {', '.join(lacks)}: the functions of the array API standard are needed"
            + (f"\n  try: --library {wrapped}" if known and not name.startswith(WRAPPERS) else ""),
        )
    return packages_distributions().get(root, [root])[0]


def check_license(expression: str) -> None:
    """Refuse what cannot be an SPDX expression, which an installer would refuse later; names are not looked up.

    Raises
    ------
    typer.BadParameter
        If it is not made of identifiers and AND, OR, WITH and parentheses.
    """
    name = r"\(*(?!(?:AND|OR|WITH)\b)[A-Za-z0-9][A-Za-z0-9.-]*\+?\)*"
    words = " ".join(expression.replace("(", "( ").replace(")", " )").split())
    compact = words.replace("( ", "(").replace(" )", ")")
    if compact.count("(") != compact.count(")") or not re.fullmatch(
        rf"{name}(?: (?:AND|OR|WITH) {name})*", compact
    ):
        raise typer.BadParameter(
            f"{expression!r} is not an SPDX expression, for instance MIT or 'MIT OR Apache-2.0'",
            param_hint="--license",
        )
