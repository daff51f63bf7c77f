"""x_transformers: decoders, encoders, continuous and vision wrappers, positions, caches, generation."""

from __future__ import annotations

import torch
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    CrossAttender,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

from tests.ecosystem import kit

REQUIRES = ("x-transformers==2.31.10", "einops", "einx", "torch-einops-utils")


def _norms(module):
    return torch.stack([torch.tensor(-1.0) if p.grad is None else p.grad.norm() for p in module.parameters()])


def _decoder(**options):
    layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
    return kit.fill(TransformerWrapper(num_tokens=40, max_seq_len=32, attn_layers=layers).eval())


def _run(net):
    tokens = kit.integers(0, 40, (2, 9))
    logits = net(tokens)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:])
    loss.backward()
    return logits, loss, _norms(net)


def decoder():
    return _run(_decoder())


def flash_attention():
    return _run(_decoder(attn_flash=True))


def rotary_positions():
    return _run(_decoder(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True))


def alibi_positions():
    return _run(_decoder(alibi_pos_bias=True, alibi_num_heads=2))


def relative_positions():
    return _run(_decoder(rel_pos_bias=True, attn_qk_norm=True, sandwich_norm=True))


def grouped_heads():
    return _run(_decoder(attn_kv_heads=2, attn_gate_values=True))


def memory_and_sparse_attention():
    return _run(_decoder(attn_num_mem_kv=3, attn_sparse_topk=4, residual_attn=True))


def encoder():
    net = TransformerWrapper(num_tokens=40, max_seq_len=32, attn_layers=Encoder(dim=32, depth=1, heads=4))
    kit.fill(net.eval())
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 5:] = False
    return net(kit.integers(0, 40, (2, 9)), mask=mask, return_embeddings=True)


def encoder_and_decoder():
    net = XTransformer(
        dim=32, enc_num_tokens=40, enc_depth=1, enc_heads=4, enc_max_seq_len=16, dec_num_tokens=40, dec_depth=1,
        dec_heads=4, dec_max_seq_len=16, tie_token_emb=True,
    )  # fmt: skip
    kit.fill(net.train())
    loss = net(
        kit.integers(0, 40, (2, 7)), kit.integers(0, 40, (2, 6)), mask=torch.ones(2, 7, dtype=torch.bool)
    )
    loss.backward()
    return loss, _norms(net)


def cross_attention():
    net = kit.fill(CrossAttender(dim=32, depth=2, heads=4))
    return net(kit.tensor(1, 4, 32), context=kit.tensor(1, 6, 32))


def continuous():
    layers = Encoder(dim=32, depth=1, heads=4)
    net = kit.fill(
        ContinuousTransformerWrapper(dim_in=5, dim_out=3, max_seq_len=16, attn_layers=layers).eval()
    )
    return net(kit.tensor(2, 8, 5))


def vision():
    layers = Encoder(dim=32, depth=1, heads=4)
    net = ViTransformerWrapper(image_size=16, patch_size=4, num_classes=5, attn_layers=layers)
    return kit.fill(net.eval())(kit.tensor(2, 3, 16, 16))


def generation():
    net = AutoregressiveWrapper(_decoder(rotary_pos_emb=True))
    kit.fill(net.eval(), scale=2.0)
    prompt = kit.integers(0, 40, (1, 4))
    greedy = net.generate(prompt, 8, temperature=0.0, cache_kv=True)
    plain = net.generate(prompt, 8, temperature=0.0, cache_kv=False)
    return greedy, plain, net(kit.integers(0, 40, (2, 9)))
