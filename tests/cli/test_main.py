"""The command as a whole: help, version, errors, the commands of plugins, completion."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import tt
from tt.cli import options
from tt.cli.main import build
from tt.core.errors import UnknownOpError
from tt.core.host import host

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
    # The layout of the help is typer's, the words are ours.
    assert ran.out.startswith("Usage: tt [OPTIONS] COMMAND [ARGS]...\n")
    assert "A plugin-based tensor framework" in ran.out
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
    _, _, end = shown.partition("\n  Examples:\n")
    calls = [line.strip() for line in end.splitlines() if line.strip()]
    assert calls and all(call.startswith(f"tt {name}") for call in calls)
    command = leaf_commands()[name]
    for call in calls:  # parsed, not run
        command.make_context(name, shlex.split(call)[1 + len(name.split()) :]).close()


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
    assert options.complete_backend("cp") == ["cpu"]


def test_the_shell_asks_for_the_completion_of_an_operator(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tt ops show softsi")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert run().out.split() == ["softsign"]


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], str]:
    """Run a script in bash, in an empty home, with this `tt` on its path."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    program = tmp_path / "tt"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tt "$@"\n')
    program.chmod(0o755)
    settings = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def call(script: str) -> str:
        done = subprocess.run(
            ["bash", "-c", script], env=settings, capture_output=True, text=True, check=True, timeout=120
        )
        return done.stdout

    return call


@pytest.mark.exhaustive
def test_what_is_shown_for_bash_completes_there(shell: Callable[[str], str]) -> None:
    script = (
        "source <(tt --show-completion); COMP_WORDS=(tt plugins show spa) COMP_CWORD=3; _tt_completion tt"
    )
    assert shell(f'{script}; echo "${{COMPREPLY[@]}}"').split() == ["sparse"]


@pytest.mark.exhaustive
def test_what_is_installed_for_bash_completes_in_a_new_shell(shell: Callable[[str], str]) -> None:
    assert "bash completion installed" in shell("tt --install-completion")
    script = "source ~/.bashrc; COMP_WORDS=(tt ops show softsi) COMP_CWORD=3; _tt_completion tt"
    assert shell(f'{script}; echo "${{COMPREPLY[@]}}"').split() == ["softsign"]


def test_python_m_tt_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tt", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split()[0] == "tt" and done.stderr == ""
