"""tt.cuda.comm: copies, pieces and sums of tensors on several devices; `tt.nn.parallel.comm` describes them."""

from tt.nn.parallel.comm import (
    broadcast,
    broadcast_coalesced,
    gather,
    reduce_add,
    reduce_add_coalesced,
    scatter,
)

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]
