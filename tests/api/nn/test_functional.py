"""Functions behind torch.nn: hand-computed values, refusals, and PyTorch's numbers and gradients."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tt
import tt.nn.functional as F
from tt.errors import AssertedError, ValueRangeError

E, H, N, S = 8, 2, 2, 5


def city_blocks(x: Any, y: Any) -> Any:
    return (x - y).abs().sum(-1)


# --- losses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("swap", "expected"), [(False, [0.0, 2.0]), (True, [2.0, 2.0])])
def test_triplets_are_measured_by_the_given_distance(swap: bool, expected: list[float]) -> None:
    anchor, positive = tt.tensor([[0.0, 0.0], [0.0, 0.0]]), tt.tensor([[1.0, 1.0], [2.0, 0.0]])
    negative = tt.tensor([[2.0, 1.0], [0.0, 1.0]])
    more: dict[str, Any] = {"distance_function": city_blocks, "swap": swap, "reduction": "none"}
    loss = F.triplet_margin_with_distance_loss(anchor, positive, negative, **more)
    assert loss.tolist() == ([0.0, 2.0] if not swap else [2.0, 2.0]) == expected


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"reduction": "max"}, ValueError),
        ({"margin": 0.0}, ValueError),
        ({"negative": tt.ones(2)}, RuntimeError),
    ],
)
def test_wrong_triplets_are_refused(more: dict[str, Any], error: type[Exception]) -> None:
    args = {"anchor": tt.ones(1, 2), "positive": tt.ones(1, 2), "negative": tt.ones(1, 2), **more}
    with pytest.raises(error, match="triplet_margin_with_distance_loss"):
        F.triplet_margin_with_distance_loss(**args)


# --- attention -------------------------------------------------------------------------------------------------


def attend(**changed: Any) -> Any:
    """Return self-attention of two words, whose projections are the identity; some arguments changed."""
    x, one = tt.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]), tt.eye(2)
    args: dict[str, Any] = {
        "query": x, "key": x, "value": x, "embed_dim_to_check": 2, "num_heads": 1,
        "in_proj_weight": tt.cat([one, one, one]), "in_proj_bias": None, "bias_k": None, "bias_v": None,
        "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": one, "out_proj_bias": None,
    }  # fmt: skip
    return F.multi_head_attention_forward(**{**args, **changed})


def test_weights_are_the_softmax_of_scaled_products() -> None:
    output, weights = attend()
    share = 1 / (1 + np.exp(-np.sqrt(0.5)))
    expected = np.array([[share, 1 - share], [1 - share, share]])
    np.testing.assert_allclose(weights.numpy()[0], expected, rtol=1e-6)
    np.testing.assert_allclose(output.numpy()[:, 0], expected, rtol=1e-6)


def test_without_weights_the_output_is_the_same() -> None:
    mask = tt.tensor([[False, True], [False, False]])
    for more in ({}, {"attn_mask": mask}, {"attn_mask": mask.float() * -1e9}, {"key_padding_mask": mask[:1]}):
        output, weights = attend(need_weights=False, **more)
        assert weights is None
        np.testing.assert_allclose(output.numpy(), attend(**more)[0].numpy(), rtol=1e-6)


def test_a_causal_hint_stands_for_the_mask() -> None:
    mask = tt.tensor([[False, True], [False, False]])
    output, _ = attend(need_weights=False, attn_mask=mask, is_causal=True)
    assert output[0, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("more", "error", "problem"),
    [
        ({"embed_dim_to_check": 3}, AssertedError, "expected 3 features"),
        ({"num_heads": 3}, AssertedError, "do not divide"),
        ({"query": tt.ones(2, 2)}, AssertedError, "must have 2 dimensions"),
        ({"query": tt.ones(2)}, AssertedError, "must have the shape"),
        ({"value": tt.ones(3, 1, 2)}, AssertedError, "must have one shape"),
        ({"in_proj_weight": None}, AssertedError, "in_proj_weight is needed"),
        ({"use_separate_proj_weight": True}, AssertedError, "q_proj_weight is needed"),
        ({"bias_k": tt.ones(1, 1, 2)}, AssertedError, "together"),
        ({"static_k": tt.ones(3, 2, 2)}, AssertedError, "static_k must have the size 1"),
        ({"attn_mask": tt.ones(2, 2, dtype=tt.int32)}, AssertedError, "bools or of floating"),
        ({"attn_mask": tt.ones(2, 3)}, AssertedError, "attn_mask must have the shape"),
        ({"attn_mask": tt.ones(2)}, AssertedError, "attn_mask must have 2 or 3"),
        ({"key_padding_mask": tt.ones(1, 3)}, AssertedError, "key_padding_mask must fit"),
        ({"is_causal": True}, ValueRangeError, "needs an attn_mask"),
    ],
)
def test_wrong_attention_is_refused(more: dict[str, Any], error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=problem):
        attend(**more)


def test_the_namespace_lists_functions_that_are_no_operators() -> None:
    assert {"multi_head_attention_forward", "triplet_margin_with_distance_loss", "relu"} <= {*dir(F)}


def case(rng: Any, same: str, mask: str, keys: str, flags: dict[str, bool], lib: Any) -> dict[str, Any]:
    """Return the arguments of attention, from a generator of random numbers that starts equal for both libraries."""

    def leaf(*shape: int) -> Any:
        return lib.tensor(rng.normal(size=shape)).requires_grad_()

    query = leaf(S if same == "query" else 3, N, E)
    key = query if same == "query" else leaf(S, N, E)
    value = key if same else leaf(S, N, E)
    length = query.shape[0]
    bools = np.triu(np.ones((length, S), bool), 1)
    pairs: Any = {
        "": None,
        "bools": bools,
        "numbers": rng.normal(size=(length, S)),
        "by head": rng.normal(size=(N * H, length, S)),
    }[mask]
    pad = np.arange(S) >= np.array([[S], [S - 2]])
    padding: Any = {"": None, "bools": pad, "numbers": rng.normal(size=(N, S))}[keys]
    return {
        "query": query, "key": key, "value": value, "embed_dim_to_check": E, "num_heads": H,
        "in_proj_weight": leaf(3 * E, E), "in_proj_bias": leaf(3 * E), "dropout_p": 0.0,
        "bias_k": leaf(1, 1, E) if flags["add_bias"] else None,
        "bias_v": leaf(1, 1, E) if flags["add_bias"] else None,
        "add_zero_attn": flags["add_zero"], "out_proj_weight": leaf(E, E), "out_proj_bias": leaf(E),
        "attn_mask": None if pairs is None else lib.tensor(pairs), "need_weights": flags["need_weights"],
        "key_padding_mask": None if padding is None else lib.tensor(padding),
        "average_attn_weights": flags["average"], "use_separate_proj_weight": flags["apart"],
        **({f"{name}_proj_weight": leaf(E, E) for name in "qkv"} if flags["apart"] else {}),
        "is_causal": flags["causal"] and mask == "bools",
    }  # fmt: skip


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Support for mismatched", "ignore:multi_head_attention_forward")
@pytest.mark.parametrize("same", ["query", "key", ""])
@pytest.mark.parametrize("mask", ["", "bools", "numbers", "by head"])
def test_attention_and_its_gradients_are_those_of_torch(same: str, mask: str) -> None:
    torch = pytest.importorskip("torch")
    names = ("need_weights", "add_bias", "add_zero", "average", "apart", "causal")
    for keys, bits in product(("", "bools", "numbers"), (0b111111, 0b100101, 0b011010, 0b101000, 0b000000)):
        flags = {name: bool(bits >> i & 1) for i, name in enumerate(names)}
        found = []
        for lib, function in (
            (tt, F.multi_head_attention_forward),
            (torch, torch.nn.functional.multi_head_attention_forward),
        ):
            args = case(np.random.default_rng(bits), same, mask, keys, flags, lib)
            output, weights = function(**args)
            (output * output).sum().backward()
            gradients = [a.grad.numpy() for a in args.values() if getattr(a, "grad", None) is not None]
            found.append(
                [
                    output.detach().numpy(),
                    *([] if weights is None else [weights.detach().numpy()]),
                    *gradients,
                ]
            )
        assert len(found[0]) == len(found[1])
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
