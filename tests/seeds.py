"""The seed of tests that draw samples of their own."""

from __future__ import annotations

import os
import random

__all__ = ["drawn_seed"]


def drawn_seed() -> int:
    """Return the seed of this run: TT_TEST_SEED, which repeats one; 0 for a CI service; else another in each run.

    As with Hypothesis (tests/conftest.py), a CI service judges every change by the same samples.
    """
    asked = os.environ.get("TT_TEST_SEED")
    return int(asked or (0 if os.environ.get("CI") else random.SystemRandom().randrange(1 << 31)))
