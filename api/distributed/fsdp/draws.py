"""Random numbers for tensors of which each rank keeps some rows: the rows of what one process would draw.

Note [One draw for all ranks]
-----------------------------
If each rank drew its rows from its own generator, ranks with equal seeds would have equal rows, ranks with different
seeds would let replicas come apart, and no seed would give what it gives in one process.  So the first rank takes from
its generator what the whole needs and tells the others where it begins; element ``i`` of the whole gets the words that
docs/design/random.md gives it, whoever draws it, and no rank draws more than its rows.  All ranks must call it, as they
call forward.  The generators of the other ranks move on as far as the first one's, so that ranks that began with equal
seeds stay in step, and nothing is drawn twice.  (Drawing the whole and keeping some rows was rejected: it needs the
memory that division saves.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import tt
from tt import Tensor
from tt.distributed import collectives, ranks
from tt.library import reserve
from tt.utils._pytree import tree_map

if TYPE_CHECKING:
    from tt.distributed.fsdp.sharded_parameter import Placement

__all__ = ["DRAWN", "draw", "generator_for_all"]

DRAWN: Final = frozenset((
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "rand_like", "randint_like",
    "randn_like", "random", "uniform",
))  # fmt: skip
"""Operators each element of which is drawn from words of its own, all elements from the same number of words."""

_GROUP: Final = 4
"""So many elements end with a block of words, whether an element takes one word, two or four."""

_OFFSETS: Final = 2**64


def draw(part: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator of `DRAWN` on this rank's rows, so that all ranks together have what one process would draw.

    Parameters
    ----------
    part : Tensor
        The rows; it has a `placement`.
    func : callable
        The operator; one in place changes its first argument.
    args, kwargs : tuple, dict
        Its arguments, in which tensors with as many elements as `part` are rows, too.
    """
    placement = part.placement
    device, count = part.device, part.numel()
    first = placement.of_rank(placement.rank)[0] * placement.row_size
    lead, begin = first % _GROUP, first // _GROUP
    generator = kwargs.get("generator")

    def on(prepare: Callable[[Tensor], Tensor], source: tt.Generator) -> Any:
        def prepared(leaf: object) -> Any:
            return prepare(leaf) if isinstance(leaf, Tensor) and leaf.shape == part.shape else leaf

        new_args, new_kwargs = tree_map(prepared, (args, kwargs))
        return func(*new_args, **{**new_kwargs, "generator": source})

    with tt.DisableTTFunctionSubclass():
        scratch = tt.Generator(device.type).manual_seed(0)
        with tt.no_grad():
            # A trial on four elements finds out how many words an element takes, whatever the operator.
            on(lambda leaf: leaf.new_zeros(_GROUP), scratch)
        blocks = scratch.get_offset()  # of words, for a group of elements
        # Rounded up to whole blocks, as one process would use them.
        total = -(-placement.rows * placement.row_size * blocks // _GROUP)
        seed, offset = generator_for_all(generator, total, placement, device)
        if not count:
            return func(*args, **kwargs)
        source = tt.Generator(device.type).manual_seed(seed)
        source.set_offset((offset + begin * blocks) % _OFFSETS)
        # Elements before the first row complete the group in which it begins.
        drawn = on(lambda leaf: tt.cat([leaf.reshape(-1)[:1].expand(lead), leaf.reshape(-1)]), source)
        drawn = drawn[lead:].reshape(part.shape)
        if not getattr(func, "name", "").endswith("_"):
            return drawn
        result = func(*args, **{**kwargs, "generator": scratch})  # refuses leaves, and lets autograd know
        with tt.no_grad():
            result.copy_(drawn)
        return result


def generator_for_all(
    generator: tt.Generator | None, blocks: int, placement: Placement, device: tt.device
) -> tuple[int, int]:
    """Take blocks of words from the first rank's generator; return its seed and the first block, on all ranks.

    Parameters
    ----------
    generator : Generator or None
        This rank's; the default one without it.
    blocks : int
        How many.
    placement : Placement
        The ranks.
    device : Device
        Where the numbers are drawn.
    """
    is_first = placement.is_first and placement.rank == 0
    seed, offset = reserve(generator, blocks if is_first else 0, device.type)
    # An int64 cannot hold a seed of 64 bits without a sign, so both numbers go in halves.
    state = tt.tensor([seed >> 32, seed & 0xFFFFFFFF, offset >> 32, offset & 0xFFFFFFFF], device=device)
    # First to the same rows of all copies, then within each copy: together from one rank to all.
    for group in (placement.replicas, placement.group):
        if group is not None and ranks.get_world_size(group) > 1:
            collectives.broadcast(state, group_src=0, group=group)
    high, low, further, near = state.tolist()
    theirs, begin = high << 32 | low, further << 32 | near
    if not is_first:
        missing = blocks if seed != theirs else begin + blocks - reserve(generator, 0, device.type)[1]
        if missing > 0:  # threads that share the first rank's generator have moved with it
            reserve(generator, missing, device.type)
    return theirs, begin
