"""Files that commands write: whole or not at all, and never over something else."""

from __future__ import annotations

import pytest
import typer

from tt.cli.files import require_writable, write

MARK = "<!-- made by tt -->"


@pytest.mark.parametrize("text", ["", f"{MARK}\nold", f"# Title\n{MARK}\nold"])
def test_an_earlier_report_is_replaced(tmp_path, text):
    path = tmp_path / "report.md"
    path.write_text(text)
    require_writable(path, MARK)
    write(path, "new")
    assert path.read_text() == "new" and [p.name for p in tmp_path.iterdir()] == ["report.md"]


@pytest.mark.parametrize("content", [b"something else", b"\xff\xfe"])
def test_any_other_file_is_kept(tmp_path, content):
    path = tmp_path / "report.md"
    path.write_bytes(content)
    with pytest.raises(typer.BadParameter, match="this command did not write it"):
        require_writable(path, MARK)


def test_what_is_in_the_way_is_named(tmp_path):
    with pytest.raises(typer.BadParameter, match="it is a folder"):
        require_writable(tmp_path, MARK)
    with pytest.raises(typer.BadParameter, match="does not exist"):
        require_writable(tmp_path / "no" / "report.md", MARK)
    with pytest.raises(typer.BadParameter, match="cannot write"):
        write(tmp_path / "no" / "report.md", "text")
