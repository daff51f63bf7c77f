"""tt.nn.functional: the operators of neural networks as functions.

Examples
--------
>>> import tt
>>> import tt.nn.functional as F
>>> F.relu(tt.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

from tt import Tensor
from tt._compat.reasons import reason as _reason
from tt.core.methods.namespaces import namespace
from tt.library import ops, overridable, warn_user

_find, _operators = namespace(
    "nn.functional", also=("log_softmax", "relu", "sigmoid", "softmax", "tanh"), reason=_reason
)


_PRODUCTS = ("ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm")


def __getattr__(name: str) -> Any:
    # Kept in globals: the next look-up does not come here.
    if name == "grad":  # the module, which programs import from here
        member = globals()[name] = import_module("tt.nn.grad")
        return member
    if name in _PRODUCTS:
        member = globals()[name] = getattr(import_module("tt.nn.grouped_products"), name)
        return member
    return _find(name)


def __dir__() -> list[str]:
    own = ("multi_head_attention_forward", "triplet_margin_with_distance_loss", *_PRODUCTS)
    return sorted({*_operators(), *own})


# --- losses ----------------------------------------------------------------------------------------------------


@overridable
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean shortfall of the distance of anchor and negative from exceeding that of anchor and positive.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        Of one shape, (N, ...) or whatever `distance_function` takes.
    distance_function : callable, optional
        The distances of two tensors; `pairwise_distance` by default.
    margin : float
        By how much the distance of the negative should be larger.
    swap : bool
        Whether the distance of positive and negative counts where it is smaller (Balntas et al. 2016).
    reduction : str
        'mean', 'sum' or 'none'.

    Examples
    --------
    >>> import tt
    >>> import tt.nn.functional as F
    >>> a, p, n = tt.zeros(1, 2), tt.zeros(1, 2), tt.ones(1, 2)
    >>> def city_blocks(x, y):
    ...     return (x - y).abs().sum(-1)
    >>> F.triplet_margin_with_distance_loss(a, p, n, distance_function=city_blocks, margin=3.0)
    tensor(1.)
    """
    from tt.errors import ShapeError, ValueRangeError

    op = "triplet_margin_with_distance_loss"
    if reduction not in ("mean", "sum", "none"):
        raise ValueRangeError(f"{op}(): {reduction} is not a valid value for reduction (none, mean, sum)")
    if margin <= 0:
        raise ValueRangeError(f"{op}(): margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            f"{op}(): the tensors must have the same number of dimensions, got {list(anchor.shape)}, "
            f"{list(positive.shape)} and {list(negative.shape)}"
        )
    distance = ops.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    loss = ops.clamp_min(margin + near - far, 0)
    if reduction == "none":
        return loss
    return ops.mean(loss) if reduction == "mean" else ops.sum(loss)


# --- attention: parts ------------------------------------------------------------------------------------------

_MHA: Final = "multi_head_attention_forward"


def _refuse(problem: str) -> NoReturn:
    from tt.errors import AssertedError

    raise AssertedError(f"{_MHA}(): {problem}")


def _require(condition: bool, problem: str) -> None:
    """Raise unless a condition holds for which PyTorch has an assertion."""
    if not condition:
        _refuse(problem)


def _given(weight: Tensor | None, problem: str) -> Tensor:
    if weight is None:
        _refuse(problem)
    return weight


