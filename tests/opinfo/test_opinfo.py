"""Every operator of the first release against PyTorch's own database of operators."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

from tests.opinfo import checks


@pytest.mark.parametrize("check", checks.CHECKS)
@pytest.mark.parametrize("operator", sorted(checks.OPERATORS))
def test_agrees_with_pytorch(operator: str, check: str) -> None:
    mismatches = list(checks.CHECKS[check](operator))
    shown = "\n".join(map(str, mismatches[:10]))
    assert not mismatches, f"{len(mismatches)} mismatches (TT_TEST_SEED={checks.SEED} repeats them):\n{shown}"
