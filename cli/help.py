"""The help of commands: their arguments, named as they are typed, and calls to copy.

The layout is made here, because typer's differs from version to version and shows types of Python (`NAME <str>`).
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tt.cli import output
from tt.cli.plain_values import without_adapters

__all__ = ["Command", "Group", "examples", "help_if_alone"]


def help_if_alone(context: typer.Context) -> None:
    """Show the help of a group that is called without a command."""
    if context.invoked_subcommand is None:
        output.text(context.get_help())


def examples(*commands: str) -> str:
    """Return the end of a command's help: calls to copy, one a line."""
    return "\n".join(commands)


class Layout:
    """Writes the help of a command; its bases bring the rest."""

    params: list[Any]
    epilog: str | None

    def format_help(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the usage, the description, the arguments and options, the commands and the examples."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        shown = [param for param in self.get_params(ctx) if not getattr(param, "hidden", False)]
        for title, kind, record in (
            ("Arguments", "argument", argument_record),
            ("Options", "option", option_record),
        ):
            records = [record(param) for param in shown if param.param_type_name == kind]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def collect_usage_pieces(self: Any, ctx: Any) -> list[str]:
        """Return the words of the usage after the command: `[OPTIONS] NAME [SPEC]...`."""
        words = ["[OPTIONS]", *(usage(p) for p in self.get_params(ctx) if p.param_type_name == "argument")]
        return [*words, "COMMAND [ARGUMENT]..."] if isinstance(self, TyperGroup) else words

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples; a line stays a line, so that it can be copied."""
        if self.epilog:
            with formatter.section("Examples"):
                # Written line by line, because the formatter would wrap commands like prose.
                for line in self.epilog.splitlines():
                    formatter.write(f"  {line}\n")


def usage(argument: Any) -> str:
    """Return an argument as the usage shows it: NAME, [NAME], NAME... or [NAME]..."""
    name = noun(argument)
    return (name if argument.required else f"[{name}]") + ("..." if argument.nargs == -1 else "")


def noun(param: Any) -> str:
    """Return the word for what an argument or option takes."""
    return str(param.metavar or param.name.upper())


def argument_record(argument: Any) -> tuple[str, str]:
    """Return an argument and its description."""
    return noun(argument), argument.help or ""


def option_record(option: Any) -> tuple[str, str]:
    """Return an option with its argument, and its description with the default."""
    names = ", ".join(sorted([*option.opts, *option.secondary_opts], key=len))
    about = option.help or ""
    if option.is_flag or getattr(option, "count", False):
        return names, about
    default = option.default
    # Other defaults, as None or a list, say nothing to a reader.
    if isinstance(default, int | float | str) and default != "":
        about = f"{about.removesuffix('.')} (default: {default})."
    elif option.required:
        about = f"{about.removesuffix('.')} (required)."
    return f"{names} {noun(option)}", about


class Command(Layout, TyperCommand):
    """A command with this layout of its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the option of the help included."""
        return without_adapters(super().get_params(ctx))


class Group(Layout, TyperGroup):
    """A group of commands with this layout of its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the option of the help included."""
        return without_adapters(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names; one that is longer or shorter than a command suggests it."""
        word = args[0]
        if self.get_command(ctx, word) is None:
            near = [n for n in self.list_commands(ctx) if word and (n.startswith(word) or word.startswith(n))]
            if near:
                ctx.fail(f"No such command {word!r}. Did you mean {' or '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)
