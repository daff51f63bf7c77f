"""The command `tt`: its subcommands and their common code.

Exit codes: 0 success; 1 the command ran and found a problem; 2 wrong usage.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from tt.cli import cuda, demo, env, new, ops, output, plugins, port, run
from tt.cli.help import Command, Group, examples, help_if_alone
from tt.core.errors import ArgumentError, TTError, UnknownNameError, UnknownOpError

__all__ = ["build", "main"]

OWN = ("demo", "env", "ops", "plugins", "new", "port", "run", "cuda")
"""The commands of tt, what a new user wants first."""

WRONG_CALL = 2
FOUND_PROBLEMS = 1
USAGE_ERRORS = (ArgumentError, UnknownNameError, UnknownOpError)


class Commands(Group):
    """The group of all commands: distinguishes errors of tt from bugs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of OWN, then those of plugins."""
        names = list(super().list_commands(ctx))
        return sorted(names, key=lambda name: OWN.index(name) if name in OWN else len(OWN))

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


def build() -> typer.Typer:
    """Return the command with all its subcommands, including plugins'."""
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
    app.add_typer(ops.app, name="ops", short_help="Operators: list, show, explain, check, coverage, pages.")
    app.add_typer(plugins.app, name="plugins", short_help="Installed plugins: list, show.")
    app.add_typer(new.app, name="new", short_help="Write a package with an operator or a backend.")
    app.add_typer(cuda.app, name="cuda", short_help="Compile CUDA kernels ahead.")
    app.command(
        "env",
        cls=Command,
        short_help="Show versions and settings, for a bug report.",
        epilog=examples("tt env", "tt env --json"),
    )(env.env)
    app.command(
        "demo",
        cls=Command,
        short_help="Train a network to read handwritten digits.",
        epilog=examples("tt demo", "tt demo --seeds 5 --mask softmax"),
    )(demo.demo)
    app.command(
        "port",
        cls=Command,
        short_help="Swap the imports of PyTorch programs.",
        epilog=examples("tt port model.py", "tt port --write train.py model.py"),
    )(port.port)
    app.command(
        "run",
        cls=Command,
        short_help="Start a program on several ranks, as torchrun does.",
        context_settings={
            "ignore_unknown_options": True,
            "allow_interspersed_args": False,
            "help_option_names": [],
        },
    )(run.run)
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
    build()(prog_name="tt")


if __name__ == "__main__":
    main()
