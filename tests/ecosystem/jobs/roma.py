"""RoMa: rotations in all their forms, interpolation, registration, rigid transforms, gradients."""

from __future__ import annotations

import roma
import torch

from tests.ecosystem import kit

REQUIRES = ("roma==1.8.0",)


def conversions():
    vector = kit.tensor(5, 3)
    matrix, quaternion = roma.rotvec_to_rotmat(vector), roma.rotvec_to_unitquat(vector)
    return {
        "matrix": matrix,
        "quaternion": quaternion,
        "back": roma.rotmat_to_rotvec(matrix),
        "again": roma.unitquat_to_rotvec(quaternion),
        "euler": roma.rotmat_to_euler("xyz", matrix),
        "from_euler": roma.euler_to_rotmat("ZYX", [0.1, 0.2, 0.3], dtype=torch.float64),
        "six": roma.special_gramschmidt(kit.tensor(4, 3, 2)),
        "wxyz": roma.quat_xyzw_to_wxyz(quaternion),
    }


def procrustes():
    m = kit.tensor(4, 3, 3, grad=True)
    rotation, scales = roma.special_procrustes(m, return_singular_values=True)
    rotation.square().cumsum(-1).sum().backward()
    return rotation, scales, m.grad, roma.procrustes(m.detach())[0]


def symmetric():
    return roma.symmatrixvec_to_unitquat(kit.tensor(4, 10)), roma.rotvec_composition(
        [kit.tensor(3, 3), kit.tensor(3, 3)]
    )


def interpolation():
    first, second = roma.rotvec_to_unitquat(kit.tensor(3, 3)), roma.rotvec_to_unitquat(kit.tensor(3, 3))
    steps = torch.linspace(0, 1, 4)
    return {
        "slerp": roma.unitquat_slerp(first, second, steps),
        "fast": roma.unitquat_slerp_fast(first, second, steps),
        "rotvec": roma.rotvec_slerp(kit.tensor(3, 3), kit.tensor(3, 3), steps),
        "product": roma.quat_product(first, second),
        "inverse": roma.rotvec_inverse(kit.tensor(2, 3)),
    }


def registration():
    x = kit.tensor(10, 3)
    rotation = roma.rotvec_to_rotmat(torch.tensor([0.3, -0.2, 0.5]))
    y = x @ rotation.T * 1.5 + 0.1
    found = roma.rigid_points_registration(x, y, compute_scaling=True)
    return found, roma.rigid_vectors_registration(x, y)


def distances():
    first, second = roma.rotvec_to_rotmat(kit.tensor(4, 3)), roma.rotvec_to_rotmat(kit.tensor(4, 3))
    return {
        "geodesic": roma.rotmat_geodesic_distance(first, second),
        "cosine": roma.rotmat_cosine_angle(first.transpose(-1, -2) @ second),
        "mean": roma.special_procrustes(first.mean(0)),
        "orthonormal": roma.is_rotation_matrix(first, 1e-5),
    }


def transforms():
    move = roma.Rigid(roma.rotvec_to_rotmat(kit.tensor(3, 3)), kit.tensor(3, 3))
    other = roma.RigidUnitQuat(roma.rotvec_to_unitquat(kit.tensor(3, 3)), kit.tensor(3, 3))
    points = kit.tensor(3, 3)
    chained = move @ other.to_rigid()
    return chained.to_homogeneous(), move.apply(points), other.inverse().apply(points), move[0].linear
