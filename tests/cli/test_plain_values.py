"""Texts and flags without pydantic: the same values and errors as typer's, in each version of typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from tests.processes import printed_by
from tt.cli.help import Command


def call(plain: bool, *words: str) -> Any:
    """Call a command with parameters of every kind, and return what it got and what typer printed."""
    app, got = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False), {}

    @app.command(**({"cls": Command} if plain else {}))
    def command(
        name: Annotated[str, typer.Argument(metavar="NAME")],
        rest: Annotated[list[str] | None, typer.Argument(metavar="REST")] = None,
        kind: Annotated[str, typer.Option(metavar="KIND")] = "",
        flag: Annotated[bool, typer.Option("--flag")] = False,
        maybe: Annotated[bool | None, typer.Option("--maybe")] = None,
        count: Annotated[int, typer.Option(metavar="N")] = 3,
        few: Annotated[int, typer.Option(metavar="N", min=1, max=5)] = 2,
        seed: Annotated[int | None, typer.Option(metavar="N")] = None,
        only: Annotated[list[str] | None, typer.Option(metavar="WORD")] = None,
        path: Annotated[Path | None, typer.Option(metavar="FILE", exists=True)] = None,
        parsed: Annotated[str, typer.Option(metavar="X", parser=str.upper)] = "",
    ) -> None:
        got.update(locals())

    ran = CliRunner().invoke(app, list(words), prog_name="it")
    got.pop("got", None)
    return got, ran.exit_code, ran.stderr.splitlines()[-1:]


CALLS = (
    ("a",),
    ("a", "b", "c"),
    ("a", "--kind", "view", "--flag"),
    ("a", "--only", "x", "--only", "y", "--maybe"),
    ("a", "--count", "7", "--few", "5", "--seed", "1"),
    ("a", "--count", "seven"),
    ("a", "--few", "6"),
    ("a", "--path", "no_such_file"),
    ("a", "--path", __file__),
    ("a", "--parsed", "low"),
    ("a", "--flg"),
    ("a", "--kind"),
    ("",),
    (),
)


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_values_and_errors_are_those_of_typer(words: tuple[str, ...]) -> None:
    assert call(True, *words) == call(False, *words)


@pytest.mark.parametrize(
    "words", ["ops list --kind view", "ops explain add cpu:float32 2", "plugins list", "env"]
)
def test_a_command_whose_words_are_texts_imports_no_pydantic(words: str) -> None:
    program = (
        f"import sys, io; sys.argv = ['tt', *{words.split()!r}]\nfrom tt.cli.main import main\n"
        "sys.stdout, out = io.StringIO(), sys.stdout\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print('pydantic' in sys.modules, file=out)"
    )
    assert printed_by(program) == "False\n"
