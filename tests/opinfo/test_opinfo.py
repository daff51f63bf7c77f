"""Every operator of the first release against PyTorch's own database of operators."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

from tests.opinfo.checks import CHECKS
from tests.opinfo.samples import OPERATORS, SEED

pytestmark = pytest.mark.torch


@pytest.mark.sampled(40)
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_agrees_with_pytorch(operator: str, check: str) -> None:
    mismatches = list(CHECKS[check](operator))
    shown = "\n".join(map(str, mismatches[:10]))
    assert not mismatches, f"{len(mismatches)} mismatches (TT_TEST_SEED={SEED} repeats them):\n{shown}"
