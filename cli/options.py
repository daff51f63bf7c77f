"""Options and arguments that several commands share, with their completion."""

from __future__ import annotations

from typing import Annotated

import typer

from tt.cli import output

__all__ = [
    "Json",
    "OpName",
    "complete_backend",
    "complete_name",
    "complete_op",
    "complete_plugin",
    "examples",
    "help_if_alone",
]


def help_if_alone(context: typer.Context) -> None:
    """Show the help of a group that is called without a command."""
    if context.invoked_subcommand is None:
        output.text(context.get_help())


def examples(*commands: str) -> str:
    """Return the end of a command's help, with calls to copy; an empty line keeps each on its own."""
    return "\n\n".join(["Examples:", *commands])


def complete_op(incomplete: str) -> list[str]:
    """Return the operators whose name begins so."""
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
    """Return the device types whose name begins so."""
    from tt.core.host import host

    return sorted(name for name in host.names("device") if name.startswith(incomplete))


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OpName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="An operator: add, max.dim, add_, linalg.svd, acme::twice.",
        autocompletion=complete_name,
    ),
]
