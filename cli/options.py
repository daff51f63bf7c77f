"""Options and arguments that several commands share, with their completion."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "Json",
    "OpName",
    "complete_backend",
    "complete_check",
    "complete_dtype",
    "complete_kind",
    "complete_name",
    "complete_op",
    "complete_plugin",
    "complete_tag",
]


def complete_op(incomplete: str) -> list[str]:
    """Return the operators whose name begins so."""
    # Imported in the function, since options are read at each start and completion is rare.
    from tt.core.dispatch.registry.registry import REGISTRY

    return sorted(name for name in REGISTRY.names() if name.startswith(incomplete))


def complete_name(incomplete: str) -> list[str]:
    """Return the operators whose name, or a public name such as linalg.svd, begins so."""
    from tt.core.schema.snapshot import public_names

    public = (name for name in public_names() if name.startswith(incomplete))
    return sorted({*complete_op(incomplete), *public})


def complete_plugin(incomplete: str) -> list[str]:
    """Return the plugins whose name begins so."""
    from tt.core.host import host

    return sorted(plugin.name for plugin in host.plugins() if plugin.name.startswith(incomplete))


def complete_backend(incomplete: str) -> list[str]:
    """Return the backends whose name begins so: devices, and with a slash their layouts, as in cpu/sparse_coo."""
    from tt.testing.coverage import places

    return [name for name in map(str, places()) if name.startswith(incomplete)]


def complete_dtype(incomplete: str) -> list[str]:
    """Return the dtypes whose name begins so."""
    from tt.core.types.dtype import DTYPES

    return [dtype.name for dtype in DTYPES if dtype.name.startswith(incomplete)]


def complete_kind(incomplete: str) -> list[tuple[str, str]]:
    """Return the kinds of operators whose name begins so, with their meaning."""
    from tt.core.schema.words import KINDS

    return [(name, about) for name, about in KINDS.items() if name.startswith(incomplete)]


def complete_tag(incomplete: str) -> list[tuple[str, str]]:
    """Return the tags of operators that begin so, with their meaning."""
    from tt.core.schema.words import TAGS

    return [(name, about) for name, about in TAGS.items() if name.startswith(incomplete)]


def complete_check(incomplete: str) -> list[str]:
    """Return the checks of `tt ops check --run` whose name begins so."""
    from tt.testing.conformance import CHECKS

    return [name for name in CHECKS if name.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OpName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="An operator: add, max.dim, add_, linalg.svd, acme::twice.",
        autocompletion=complete_name,
    ),
]
