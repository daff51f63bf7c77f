"""The command `tt`: its subcommands and their common code.

Exit codes: 0 success; 1 the command ran and found a problem; 2 wrong usage.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer

from tt.cli import output
from tt.cli.help import Command, Group, examples, help_if_alone
from tt.core.by_name import object_named
from tt.core.errors import ArgumentError, TTError, UnknownNameError, UnknownOpError

__all__ = ["build", "main"]


class Entry(NamedTuple):
    """A command of tt, or a group of them, whose module is imported where it is needed."""

    target: str
    short_help: str
    examples: tuple[str, ...] = ()
    settings: dict[str, Any] | None = None


OWN: Final = {
    "demo": Entry(
        "tt.cli.demo:demo",
        "Train a network to read handwritten digits.",
        ("tt demo", "tt demo --seeds 5 --mask softmax"),
    ),
    "env": Entry(
        "tt.cli.env:env", "Show versions and settings, for a bug report.", ("tt env", "tt env --json")
    ),
    "ops": Entry("tt.cli.ops:app", "Operators: list, show, explain, check, coverage, pages."),
    "plugins": Entry("tt.cli.plugins:app", "Installed plugins: list, show."),
    "new": Entry("tt.cli.new:app", "Write a package with an operator or a backend."),
    "port": Entry(
        "tt.cli.port:port",
        "Swap the imports of PyTorch programs.",
        ("tt port model.py", "tt port --write train.py model.py"),
    ),
    "exec": Entry(
        "tt.cli.exec:execute",
        "Run a PyTorch program, whose import torch gives tt.",
        ("tt exec train.py", "tt exec -m package.train"),
        settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    ),
    "as-torch": Entry(
        "tt.cli.as_torch:app", "Let import torch give tt in an environment: install, remove, status."
    ),
    "run": Entry(
        "tt.cli.run:run",
        "Start a program on several ranks, as torchrun does.",
        settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []},
    ),
    "cuda": Entry("tt.cli.cuda:app", "Compile CUDA kernels ahead."),
}
"""The commands of tt, those for new users first."""

WRONG_CALL = 2
FOUND_PROBLEMS = 1
USAGE_ERRORS = (ArgumentError, UnknownNameError, UnknownOpError)


class Commands(Group):
    """The group of all commands: distinguishes errors of tt from bugs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of OWN, then those of plugins."""
        names = list(super().list_commands(ctx))
        order = list(OWN)
        return sorted(names, key=lambda name: order.index(name) if name in OWN else len(order))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error that tt raises on purpose is printed without its traceback."""
        try:
            return super().invoke(ctx)
        except TTError as error:
            if ctx.params.get("debug"):
                raise
            output.problem(str(error))
            raise typer.Exit(WRONG_CALL if isinstance(error, USAGE_ERRORS) else FOUND_PROBLEMS) from None


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        import tt

        output.text(f"tt {tt.__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Inspect and check tt, a plugin-based tensor framework, and write packages for it.

    Each command explains itself: tt COMMAND --help.
    """
    help_if_alone(context)


def chosen(words: Sequence[str]) -> Iterable[str]:
    """Return the commands of tt that a call may need: the one that it names, or all."""
    # Importing a command takes time, so only the one that is named is imported.
    first = next((word for word in words if word != "--debug"), "")
    return (first,) if first in OWN else OWN


def build(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command with its subcommands, including plugins'.

    Parameters
    ----------
    words : sequence of str
        Those of the call, if it is known: then only the command of tt that they name is made, since all of them take
        40 ms.
    """
    app = typer.Typer(
        name="tt",
        cls=Commands,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(
        epilog=examples("tt demo", "tt ops show softmax", "tt ops explain add cpu:float32 cpu:int64")
    )(root)
    for name in chosen(words):
        entry = OWN[name]
        command = object_named(entry.target)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, short_help=entry.short_help)
        else:
            add = app.command(
                name,
                cls=Command,
                short_help=entry.short_help,
                epilog=examples(*entry.examples),
                context_settings=entry.settings,
            )
            add(command)
    add_plugin_commands(app)
    return app


def add_plugin_commands(app: typer.Typer) -> None:
    """Add the commands from the plugins' hook `tt_commands`; failing ones are reported and left out."""
    if not plugins_of_others():
        return  # tt's own plugins bring no command; the host would import the dispatcher for nothing
    from tt.core.host import host

    try:
        brought = host.commands()
    except TTError as error:  # an environment variable that names no plugin must not disable `tt env`
        output.problem(str(error))
        return
    for name, target in brought.items():
        if isinstance(target, TTError):  # several plugins bring it, and none is preferred
            app.command(name, cls=Command, help=str(target))(refuse(target))
            continue
        module, _, attribute = target.partition(":")
        try:
            if name in OWN:
                raise ValueError("tt has a command of this name")
            command = getattr(import_module(module), attribute)
        except Exception as error:  # a failing plugin must not affect the other commands
            output.problem(f"command {name!r} ({target}) is left out: {type(error).__name__}: {error}")
            continue
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=Command)(command)


def plugins_of_others() -> bool:
    """Return whether plugins are installed that are not tt's own."""
    from tt.core.host.entry_points import installed

    return any(not entry.value.startswith("tt.") for entry in installed())


def refuse(error: TTError) -> Callable[[], None]:
    """Return a command that only prints why it is unavailable."""

    def command() -> None:
        raise error

    return command


def main() -> None:
    """Run the command `tt`."""
    build(sys.argv[1:])(prog_name="tt")


if __name__ == "__main__":
    main()
