"""The command as a whole: help, version, errors, the commands of plugins, completion."""

from __future__ import annotations

import shlex
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import tt
from tt.cli import options
from tt.cli.main import OWN, build
from tt.core.errors import UnknownOpError
from tt.core.host import host
from tt.testing.coverage import parse_place

Run = Callable[..., Any]

COMMANDS = {
    "env": "Show versions and settings, for a bug report.",
    "demo": "Train a network to read handwritten digits.",
    "ops": "Operators: list, show, explain, check, coverage, pages.",
    "plugins": "Installed plugins: list, show.",
}


def test_alone_it_shows_the_help(run: Run) -> None:
    ran = run()
    assert ran == run("--help") == run("-h")
    assert (ran.err, ran.code) == ("", 0)
    assert ran.out.startswith("Usage: tt [OPTIONS] COMMAND [ARGUMENT]...\n")
    assert "a plugin-based tensor framework" in ran.out
    lines = [line.split(maxsplit=1) for line in ran.out.splitlines() if line.strip()]
    described = {words[0]: words[1] for words in lines if len(words) == 2}
    for command, description in COMMANDS.items():
        assert described[command] == description
    assert {"--version", "--debug", "--install-completion", "--show-completion"} <= described.keys()


def leaf_commands() -> dict[str, Any]:
    """Return every command that is not a group, by its words after `tt`."""
    found: dict[str, Any] = {}
    waiting: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(build()))]
    while waiting:
        words, command = waiting.pop()
        inner = getattr(command, "commands", {})
        waiting += [((*words, name), sub) for name, sub in inner.items()]
        if not inner:
            found[" ".join(words)] = command
    return found


@pytest.mark.parametrize("name", sorted(leaf_commands()))
def test_the_help_of_a_command_ends_with_examples_whose_options_exist(run: Run, name: str) -> None:
    shown = run(*name.split(), "--help").out
    _, _, end = shown.partition("Examples:\n")
    calls = [line.strip() for line in end.splitlines() if line.strip()]
    assert calls and all(call.startswith(f"tt {name}") for call in calls)
    command = leaf_commands()[name]
    for call in calls:  # parsed, not run
        command.make_context(name, shlex.split(call)[1 + len(name.split()) :]).close()


@pytest.mark.parametrize("name", sorted(set(leaf_commands()) - {"run"}))
def test_the_help_of_a_command_says_what_it_takes_in_words_for_users(run: Run, name: str) -> None:
    shown = run(*name.split(), "--help").out
    assert shown.startswith(f"Usage: tt {name} [OPTIONS]")
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert not [word for word in ("{", "list[", "<str>", "<path>", "[[") if word in shown]
    taken = [p for p in leaf_commands()[name].params if not getattr(p, "is_flag", False)]
    for param in taken:
        assert param.metavar and param.help, param.name  # a noun, and what it means
    for argument in (p for p in taken if p.param_type_name == "argument"):
        assert argument.metavar in shown.splitlines()[0]


def test_a_default_is_part_of_the_sentence_about_an_option(run: Run) -> None:
    assert (
        "  --seeds N         How many seeds, one training run each (default: 1).\n" in run("demo", "-h").out
    )


def test_the_usage_marks_arguments_that_may_be_left_out_or_repeated(run: Run) -> None:
    first = {name: run(*name.split(), "-h").out.splitlines()[0] for name in ("ops show", "ops check", "port")}
    assert first == {
        "ops show": "Usage: tt ops show [OPTIONS] NAME",
        "ops check": "Usage: tt ops check [OPTIONS] [FILE]...",
        "port": "Usage: tt port [OPTIONS] FILE...",
    }


def test_version(run: Run) -> None:
    ran = run("--version")
    assert (ran.out, ran.err, ran.code) == (f"tt {tt.__version__}\n", "", 0)


@pytest.mark.parametrize("group", ["", "ops", "plugins", "new", "cuda"])
def test_a_list_of_commands_cuts_no_line_off(run: Run, group: str) -> None:
    shown = run(*group.split(), "--help").out
    commands = shown.partition("Commands:")[2].partition("Examples:")[0].strip().splitlines()
    assert commands and shown.rstrip().splitlines()[-1].strip().startswith("tt ")
    assert not [line for line in commands if line.endswith("...") or len(line) > 80 or not line.endswith(".")]


@pytest.mark.parametrize("group", ["ops", "plugins"])
def test_a_group_alone_shows_its_help(run: Run, group: str) -> None:
    assert run(group).out.strip() == run(group, "--help").out.strip()
    assert run(group).code == 0


def test_a_command_that_does_not_exist_names_the_nearest(run: Run) -> None:
    ran = run("ops", "lst")
    assert ran.code == 2
    assert ran.out == ""
    assert "'lst'" in ran.err
    assert "'list'" in ran.err


