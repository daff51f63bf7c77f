"""vector_quantize_pytorch: codebooks by averages, residual, grouped, finite scalar, lookup-free, latent."""

from __future__ import annotations

import torch
from vector_quantize_pytorch import (
    FSQ,
    LFQ,
    GroupedResidualVQ,
    LatentQuantize,
    RandomProjectionQuantizer,
    ResidualFSQ,
    ResidualVQ,
    SimVQ,
    VectorQuantize,
)

from tests.ecosystem import kit

REQUIRES = ("vector-quantize-pytorch==1.32.0", "einops", "einx", "torch-einops-utils")

CODEBOOKS = ("embed", "embed_avg", "codebook")


def _run(quantizer, *shape):
    kit.fill(quantizer, buffers=CODEBOOKS)
    x = kit.tensor(*(shape or (2, 6, 8)), grad=True)
    out = quantizer(x)
    sums = [t.float().sum() for t in out if isinstance(t, torch.Tensor) and t.requires_grad]
    if sums:
        torch.stack(sums).sum().backward()
    return [t for t in out if isinstance(t, torch.Tensor)], x.grad


def by_averages():
    quantizer = VectorQuantize(dim=8, codebook_size=16, decay=0.8)
    return _run(quantizer.train()), dict(quantizer.named_buffers())


def by_gradient():
    options = {"ema_update": False, "learnable_codebook": True, "rotation_trick": False}
    return _run(VectorQuantize(dim=8, codebook_size=16, **options).train())


def cosine():
    return _run(VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True, commitment_weight=0.5).train())


def several_heads():
    return _run(
        VectorQuantize(
            dim=8, codebook_dim=4, heads=2, codebook_size=16, separate_codebook_per_head=True
        ).eval()
    )


def images():
    return _run(VectorQuantize(dim=8, codebook_size=16, accept_image_fmap=True).eval(), 2, 8, 4, 4)


def masked():
    quantizer = kit.fill(VectorQuantize(dim=8, codebook_size=16).eval(), buffers=CODEBOOKS)
    mask = torch.tensor([[True] * 4 + [False] * 2, [True] * 6])
    return quantizer(kit.tensor(2, 6, 8), mask=mask)


def residual():
    quantizer = ResidualVQ(dim=8, num_quantizers=3, codebook_size=16)
    results = _run(quantizer.eval())
    return results, quantizer.get_codes_from_indices(results[0][1])


def grouped():
    return _run(GroupedResidualVQ(dim=8, num_quantizers=2, groups=2, codebook_size=16).eval())


def finite_scalar():
    quantizer = FSQ(levels=[8, 5, 5, 3])
    results = _run(quantizer, 2, 6, 4)
    return results, quantizer.indices_to_codes(results[0][1])


def residual_finite_scalar():
    return _run(ResidualFSQ(dim=8, levels=[8, 5, 3], num_quantizers=2))


def lookup_free():
    return _run(LFQ(codebook_size=16, dim=4, entropy_loss_weight=0.1, diversity_gamma=1.0).train(), 2, 6, 4)


def latent():
    return _run(LatentQuantize(levels=[5, 5, 8], dim=8, commitment_loss_weight=0.1), 2, 8, 4, 4)


def one_layer():
    return _run(SimVQ(dim=8, codebook_size=16, rotation_trick=True))


def random_projection():
    quantizer = RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=16)
    return kit.fill(quantizer, buffers=(*CODEBOOKS, "rand_projs"))(kit.tensor(2, 6, 8))
