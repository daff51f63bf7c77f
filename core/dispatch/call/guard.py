"""The guarded compare of every call with the previous one of its overload.

Compiled modules take the function from `guard.pxd`, where the C compiler can put it in place; see also Note [Instances
of a base] in `blank`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall

__all__ = ["serves"]


def serves(cached: CachedCall, epoch: int, keys: int, bits: int, positions: int) -> bool:
    """Return whether a cached call is that of a combination, in the settings of an epoch.

    `STATE.guard` as the epoch covers modes, too: see Note [Epochs and the guard] in `state`.
    """
    return (
        cached.keys == keys
        and cached.promotion == bits
        and cached.positions == positions
        and cached.epoch == epoch
    )