def test_a_mistake_of_the_user_has_no_traceback(run: Run) -> None:
    ran = run("ops", "show", "meshgird")
    assert ran.out == ""
    assert ran.err == (
        "error: no operator is named 'meshgird'; did you mean 'meshgrid'?\n  see: tt ops list\n"
    )
    assert ran.code == 2


def test_debug_shows_the_traceback_of_a_mistake(run: Run) -> None:
    with pytest.raises(UnknownOpError):
        run("--debug", "ops", "show", "addd")


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_command_that_is_made_alone_is_the_same(name: str) -> None:
    whole, alone = build(), build(["--debug", name, "--help"])
    assert list(typer.main.get_command(alone).commands) == [name]  # type: ignore[attr-defined]  # a group
    runner = CliRunner()
    shown = [runner.invoke(command, [name, "--help"], prog_name="tt") for command in (whole, alone)]
    assert shown[0].output.startswith(("Usage: tt", "usage: tt"))
    assert shown[0].output == shown[1].output and shown[0].exit_code == shown[1].exit_code


@pytest.mark.parametrize("words", [["lst"], ["--help", "ops"], ["-h"], ["--version", "ops"], []])
def test_without_a_command_all_are_made(words: list[str]) -> None:
    assert set(typer.main.get_command(build(words)).commands) == set(OWN)  # type: ignore[attr-defined]  # a group


# --- plugins ---------------------------------------------------------------------------------------------------


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes plugins bring commands: name -> function or typer application."""

    def bring(**brought: object) -> None:
        module = types.ModuleType("tt_acme_cli")
        vars(module).update(brought)
        monkeypatch.setitem(sys.modules, "tt_acme_cli", module)
        monkeypatch.setattr("tt.cli.main.plugins_of_others", lambda: True)
        monkeypatch.setattr(host, "commands", lambda: {name: f"tt_acme_cli:{name}" for name in brought})

    return bring


def test_a_plugin_brings_a_command(run: Run, commands: Callable[..., None]) -> None:
    def greet(name: str) -> None:
        """Greet somebody."""
        typer.echo(f"Hello {name}")

    commands(greet=greet)
    assert run("greet", "Ada").out == "Hello Ada\n"
    assert ["greet", "Greet", "somebody."] in [line.split() for line in run().out.splitlines()]


def test_a_plugin_brings_a_group_of_commands(run: Run, commands: Callable[..., None]) -> None:
    acme = typer.Typer(help="Acme.")

    @acme.command()
    def one() -> None:
        typer.echo("1")

    @acme.command()
    def two() -> None:
        typer.echo("2")

    commands(acme=acme)
    assert run("acme", "two").out == "2\n"


def test_a_command_of_a_plugin_that_cannot_be_imported_stops_no_other(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tt.cli.main.plugins_of_others", lambda: True)
    monkeypatch.setattr(host, "commands", lambda: {"broken": "tt_no_such_module:app"})
    ran = run("--version")
    assert ran.out == f"tt {tt.__version__}\n"
    assert ran.err == (
        "error: command 'broken' (tt_no_such_module:app) is left out: "
        "ModuleNotFoundError: No module named 'tt_no_such_module'\n"
    )


def test_a_plugin_cannot_take_the_name_of_a_command_of_tt(run: Run, commands: Callable[..., None]) -> None:
    commands(env=lambda: typer.echo("mine"))
    ran = run("env", "--json")
    assert '"system"' in ran.out
    assert "command 'env' (tt_acme_cli:env) is left out" in ran.err


# --- completion ------------------------------------------------------------------------------------------------


def test_names_of_operators_are_completed() -> None:
    assert options.complete_op("argm") == ["argmax", "argmin"]
    assert options.complete_op("no_such") == []
    assert options.complete_name("argm") == ["argmax", "argmin"]
    assert options.complete_name("linalg.sv") == ["linalg.svd", "linalg.svdvals"]
    assert options.complete_name("no_such") == []


def test_names_of_plugins_and_backends_are_completed() -> None:
    assert options.complete_plugin("autog") == ["autograd"]
    found = options.complete_backend("cp")
    assert {"cpu", "cpu/sparse_coo", "cpu/jagged"} < {*found}
    assert [str(parse_place(name)) for name in found] == found  # each is what a command takes
    assert options.complete_backend("cuda/sparse_co") == ["cuda/sparse_coo"]


def test_words_of_options_are_completed() -> None:
    assert options.complete_dtype("bf") == ["bfloat16"]
    assert [name for name, _ in options.complete_kind("re")] == ["reduction"]
    assert [name for name, _ in options.complete_tag("data_dependent_")] == ["data_dependent_shape"]
    assert options.complete_check("gr") == ["gradient"]


def test_the_shell_asks_for_the_completion_of_an_operator(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tt ops show softsi")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert run().out.split() == ["softsign"]


def test_python_m_tt_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tt", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split()[0] == "tt" and done.stderr == ""
