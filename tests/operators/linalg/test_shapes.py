"""Shapes of linear algebra."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

SHAPES = [
    (),
    (3,),
    (4,),
    (2, 3),
    (3, 4),
    (3, 2),
    (0, 3),
    (3, 0),
    (2, 3, 4),
    (2, 4, 3),
    (1, 3, 2),
    (5, 1, 2, 3),
]


@pytest.mark.parametrize("left", SHAPES, ids=str)
@pytest.mark.parametrize("right", SHAPES, ids=str)
def test_products(agree, left, right):
    x, y = torch.zeros(left), torch.zeros(right)
    agree("matmul", torch.matmul, strides=False, self=x, other=y)
    for name in ("mm", "bmm", "mv", "dot", "outer"):
        if name != "mv" or left:  # PyTorch looks for the dimensions of a scalar before it counts them
            agree(name, getattr(torch, name), self=x, other=y)
    agree("linear", torch.nn.functional.linear, strides=False, input=x, weight=y)
    for name, own in (
        ("addmm", (4,)),
        ("addmv", (4,)),
        ("addr", (3, 4)),
        ("baddbmm", (2, 1, 1)),
        ("addmm", (7, 7, 7)),
    ):
        if name == "addmm" or (left and right and (name != "baddbmm" or len(left) == len(right) == 3)):
            agree(name, getattr(torch, name), self=torch.zeros(own), mat1=x, mat2=y)
    agree("cdist", torch.cdist, strides=False, x1=x, x2=y)
    if left or right:
        agree("cross", torch.linalg.cross, strides=False, self=x, other=y)
    agree("vecdot", torch.linalg.vecdot, strides=False, x=x, y=y)


def test_the_error_of_a_product_shows_both_shapes(rule):
    with pytest.raises(RuntimeError, match=r"matrices of 2x3 and 4x5 do not multiply"):
        rule("matmul", self=torch.zeros(2, 3), other=torch.zeros(4, 5))


MATRICES = [(), (3,), (3, 3), (2, 3), (3, 2), (0, 0), (2, 0), (2, 3, 3), (2, 3, 4), (0, 2, 2)]


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_decompositions(agree, shape):
    x = torch.zeros(shape)
    if len(shape) > 1:
        x = x + torch.eye(shape[-2], shape[-1])
    sizes = {"strides": False}
    for some in (True, False):
        agree("svd", torch.svd, **sizes, self=x, some=some)
        agree("svd", torch.linalg.svd, **sizes, A=x, full_matrices=some)
        agree("qr", torch.qr, **sizes, self=x, some=some)
    for mode in ("reduced", "complete", "r", "wrong"):
        agree("qr", torch.linalg.qr, **sizes, A=x, mode=mode)
    agree("svdvals", torch.linalg.svdvals, **sizes, A=x)
    agree("square_matrix", torch.linalg.inv, **sizes, A=x)
    agree("square_matrix", torch.linalg.cholesky, **sizes, A=x)
    agree("det", torch.linalg.det, **sizes, A=x)
    agree("slogdet", torch.linalg.slogdet, **sizes, A=x)
    agree("eig", torch.linalg.eig, **sizes, A=x)
    agree("eigh", torch.linalg.eigh, **sizes, A=x, UPLO="L")
    agree("eigvalsh", torch.linalg.eigvalsh, **sizes, A=x, UPLO="U")
    agree("eigvals", torch.linalg.eigvals, **sizes, A=x)
    agree("lu_factor_ex", torch.linalg.lu_factor_ex, **sizes, A=x)
    agree("factor_and_info", torch.linalg.cholesky_ex, **sizes, A=x)
    agree("pinv", torch.linalg.pinv, **sizes, A=x)
    agree("trace", torch.trace, **sizes, self=x)
    agree("diagflat", torch.diagflat, **sizes, self=x, offset=-2)
    for diagonal in (0, 1, -2):
        agree("diag", torch.diag, **sizes, self=x, diagonal=diagonal)


@pytest.mark.parametrize("right", [(), (3,), (4,), (3, 2), (2, 3), (2, 3, 2), (5, 1, 3, 2)], ids=str)
@pytest.mark.parametrize("left", [(3, 3), (2, 3, 3), (1, 3, 3), (2, 3)], ids=str)
def test_equations(agree, left, right):
    a, b = torch.zeros(left), torch.zeros(right)
    if left[-1] == left[-2]:
        a = a + torch.eye(3)
    agree("solve", torch.linalg.solve, strides=False, A=a, B=b)
    agree(
        "solve_triangular",
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=True),
        strides=False,
        A=a,
        B=b,
    )
    if len(left) > len(right) == 2:
        return  # PyTorch takes the rows of B for its batch there
    for driver in ("gelsy", "gelsd"):
        agree(
            "lstsq",
            lambda a, b, d: torch.linalg.lstsq(a, b, driver=d),
            strides=False,
            A=a,
            B=b,
            driver=driver,
        )
