"""normflows: normalizing flows of Stimper and others: planar, affine coupling, spline, residual, Glow."""

from __future__ import annotations

import normflows as nf
import torch

from tests.ecosystem import kit

REQUIRES = ("normflows==1.7.3",)


def _train(model, x, steps=4):
    kit.fill(model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.forward_kld(x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.log_prob(x)


def real_nvp():
    flows = []
    for _ in range(2):
        flows += [
            nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2], init_zeros=False)),
            nf.flows.Permute(2, mode="swap"),
        ]
    return _train(nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), flows), kit.tensor(16, 2))


def neural_spline():
    flows = [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8, num_bins=4), nf.flows.LULinearPermute(2)]
    flows[1].permutation._permutation = torch.tensor([1, 0])
    return _train(
        nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows), kit.tensor(16, 2)
    )


def masked_autoregressive():
    return _train(
        nf.NormalizingFlow(nf.distributions.DiagGaussian(2), [nf.flows.MaskedAffineAutoregressive(2, 8)]),
        kit.tensor(16, 2),
    )


def planar_and_radial():
    z = kit.tensor(6, 2)
    return [kit.fill(f)(z) for f in (nf.flows.Planar((2,)), nf.flows.Radial((2,)))]


def residual():
    net = nf.nets.LipschitzMLP([2, 8, 2], init_zeros=False, lipschitz_const=0.9)
    kit.fill(net)
    flow = nf.flows.Residual(net, reduce_memory=False, brute_force=True)
    for p in net.modules():
        if hasattr(p, "u"):
            p.u.fill_(0.5), p.v.fill_(0.5)
    z, log_det = flow(kit.tensor(4, 2))
    return z.shape == (4, 2), log_det.shape == (4,)


def glow():
    block = nf.flows.GlowBlock(4, 8, split_mode="channel", scale=True)
    kit.fill(block)
    x = kit.tensor(2, 4, 4, 4)
    z, log_det = nf.flows.Squeeze().inverse(x)
    y, d = block.flows[0](x)
    return z, log_det, y, d


def targets():
    z = kit.tensor(5, 2)
    return [
        t.log_prob(z)
        for t in (
            nf.distributions.TwoMoons(),
            nf.distributions.CircularGaussianMixture(),
            nf.distributions.RingMixture(),
        )
    ]
