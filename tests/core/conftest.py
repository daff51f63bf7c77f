"""Fixtures of several files."""

from __future__ import annotations

import pytest

from tt.library import custom_op


@pytest.fixture
def define():
    """Define operators that are removed after the test."""
    made = []

    def decorate(*args, **kwargs):
        def wrapper(function):
            made.append(custom_op(*args, **kwargs)(function))
            return made[-1]

        return wrapper

    yield decorate
    for op in made:
        op.remove()
