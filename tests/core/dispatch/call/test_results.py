"""The results of a kernel are checked at the first call: number, kind and dtype of the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tt
from tt import library
from tt.core.errors import KernelContractError
from tt.library import CustomOp, custom_op


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    """Undo the registrations of a test."""
    with library.scoped():
        yield


def declared(
    returns: str, kernel: Callable[..., Any], arguments: str = "Tensor x", **options: Any
) -> CustomOp:
    op = custom_op("test::returning", schema=f"({arguments}) -> {returns}", **options)(lambda: None)
    op.kernel("cpu", kernel)
    return op


ONE, SEVERAL, LISTED = "Tensor", "(Tensor, Tensor)", "Tensor[]"

WRONG: list[tuple[str, str, Callable[[Any], Any], str]] = [
    ("nothing", ONE, lambda x: None, "returned nothing"),
    ("a float", ONE, lambda x: 1.5, "returned a float"),
    ("floats", ONE, lambda x: [1.0, 2.0], "returned a list of 2: float, float"),
    ("a tuple of arrays", ONE, lambda x: (x + 1, x + 2), "returned a tuple of 2: ndarray, ndarray"),
    ("a tuple of one", ONE, lambda x: (x + 1,), "returned a tuple of 1: ndarray"),
    ("a tensor", ONE, lambda x: tt.ones(2, 3), "returned a Tensor"),
    ("a text", ONE, lambda x: "abc", "returned a str"),
    ("a dict", ONE, lambda x: {"a": x}, "returned a dict"),
    ("an array whose rows would be results", SEVERAL, lambda x: x + 1, "returned a ndarray"),
    ("too few", SEVERAL, lambda x: (x + 1,), "returned a tuple of 1: ndarray"),
    (
        "too many",
        SEVERAL,
        lambda x: (x + 1, x + 2, x + 3),
        "returned a tuple of 3: ndarray, ndarray, ndarray",
    ),
    ("nothing of two", SEVERAL, lambda x: (x + 1, None), "returned a tuple of 2: ndarray, NoneType"),
    ("a number of two", SEVERAL, lambda x: (x + 1, 2.0), "returned a tuple of 2: ndarray, float"),
    ("nothing, of several", SEVERAL, lambda x: None, "returned nothing"),
    ("an array as a list", LISTED, lambda x: x + 1, "returned a ndarray"),
    ("a generator", LISTED, lambda x: (row for row in x), "returned a generator"),
    ("floats as a list", LISTED, lambda x: [1.0, 2.0], "returned a list of 2: float, float"),
    ("an array as a number", "float", lambda x: x + 1, "returned a ndarray"),
    ("nothing as a number", "int", lambda x: None, "returned nothing"),
    ("a float as an integer", "int", lambda x: 1.5, "returned a float"),
    ("a float as a bool", "bool", lambda x: np.float32(1), "returned a float32"),
    ("a number of two numbers", "(int, float)", lambda x: 1, "returned an int"),
]


@pytest.mark.parametrize(
    ("returns", "kernel", "found"), [case[1:] for case in WRONG], ids=[c[0] for c in WRONG]
)
def test_a_wrong_number_or_kind_of_results_is_named(
    returns: str, kernel: Callable[[Any], Any], found: str
) -> None:
    op = declared(returns, kernel)
    for _ in range(2):  # a call that was refused is not a verified one
        with pytest.raises(KernelContractError) as caught:
            op(tt.ones(2, 3))
        text = str(caught.value)
        assert text.startswith("the kernel of test::returning by (this program)") and found in text
        assert f"\n  expected: {returns.strip('()')}" in text
        assert "\n  schema: test::returning(Tensor x) -> " in text and "x=float32" in text


RIGHT: list[tuple[str, Callable[[Any], Any]]] = [
    (ONE, lambda x: x.sum()),  # a NumPy scalar
    (SEVERAL, lambda x: [x + 1, x.sum()]),
    (LISTED, lambda x: ()),
    (LISTED, lambda x: [x + 1, x + 2]),
    ("float", lambda x: x.sum()),
    ("float", lambda x: 1),
    ("int", lambda x: np.int64(3)),
    ("bool", lambda x: np.asarray(True)),
    ("(int, float)", lambda x: (1, 2.0)),
    ("Tensor?", lambda x: None),
]


@pytest.mark.parametrize(("returns", "kernel"), RIGHT)
def test_what_the_schema_says_is_taken(returns: str, kernel: Callable[[Any], Any]) -> None:
    op = declared(returns, kernel)
    for _ in range(2):
        op(tt.ones(2, 3))


def test_a_wrong_dtype_points_to_where_it_is_declared() -> None:
    op = declared(ONE, lambda x: np.argsort(x))
    with pytest.raises(KernelContractError, match=r"try: result='int64' where the operator is defined"):
        op(tt.ones(3))


def test_results_of_mutating_operators_are_checked() -> None:
    def bump(x: Any) -> Any:
        x += 1

    op = declared(ONE, bump, "Tensor(a!) x")
    with pytest.raises(KernelContractError, match="returned nothing"):
        op(tt.ones(2))
    op.remove()
    op = declared("(Tensor(a!), Tensor)", bump, "Tensor(a!) x")
    with pytest.raises(KernelContractError, match="returned nothing"):
        op(tt.ones(2))


@pytest.mark.parametrize("wrong", [lambda self: None, lambda self: [self, self], lambda self: 1.0])
def test_every_form_of_an_operator_is_checked(wrong: Callable[[Any], Any], tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text("""
schema_version: 1
namespace: test
ops:
- func: formed(Tensor self) -> Tensor
  kind: pointwise
  meta: same
  promote: [self]
  grad: [self]
  variants: [function, inplace, out]
""")
    table = library.KernelTable(device="cpu")
    table.kernel("test::formed", wrong)
    with library.REGISTRY.add_definitions(path), library.REGISTRY.add(table):
        x = tt.ones(2)
        for call in (
            lambda: tt.ops.test.formed(x),
            lambda: tt.ops.test.formed_(x.clone()),
            lambda: tt.ops.test.formed(x, out=tt.empty(2)),
            lambda: tt.ops.test.formed(tt.ones(2, requires_grad=True)),
        ):
            with pytest.raises(KernelContractError, match="the kernel of test::formed by"):
                call()