def _expect_attention(
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor | None, pairs: Tensor | None
) -> bool:
    """Return whether there is a batch; raise unless all tensors have the dimensions that this means."""
    dims = query.ndim
    _require(dims in (2, 3), f"query must have the shape (L, E) or (L, N, E), got {list(query.shape)}")
    _require(
        key.ndim == value.ndim == dims,
        f"key and value must have {dims} dimensions as query has, got {list(key.shape)} and {list(value.shape)}",
    )
    for name, mask, allowed in (("key_padding_mask", keys, (dims - 1,)), ("attn_mask", pairs, (2, 3))):
        _require(
            mask is None or mask.ndim in allowed,
            f"{name} must have {' or '.join(map(str, allowed))} dimensions for a query of {dims}, got "
            f"{None if mask is None else list(mask.shape)}",
        )
    if keys is not None and pairs is not None and keys.dtype != pairs.dtype:
        warn_user(
            f"multi_head_attention_forward(): key_padding_mask is {keys.dtype} and attn_mask {pairs.dtype}, which is "
            "deprecated\n  try: masks of one dtype"
        )
    return dims == 3


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> Sequence[Tensor]:
    """Return the three projections by one weight, in as few products as possible."""
    size = query.shape[-1]
    # Identity, not equality: it costs nothing, and self-attention needs one product instead of three.
    if query is key is value:
        return ops.split(ops.linear(query, weight, bias), size, -1)
    first, others = ops.split(weight, [size, 2 * size])
    start, rest = (None, None) if bias is None else ops.split(bias, [size, 2 * size])
    q = ops.linear(query, first, start)
    if key is value:
        return q, *ops.split(ops.linear(key, others, rest), size, -1)
    (wk, wv), (bk, bv) = ops.split(others, size), (None, None) if rest is None else ops.split(rest, size)
    return q, ops.linear(key, wk, bk), ops.linear(value, wv, bv)


def _projected_apart(
    inputs: Sequence[Tensor], weights: Sequence[Tensor | None], bias: Tensor | None
) -> list[Tensor]:
    """Return the three projections by weights of their own."""
    size = inputs[0].shape[-1]
    biases = (None,) * 3 if bias is None else ops.split(bias, size)
    result = []
    for name, x, weight, b in zip("qkv", inputs, weights, biases, strict=True):
        weight = _given(weight, f"{name}_proj_weight is needed if use_separate_proj_weight is true")
        shape = [size, x.shape[-1]]
        _require(
            list(weight.shape) == shape,
            f"{name}_proj_weight must have the shape {shape}, got {list(weight.shape)}",
        )
        result.append(ops.linear(x, weight, b))
    return result


def _heads(name: str, x: Tensor, static: Tensor | None, heads: int, size: int) -> Tensor:
    """Return keys or values of each head, (N H, S, E / H): projected ones, or those given in their stead."""
    if static is None:
        return ops.transpose(ops.reshape(x, (x.shape[0], heads, size)), 0, 1)
    _require(
        static.shape[0] == heads, f"{name} must have the size {heads} in dimension 0, got {static.shape[0]}"
    )
    _require(
        static.shape[2] == size, f"{name} must have the size {size} in dimension 2, got {static.shape[2]}"
    )
    return static


class _Masks:
    """The masks of pairs and of keys: bools, True for what takes no part, or numbers that are added to scores."""

    def __init__(
        self, pairs: Tensor | None, keys: Tensor | None, length: int, source: int, heads: int
    ) -> None:
        for name, mask in (("attn_mask", pairs), ("key_padding_mask", keys)):
            _require(
                mask is None or mask.dtype.is_floating_point or mask.dtype.kind == "bool",
                f"{name} must be a mask of bools or of floating point numbers",
            )
        if pairs is not None and tuple(pairs.shape) not in ((length, source), (heads, length, source)):
            from tt.errors import AssertedError

            raise AssertedError(
                f"{_MHA}(): attn_mask must have the shape {[length, source]} or {[heads, length, source]}, got "
                f"{list(pairs.shape)}"
            )
        self.pairs = pairs
        self.keys = keys

    def lengthen(self) -> None:
        """Let another key, after all others, take part."""
        # Zeros are False or no change of a score: the new key takes part.
        self.pairs = None if self.pairs is None else ops.pad(self.pairs, (0, 1))
        self.keys = None if self.keys is None else ops.pad(self.keys, (0, 1))

    def merged(self, like: Tensor, heads: int) -> Tensor | None:
        """Return one mask that broadcasts to (N, H, L, S): of bools if both are, else of numbers."""
        pairs, keys = self.pairs, self.keys
        if pairs is not None and pairs.ndim == 3:
            pairs = ops.reshape(pairs, (-1, heads, *pairs.shape[1:]))
        if keys is not None:
            keys = ops.reshape(keys, (keys.shape[0], 1, 1, keys.shape[1]))
        if pairs is None or keys is None:
            return keys if pairs is None else pairs
        if pairs.dtype.kind == keys.dtype.kind == "bool":
            return ops.logical_or(pairs, keys)
        return _numbers(pairs, like) + _numbers(keys, like)


