"""linear_operator: structured matrices: dense, diagonal, Kronecker, Toeplitz, low rank; solves, determinants, roots."""

from __future__ import annotations

import linear_operator
import torch
from linear_operator import operators

from tests.ecosystem import kit

REQUIRES = ("linear_operator==0.6.1",)


def _positive(n):
    root = kit.tensor(n, n)
    return root @ root.mT + n * torch.eye(n)


def dense():
    op = linear_operator.to_linear_operator(_positive(5))
    b = kit.tensor(5, 2)
    return (
        op.solve(b),
        op.logdet(),
        op.diagonal(),
        op.inv_quad_logdet(b, logdet=True),
        (op @ b),
        op.cholesky().to_dense(),
    )


def added_diagonal():
    op = operators.RootLinearOperator(kit.tensor(6, 2)) + operators.ConstantDiagLinearOperator(
        torch.tensor([0.5]), 6
    )
    b = kit.tensor(6)
    return type(op).__name__, op.to_dense(), op.solve(b), op.logdet()


def kronecker():
    op = operators.KroneckerProductLinearOperator(
        operators.DenseLinearOperator(_positive(3)), operators.DenseLinearOperator(_positive(2))
    )
    b = kit.tensor(6, 1)
    evals, _ = torch.linalg.eigh(op)
    return op.to_dense(), op @ b, op.solve(b), op.logdet(), evals.sort().values


def toeplitz():
    op = operators.ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.1]))
    return op.to_dense(), op @ kit.tensor(4, 2), op.diagonal(), op.mT.to_dense()


def functions():
    op = operators.DiagLinearOperator(torch.tensor([1.0, 2.0, 3.0]))
    dense = operators.DenseLinearOperator(_positive(3))
    return {
        "diag": torch.diagonal(op),
        "add": torch.add(dense, op).to_dense(),
        "matmul": torch.matmul(dense, kit.tensor(3)),
        "solve": torch.linalg.solve(dense, kit.tensor(3, 1)),
        "cholesky": torch.linalg.cholesky(dense).to_dense(),
        "exp": op.exp().to_dense(),
        "sqrt": op.sqrt().to_dense(),
        "inverse": op.inverse().to_dense(),
        "mul": (dense * 2.0).to_dense(),
        "sum": dense.sum(-1),
        "getitem": dense[..., :2, 1:].to_dense(),
        "shape": list(torch.numel(dense) * torch.ones(1)),
    }


def gradients():
    x = kit.tensor(5, 2).requires_grad_()
    op = operators.RootLinearOperator(x).add_jitter(1.0)
    b = kit.tensor(5).requires_grad_()
    quad, logdet = op.inv_quad_logdet(b.unsqueeze(-1), logdet=True)
    (quad + logdet).backward()
    return quad, logdet, x.grad, b.grad


def conjugate_gradients():
    with (
        linear_operator.settings.max_cholesky_size(1),
        linear_operator.settings.cg_tolerance(1e-5),
        linear_operator.settings.fast_computations(log_prob=False),
    ):
        op = linear_operator.to_linear_operator(_positive(8))
        return op.solve(kit.tensor(8, 1)), linear_operator.utils.linear_cg(
            op.matmul, kit.tensor(8, 1), tolerance=1e-6
        )


def interpolated():
    base = operators.DenseLinearOperator(_positive(4))
    op = operators.InterpolatedLinearOperator(
        base,
        left_interp_indices=torch.tensor([[0, 1], [2, 3], [1, 2]]),
        left_interp_values=kit.tensor(3, 2),
        right_interp_indices=torch.tensor([[0, 1], [2, 3], [1, 2]]),
        right_interp_values=kit.tensor(3, 2),
    )
    stacked = operators.CatLinearOperator(base, base, dim=-2)
    return (
        op.to_dense(),
        op @ kit.tensor(3, 1),
        stacked.to_dense(),
        operators.BlockDiagLinearOperator(
            operators.DenseLinearOperator(torch.stack([_positive(2), _positive(2)]))
        ).to_dense(),
    )
