"""e3nn: irreducible representations, spherical harmonics, tensor products, equivariant networks."""

from __future__ import annotations

import torch
from e3nn import io, o3
from e3nn import nn as enn

from tests.ecosystem import kit

REQUIRES = ("e3nn==0.6.0",)


def irreps():
    irreps = o3.Irreps("2x0e + 1x1o + 1x2e")
    return (
        irreps.dim,
        irreps.lmax,
        str(irreps.simplify()),
        [str(i) for i in o3.Irrep("1o") * o3.Irrep("1o")],
        [str(i) for i in o3.Irrep("1o") * o3.Irrep("2e")],
        str(o3.Irreps.spherical_harmonics(2)),
        [s.start for s in irreps.slices()],
    )


def rotations():
    a, b, c = torch.tensor(0.3), torch.tensor(0.7), torch.tensor(-0.2)
    r = o3.angles_to_matrix(a, b, c)
    return (
        r,
        o3.matrix_to_angles(r),
        o3.angles_to_quaternion(a, b, c),
        o3.matrix_to_axis_angle(r),
        o3.wigner_D(2, a, b, c),
        o3.Irreps("0e+1o+2e").D_from_angles(a, b, c),
    )


def wigner():
    return o3.wigner_3j(1, 1, 2), o3.wigner_3j(1, 1, 1)


def spherical_harmonics():
    x = kit.tensor(4, 3, grad=True)
    y = o3.spherical_harmonics([0, 1, 2, 3], x, normalize=True, normalization="component")
    y.square().sum(0).dot(torch.arange(16.0)).backward()
    return y, x.grad


def tensor_products():
    product = o3.FullyConnectedTensorProduct("2x0e + 1x1o", "1x0e + 1x1o", "2x0e + 2x1o")
    kit.fill(product)
    x, y = kit.tensor(3, 5), kit.tensor(3, 4)
    return product(x, y), o3.FullTensorProduct("1o", "1o")(kit.tensor(2, 3), kit.tensor(2, 3))


def linear():
    layer = kit.fill(o3.Linear("2x0e + 1x1o", "3x0e + 2x1o"))
    return layer(kit.tensor(4, 5)), layer.weight_numel


def gates():
    gate = enn.Gate("2x0e", [torch.relu], "1x0e", [torch.sigmoid], "1x1o")
    return (
        gate(kit.tensor(3, gate.irreps_in.dim)),
        str(gate.irreps_out),
        enn.Activation("2x0e", [torch.tanh])(kit.tensor(3, 2)),
        enn.BatchNorm("2x0e + 1x1o")(kit.tensor(4, 5)),
        enn.NormActivation("1x1o", torch.sigmoid)(kit.tensor(2, 3)),
    )


def networks():
    from e3nn.math import soft_one_hot_linspace

    net = kit.fill(enn.FullyConnectedNet([4, 8, 2], torch.relu))
    tensor = io.CartesianTensor("ij=ji")
    return (
        net(kit.tensor(3, 4)),
        soft_one_hot_linspace(kit.tensor(5, positive=True), 0.0, 1.0, 4, basis="smooth_finite", cutoff=True),
        tensor.from_cartesian(torch.eye(3)),
        io.SphericalTensor(2, 1, -1).with_peaks_at(torch.eye(3)),
    )