def _masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the shares of the keys that take part; zeros in rows without any, as `scaled_dot_product_attention`."""
    if mask.dtype.is_floating_point:
        scores = scores + mask.to(scores.dtype)
    else:
        scores = ops.masked_fill(scores, mask, -math.inf)  # a NaN in a masked key does not matter
    empty = ops.all(scores == -math.inf, -1, True)
    # Zeros take part instead of infinities, so that gradients stay finite.
    return ops.masked_fill(ops.softmax(ops.masked_fill(scores, empty, 0), -1), empty, 0)


def _numbers(mask: Tensor, like: Tensor) -> Tensor:
    """Return a mask as numbers that are added to scores."""
    if mask.dtype.is_floating_point:
        return mask.to(like.dtype)
    return ops.masked_fill(
        ops.zeros(tuple(mask.shape), dtype=like.dtype, device=like.device), mask, -math.inf
    )


# --- attention -------------------------------------------------------------------------------------------------


@overridable
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return attention with several heads between projections, and its weights (Vaswani et al. 2017).

    L is the length of the queries, S that of keys and values, N the batch, E the features, H the heads.

    Parameters
    ----------
    query, key, value : Tensor
        (L, N, E), (S, N, E) and (S, N, E), or without N.
    embed_dim_to_check, num_heads : int
        E, and H, which divides it.
    in_proj_weight, in_proj_bias : Tensor or None
        The projections of query, key and value, one after the other: (3 E, E) and (3 E).
    bias_k, bias_v : Tensor or None
        A key and a value that are added to all others: (1, 1, E).
    add_zero_attn : bool
        Whether a key and a value of zeros are added.
    dropout_p : float
        The probability with which a weight is dropped, in training.
    out_proj_weight, out_proj_bias : Tensor, Tensor or None
        The projection of the result: (E, E) and (E).
    training : bool
        Whether weights are dropped.
    key_padding_mask : Tensor, optional
        (N, S): True for keys that take no part, or numbers that are added to the scores.
    need_weights : bool
        Whether the weights are returned; without them, the computation is faster.
    attn_mask : Tensor, optional
        (L, S) or (N H, L, S): True for pairs that take no part, or numbers that are added to the scores.
    use_separate_proj_weight : bool
        Whether the next three are used instead of `in_proj_weight`.
    q_proj_weight, k_proj_weight, v_proj_weight : Tensor, optional
        (E, E), (E, features of key) and (E, features of value).
    static_k, static_v : Tensor, optional
        (N H, S, E / H): used instead of the projected keys and values.
    average_attn_weights : bool
        Whether the weights are the mean of the heads.
    is_causal : bool
        A hint that `attn_mask` leaves out the keys after each query.

    Returns
    -------
    output : Tensor
        (L, N, E).
    weights : Tensor or None
        (N, L, S), or (N, H, L, S) for each head.

    Examples
    --------
    >>> import tt
    >>> import tt.nn.functional as F
    >>> x, one = tt.ones(3, 1, 2), tt.eye(2)
    >>> output, weights = F.multi_head_attention_forward(
    ...     x, x, x, 2, 1, tt.cat([one, one, one]), None, None, None, False, 0.0, one, None
    ... )
    >>> output.shape, weights.shape
    (tt.Size([3, 1, 2]), tt.Size([1, 3, 3]))
    """
    batched = _expect_attention(query, key, value, key_padding_mask, attn_mask)
    if is_causal and attn_mask is None:
        from tt.errors import ValueRangeError

        raise ValueRangeError(
            f"{_MHA}(): is_causal is a hint that attn_mask is causal, so it needs an attn_mask"
        )
    if not batched:
        query, key, value = (ops.unsqueeze(t, 1) for t in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else ops.unsqueeze(key_padding_mask, 0)
    length, batch, features = query.shape
    _require(
        features == embed_dim_to_check, f"expected {embed_dim_to_check} features, but query has {features}"
    )
    _require(
        num_heads > 0 and features % num_heads == 0, f"{num_heads} heads do not divide {features} features"
    )
    size = features // num_heads

    if use_separate_proj_weight:
        same = key.shape[:2] == value.shape[:2]
        _require(same, f"key {list(key.shape)} and value {list(value.shape)} must have one length and batch")
        apart = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _projected_apart((query, key, value), apart, in_proj_bias)
    else:
        same = key.shape == value.shape
        _require(same, f"key {list(key.shape)} and value {list(value.shape)} must have one shape")
        weight = _given(in_proj_weight, "in_proj_weight is needed unless use_separate_proj_weight is true")
        q, k, v = _projected(query, key, value, weight, in_proj_bias)

    heads = batch * num_heads
    masks = _Masks(attn_mask, key_padding_mask, length, key.shape[0], heads)
    # The fast operator makes the causal mask itself. With a mask of keys, or for weights, the given one is
    # needed.
    is_causal = is_causal and key_padding_mask is None and not need_weights
    if is_causal:
        masks.pairs = None
    if bias_k is not None or bias_v is not None:
        _require(
            bias_k is not None and bias_v is not None, "bias_k and bias_v are given together, or neither"
        )
        _require(static_k is None and static_v is None, "a bias cannot be added to static keys and values")
        k, v = (ops.cat([x, ops.expand(b, (1, batch, features))]) for x, b in ((k, bias_k), (v, bias_v)))
        masks.lengthen()
    q = ops.transpose(ops.reshape(q, (length, heads, size)), 0, 1)
    k, v = _heads("static_k", k, static_k, heads, size), _heads("static_v", v, static_v, heads, size)
    if add_zero_attn:
        k, v = (ops.cat([x, ops.new_zeros(x, (heads, 1, size))], 1) for x in (k, v))
        masks.lengthen()
    source = k.shape[1]
    if masks.keys is not None:
        fits = tuple(masks.keys.shape) == (batch, source)
        _require(
            fits, f"key_padding_mask must fit {batch} batches of {source} keys, got {list(masks.keys.shape)}"
        )

    mask, dropout, attention = masks.merged(query, num_heads), dropout_p if training else 0.0, None
    if need_weights:
        # The queries are scaled, of which there are fewer numbers than scores.
        scores = ops.bmm(q * math.sqrt(1.0 / size), ops.transpose(k, 1, 2))
        scores = ops.reshape(scores, (batch, num_heads, length, source))
        attention = ops.softmax(scores, -1) if mask is None else _masked_softmax(scores, mask)
        attention = ops.dropout(attention, dropout, True) if dropout else attention
        output = ops.transpose(ops.bmm(ops.reshape(attention, (heads, length, source)), v), 0, 1)
        attention = ops.mean(attention, 1) if average_attn_weights else attention
        attention = attention if batched else ops.squeeze(attention, 0)
    else:
        if mask is not None:  # here bools are True for what takes part
            mask = _numbers(mask, query) if mask.dtype.is_floating_point else ops.logical_not(mask)
        q, k, v = (ops.reshape(x, (batch, num_heads, x.shape[1], size)) for x in (q, k, v))
        output = ops.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal)
        output = ops.permute(output, (2, 0, 1, 3))
    output = ops.linear(ops.reshape(output, (length * batch, features)), out_proj_weight, out_proj_bias)
    output = ops.reshape(output, (length, batch, out_proj_weight.shape[0]))
    return output if batched else ops.squeeze(output, 1), attention
