"""Random chains of views, copies and in-place changes, side by side with torch: geometry, values and gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt

dims = st.integers(-3, 3)
small = st.integers(0, 3)

# The operator, and what its arguments are drawn from; many fit only some tensors, and then both libraries refuse.
VIEWS = {
    "view": st.tuples(st.lists(st.sampled_from([-1, 1, 2, 3, 4, 6]), max_size=3)),
    "reshape": st.tuples(st.lists(st.sampled_from([-1, 1, 2, 3, 4, 6]), max_size=3)),
    "permute": st.tuples(st.permutations([0, 1, 2])),
    "transpose": st.tuples(dims, dims),
    "movedim": st.tuples(dims, dims),
    "unsqueeze": st.tuples(dims),
    "squeeze": st.tuples(dims),
    "flatten": st.tuples(dims, dims),
    "unflatten": st.tuples(dims, st.lists(st.sampled_from([-1, 1, 2, 3]), min_size=1, max_size=2)),
    "select": st.tuples(dims, dims),
    "narrow": st.tuples(dims, dims, small),
    "diagonal": st.tuples(dims, dims, dims),
    "unfold": st.tuples(dims, small, st.integers(1, 2)),
    "expand": st.tuples(st.lists(st.sampled_from([-1, -1, 1, 2]), min_size=2, max_size=4)),
    "chunk": st.tuples(st.integers(1, 3), dims),
    "tensor_split": st.tuples(st.lists(dims, max_size=2), dims),
    "split": st.tuples(st.lists(small, max_size=3), dims),
    "as_strided": st.tuples(st.lists(small, min_size=2, max_size=2), st.lists(small, min_size=2, max_size=2), small),
}  # fmt: skip
COPIES = {
    "repeat": st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=4)),
    "tile": st.tuples(st.lists(st.integers(0, 2), max_size=4)),
    "flip": st.tuples(st.lists(dims, max_size=2)),
    "roll": st.tuples(st.integers(-5, 5), dims),
    "rot90": st.tuples(st.integers(-3, 5), st.lists(dims, min_size=2, max_size=2)),
    "tril": st.tuples(dims),
    "diag_embed": st.tuples(dims, dims, dims),
    "index_select": st.tuples(dims, st.lists(small, min_size=1, max_size=3)),
}


def calls(*tables: dict[str, Any]) -> Any:
    options = {name: arguments for table in tables for name, arguments in table.items()}
    return st.sampled_from(sorted(options)).flatmap(lambda name: st.tuples(st.just(name), options[name]))


shapes = st.lists(st.sampled_from([0, 1, 2, 2, 3, 4]), max_size=3)
changes = st.sampled_from(["none", "mul_", "copy_"])


def run(
    lib: Any, shape: list[int], steps: Any, change: str, complex_: bool, *, gradients: bool = True
) -> Any:
    """Return every result of a chain of steps and the gradient of the leaf, or the error that stopped it."""
    count = int(np.prod(shape, dtype=int))
    leaf = lib.arange(float(count), dtype=lib.float64).reshape(shape) - 2
    leaf = leaf * (1 - 0.5j) if complex_ else leaf
    leaf = leaf.detach().requires_grad_(gradients)
    x = leaf * 2
    seen = [x]
    try:
        for name, arguments in steps:
            if name == "index_select":
                arguments = (arguments[0], lib.tensor(arguments[1]))
            x = getattr(x, name)(*arguments)
            x = x if isinstance(x, lib.Tensor) else x[-1]
            seen.append(x)
    except (RuntimeError, IndexError, ValueError) as error:
        return "error", next(
            kind for kind in (IndexError, RuntimeError, ValueError) if isinstance(error, kind)
        )
    found = [(tuple(t.shape), tuple(t.stride()), t.storage_offset()) for t in seen]
    if change != "none" and not any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True)):
        try:
            x.mul_(3) if change == "mul_" else x.copy_(x.detach() + 1)
        except RuntimeError:
            return "refused", found
    if gradients:
        weights = lib.arange(1.0, x.numel() + 1, dtype=lib.float64).reshape(x.shape)
        total = (x * weights).sum() + (seen[0] * seen[0]).sum()
        (abs(total) if complex_ else total).backward()
    return found, [np.array(t.detach().numpy()) for t in [*seen, *([leaf.grad] if gradients else [])]]


def overlapping(found: Any) -> bool:
    """Return whether some step is a view whose elements coincide, which PyTorch does not always allow to change."""
    for shape, strides, _ in found:
        places = sum(np.ix_(*(np.arange(n) * step for n, step in zip(shape, strides, strict=True))))
        if np.unique(places).size < np.size(places):
            return True
    return False


def compare(shape: list[int], steps: Any, change: str, complex_: bool, *, strides: bool) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = (run(lib, shape, steps, change, complex_) for lib in (torch, tt))
    if expected[0] == "refused" or found[0] == "refused":
        return  # which changes are refused is tested by itself
    if found[0] == "error" and any(name == "roll" for name, _ in steps):
        return  # PyTorch ignores the dimension of tensors without elements
    if "error" in (expected[0], found[0]):
        assert found[0] == expected[0]
        return
    if strides:
        for mine, other in zip(found[0], expected[0], strict=True):
            # A tensor without elements has no place, and NumPy gives it strides of its own.
            assert mine == other if 0 not in other[0] else mine[0] == other[0]
    if change != "none" and overlapping(expected[0]):
        return  # the order of writes to one place is not promised
    for ours, theirs in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.torch
@settings(max_examples=300, deadline=None)
@given(
    shape=shapes, steps=st.lists(calls(VIEWS), min_size=1, max_size=3), change=changes, complex_=st.booleans()
)
def test_chains_of_views(shape, steps, change, complex_):
    compare(shape, steps, change, complex_, strides=True)


@pytest.mark.torch
@settings(max_examples=200, deadline=None)
@given(shape=shapes, steps=st.lists(calls(VIEWS, COPIES), min_size=1, max_size=3), complex_=st.booleans())
def test_chains_of_views_and_copies(shape, steps, complex_):
    compare(shape, steps, "none", complex_, strides=False)


@settings(max_examples=100, deadline=None)
@given(shape=shapes, steps=st.lists(calls(VIEWS), min_size=1, max_size=3), change=changes)
def test_chains_of_views_of_composites_alone(shape, steps, change):
    kernels = run(tt, shape, steps, change, False)
    with tt.mask_kernels("@non-core"):
        composites = run(tt, shape, steps, change, False)
    if kernels[0] in ("error", "refused") or composites[0] in ("error", "refused"):
        assert kernels[0] == composites[0]
        return
    for mine, other in zip(kernels[0], composites[0], strict=True):
        assert mine == other if 0 not in other[0] else mine[0] == other[0]
    for one, theirs in zip(kernels[1], composites[1], strict=True):
        np.testing.assert_allclose(one, theirs, rtol=1e-12)
