"""Gradients of custom operators: missing, wrong and right ones."""

from __future__ import annotations

import pytest

from tests.testing.checks.planted import faults_of


@pytest.mark.parametrize(
    ("backward", "faults"),
    [
        (lambda ctx, g: 2 * g, set()),
        (lambda ctx, g: 3 * g, {"gradient_wrong"}),
        (lambda ctx, g: g.mul_(2), {"gradient_mutates"}),
        (lambda ctx, g: (2 * g).reshape(-1), {"gradient_fails"}),
        (lambda ctx, g: 2 * g.detach(), {"second_gradient_wrong"}),
    ],
)
def test_a_wrong_gradient_is_named(backward, faults):
    found = faults_of("test_gradients", backward=backward)
    assert faults <= found and bool(found) == bool(faults)


def test_an_operator_without_a_gradient_is_named():
    assert faults_of("test_autograd_registration", backward=None) == {"no_gradient"}
    assert faults_of("test_autograd_registration") == set()
