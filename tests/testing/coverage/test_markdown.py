"""The matrix as Markdown."""

from __future__ import annotations

import pytest

from tt.testing.coverage.markdown import GENERATED, markdown

pytestmark = pytest.mark.exhaustive


def test_the_tables_of_markdown_have_a_line_for_each_family_and_operator(found):
    text = markdown(found)
    lines = text.splitlines()
    assert lines[0] == GENERATED
    assert [line[3:] for line in lines if line.startswith("## ")] == found.families()
    for row in found.rows:
        assert sum(line.startswith(f"| {row.definition.name} |") for line in lines) >= 1
    widths = {line.count("|") for line in lines if line.startswith("|")}
    assert widths == {len(found.places) + 2, len(found.places) + 3}
