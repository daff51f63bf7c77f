"""The cached calls of one form of an operator.

This is a hot module: plain Python that Cython compiles with the C types of `call_cache.pxd`.

Note [One cached call per combination]
--------------------------------------
Functions and overloads keep cached calls and compare nothing but the epoch before they use one again, so stale ones
must be retired.  They are retired by walking the tables, so every live cached call must be in one.  If two threads
resolve a combination at the same time, the second one's cached call is dropped; one that was resolved during a
registration retires at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.cached_call import EMPTY
from tt.core.forks import fork_safe_lock
from tt.core.types.keys import FUNCTION
from tt.core.types.promotion import join_bits, split_bits
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator

# The epoch of cached calls that serve no further call.
RETIRED = -3

# Held while cached calls are added or retired.  Reentrant: adding one may collect garbage, and collecting a
# registration retires cached calls.
ENTERING = fork_safe_lock(rank=1)

NOT_OVERRIDDEN = ~FUNCTION


def table_key(bits: int, positions: int) -> Any:
    """Return the key of a call's bits in a table: a single number if both words are small."""
    if bits >> 40 == 0 and positions >> 22 == 0:
        return bits | positions << 40
    return bits, positions


class CallCache:
    """The cached calls of one form of one operator.

    Attributes
    ----------
    operator : Operator
        The operator.
    form : str
        "functional", "inplace" or "out".
    last : CachedCall
        The cached call of the previous call.
    tables : dict
        epoch -> keys -> `table_key` of the bits -> CachedCall.
    generation : int
        Counts how often the tables were emptied.
    """

    operator: Operator
    form: str
    last: CachedCall
    tables: dict[int, dict[int, dict[Any, CachedCall]]]
    generation: int

    def find(self, keys: int, bits: int, positions: int) -> CachedCall:
        """Return the cached call of a combination met before in these settings, or EMPTY."""
        epoch = STATE.guard
        if epoch < 0:
            return EMPTY
        tables = self.tables.get(epoch)
        if tables is None:
            return EMPTY
        table = tables.get(keys)
        if table is None:
            return EMPTY
        cached = table.get(table_key(bits, positions))
        if cached is None or cached.epoch != epoch:
            return EMPTY
        self.last = cached
        return cached

    def invalidate(self) -> None:
        """Drop all cached calls, because something that they depend on was registered or unregistered.

        Other threads may hold cached calls at this moment, or be resolving one: those in the tables retire, and a
        thread that is resolving detects by the generation that its cached call is stale.
        """
        with ENTERING:
            self.generation += 1
            tables = self.tables
            self.tables = {}
            self.last = EMPTY
            for table in tables.values():
                for calls in table.values():
                    for cached in calls.values():
                        cached.epoch = RETIRED

    def cached_call(self, keys: int, bits: int, positions: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the cached call of a combination, resolving it if it is new."""
        keys &= NOT_OVERRIDDEN
        epoch = STATE.epoch
        last = self.last
        if (
            last.keys == keys
            and last.promotion == bits
            and last.positions == positions
            and last.epoch == epoch
        ):
            return last
        tables = self.tables.get(epoch)
        if tables is not None:
            table = tables.get(keys)
            if table is not None:
                cached = table.get(table_key(bits, positions))
                if cached is not None and cached.epoch == epoch:
                    self.last = cached
                    return cached
        generation = self.generation
        found = self.operator.resolve(self.form, keys, join_bits(bits, positions), args)
        return self.enter(found, epoch, generation)

    def cached_call_of(self, keys: int, bits: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the cached call of a combination whose bits are one integer."""
        promotion, positions = split_bits(bits)
        return self.cached_call(keys, promotion, positions, args)

    def enter(self, cached: CachedCall, epoch: int, generation: int) -> CachedCall:
        """Add a cached call to the tables and return it, or another thread's for the same combination.

        See Note [One cached call per combination].
        """
        with ENTERING:
            if self.generation != generation or cached.epoch != epoch:
                cached.epoch = RETIRED  # right for this call, which began before, and not for later ones
                return cached
            table = self.tables.setdefault(epoch, {}).setdefault(cached.keys, {})
            key = table_key(cached.promotion, cached.positions)
            known = table.get(key)
            if known is not None:
                cached = known
            else:
                table[key] = cached
                for bits in self.operator.short_bits(cached):
                    key = table_key(bits, 0)
                    if key not in table:
                        table[key] = cached.with_bits(bits)
            self.last = cached
        return cached
