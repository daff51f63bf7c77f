"""The module that prints: terminal, pipe, JSON."""

from __future__ import annotations

import json
import re

import pytest

from tt.cli import output


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rich believe that it writes on a terminal of 60 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says, the default is a pipe."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_table_in_a_pipe_is_aligned_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["name", "calls", "by"], [["add", 7, "cpu"], ["log_softmax", 1200, "[b]"]])
    assert capsys.readouterr().out == (
        "name         calls  by\n"
        "add              7  cpu\n"
        "log_softmax   1200  [b]\n"
    )  # fmt: skip


def test_table_on_a_terminal_is_drawn(capsys: pytest.CaptureFixture[str], terminal: None) -> None:
    output.table(["name", "calls"], [["add", 7], ["[b]", 1200]])
    shown = capsys.readouterr().out
    assert "\x1b[1m" in shown, "headings are bold"
    assert "─" in shown, "a line stands under the headings"
    assert "[b]" in shown, "cells are text, not markup"


def test_a_wide_table_is_split_on_a_terminal_and_keeps_its_first_columns(
    capsys: pytest.CaptureFixture[str], terminal: None
) -> None:
    columns = ["name", *(f"{letter * 12}" for letter in "abcdef")]
    output.wide_table(columns, [["first", *"123456"], ["second", *"123456"]], keep=1)
    shown = capsys.readouterr().out
    assert shown.count("second") == shown.count("name") == 2
    assert all(shown.count(column) == 1 for column in columns[1:])
    plain = re.sub(r"\x1b\[\d*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 60


def test_a_wide_table_in_a_pipe_is_one_and_may_be_empty(capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["name", *(f"{letter * 30}" for letter in "abc")]
    output.wide_table(columns, [["x", 1, 2, 3]], keep=1)
    assert len(capsys.readouterr().out.splitlines()) == 2
    output.wide_table(columns, [], keep=1, empty="none")
    assert capsys.readouterr() == ("", "none\n")


def test_table_without_rows_leaves_the_pipe_empty(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["name"], [], empty="no operator passes the filters")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "no operator passes the filters\n")


def test_numbers_that_are_not_whole_get_three_digits(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["seconds", "note"], [[0.5, None], [12.0, "x"]])
    assert capsys.readouterr().out == "seconds  note\n  0.500\n 12.000  x\n"


def test_fields_leave_out_what_is_empty_and_indent_further_lines(capsys: pytest.CaptureFixture[str]) -> None:
    output.fields({"kind": "view", "tags": "", "core": None, "signature": "a\nb"})
    assert capsys.readouterr().out == "kind       view\nsignature  a\n           b\n"


def test_fields_on_a_terminal_name_in_colour(capsys: pytest.CaptureFixture[str], terminal: None) -> None:
    output.fields({"kind": "view"})
    assert "\x1b[36mkind\x1b[0m" in capsys.readouterr().out


def test_json_is_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": "ß", "values": [1, None, 0.5]}
    output.as_json(value)
    assert json.loads(capsys.readouterr().out) == value


def test_problem_goes_to_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    output.problem("no operator is named [x]")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: no operator is named [x]\n")


def test_progress_in_a_pipe_is_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress("seed 0", 8, lines=2) as step:
        for done in range(1, 9):
            step(done, f"loss {1 / done:.2f}")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "seed 0: 4/8 loss 0.25\nseed 0: 8/8 loss 0.12\n"


def test_progress_can_be_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress("seed 0", 3, lines=0) as step:
        for done in range(1, 4):
            step(done, "")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_progress_on_a_terminal_is_a_bar(capsys: pytest.CaptureFixture[str], terminal: None) -> None:
    with output.progress("seed 0", 2) as step:
        step(1, "loss 1")
        step(2, "loss 0.5")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "seed 0" in captured.err
    assert "2/2" in captured.err
    assert "━" in captured.err
