"""opt_einsum: contraction paths, contractions by torch, constants, shared intermediates."""

from __future__ import annotations

import opt_einsum
import torch

from tests.ecosystem import kit

REQUIRES = ("opt_einsum==3.4.0",)


def contractions():
    x, y, z = kit.tensor(3, 4), kit.tensor(4, 5), kit.tensor(5, 3)
    return [
        opt_einsum.contract("ij,jk,ki->", x, y, z),
        opt_einsum.contract("ij,jk,kl->il", x, y, z, optimize="optimal"),
        opt_einsum.contract("i...,...j->ij", kit.tensor(2, 3), kit.tensor(3, 4)),
        opt_einsum.contract("bij,bjk->bik", kit.tensor(2, 3, 4), kit.tensor(2, 4, 2), backend="torch"),
    ]


def gradients():
    x, y, z = (kit.tensor(*shape, grad=True) for shape in ((3, 4), (4, 5), (5, 3)))
    opt_einsum.contract("ij,jk,kl->il", x, y, z).square().sum().backward()
    return x.grad, y.grad, z.grad


def paths():
    path, info = opt_einsum.contract_path(
        "ab,bc,cd,de->ae", *(torch.ones(4, 8), torch.ones(8, 2), torch.ones(2, 8), torch.ones(8, 4))
    )
    return (
        path,
        float(info.opt_cost),
        int(info.largest_intermediate),
        str(opt_einsum.backends.has_tensordot("torch")),
    )


def expressions():
    fixed = opt_einsum.contract_expression(
        "ij,jk,kl->il", kit.tensor(3, 4), (4, 5), kit.tensor(5, 3), constants=[0, 2]
    )
    free = opt_einsum.contract_expression("ab,bc->ac", (2, 3), (3, 4))
    return fixed(kit.tensor(4, 5)), free(kit.tensor(2, 3), kit.tensor(3, 4))


def sharing():
    x, y, z = kit.tensor(3, 4), kit.tensor(4, 5), kit.tensor(5, 3)
    with opt_einsum.shared_intermediates() as cache:
        first = opt_einsum.contract("ij,jk,kl->il", x, y, z)
        second = opt_einsum.contract("ij,jk,kl->li", x, y, z)
    return first, second, len(cache) > 0
