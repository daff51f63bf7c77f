"""The cached calls of one form of an operator.

This is a hot module: plain Python that Cython compiles with the C types of `call_cache.pxd`.

Note [One entry of a combination]
---------------------------------
Functions and callers remember entries, and look at nothing but their epoch before they use one again.  So an entry
that is out of date must retire, and what retires entries finds them in the tables: an entry that serves must be in its
table, and stay there.  Where two threads resolve a combination at the same time, the second one's entry is dropped, and
what was resolved while something was registered retires at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.entry import EMPTY
from tt.core.forks import fork_safe_lock
from tt.core.types.keys import FUNCTION
from tt.core.types.promotion import join_bits, split_bits
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.entry import CachedCall
    from tt.core.dispatch.call.operator import Operator

# The epoch of entries that serve no further call.
RETIRED = -3

# Held while cached calls are added or retired.  Reentrant: adding one may collect garbage, and collecting a
# registration retires cached calls.
ENTERING = fork_safe_lock(rank=1)

NOT_OVERRIDDEN = ~FUNCTION


def table_key(bits: int, positions: int) -> Any:
    """Return what stands for the bits of a call in a table: a number where both words are small."""
    if bits >> 40 == 0 and positions >> 22 == 0:
        return bits | positions << 40
    return bits, positions


class CallCache:
    """The entries of one form of one operator.

    Attributes
    ----------
    operator : Operator
        The operator.
    form : str
        "functional", "inplace" or "out".
    last : CachedCall
        The entry of the previous call.
    tables : dict
        epoch -> keys -> `table_key` of the bits -> CachedCall.
    generation : int
        Counts how often the entries were forgotten.
    """

    operator: Operator
    form: str
    last: CachedCall
    tables: dict[int, dict[int, dict[Any, CachedCall]]]
    generation: int

    def find(self, keys: int, bits: int, positions: int) -> CachedCall:
        """Return the entry of a combination met before in these settings, or EMPTY."""
        epoch = STATE.guard
        if epoch < 0:
            return EMPTY
        tables = self.tables.get(epoch)
        if tables is None:
            return EMPTY
        table = tables.get(keys)
        if table is None:
            return EMPTY
        entry = table.get(table_key(bits, positions))
        if entry is None or entry.epoch != epoch:
            return EMPTY
        self.last = entry
        return entry

    def invalidate(self) -> None:
        """Forget all entries, because something that they depend on was registered or unregistered.

        Other threads may hold entries at this moment, or be resolving one: those that are known retire, and a thread
        that resolves sees by the generation that its entry is out of date.
        """
        with ENTERING:
            self.generation += 1
            tables = self.tables
            self.tables = {}
            self.last = EMPTY
            for table in tables.values():
                for entries in table.values():
                    for entry in entries.values():
                        entry.epoch = RETIRED

    def entry(self, keys: int, bits: int, positions: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the entry of a combination, resolving it if it is new."""
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
                entry = table.get(table_key(bits, positions))
                if entry is not None and entry.epoch == epoch:
                    self.last = entry
                    return entry
        generation = self.generation
        found = self.operator.resolve(self.form, keys, join_bits(bits, positions), args)
        return self.enter(found, epoch, generation)

    def entry_of(self, keys: int, bits: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the entry of a combination whose bits are one integer."""
        promotion, positions = split_bits(bits)
        return self.entry(keys, promotion, positions, args)

    def enter(self, entry: CachedCall, epoch: int, generation: int) -> CachedCall:
        """Return the entry that serves a combination: a new one, or another thread's.

        See Note [One entry of a combination].
        """
        with ENTERING:
            if self.generation != generation or entry.epoch != epoch:
                entry.epoch = RETIRED  # right for this call, which began before; for no later one
                return entry
            table = self.tables.setdefault(epoch, {}).setdefault(entry.keys, {})
            key = table_key(entry.promotion, entry.positions)
            known = table.get(key)
            if known is not None:
                entry = known
            else:
                table[key] = entry
                for bits in self.operator.short_bits(entry):
                    key = table_key(bits, 0)
                    if key not in table:
                        table[key] = entry.with_bits(bits)
            self.last = entry
        return entry
