"""Pass: the state that a model's groups share from one forward to its backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt import Tensor
from tt.autograd._passes import watch_passes, when_pass_ends
from tt.distributed.fsdp.averages import Average, UnderWay

if TYPE_CHECKING:
    from tt.distributed.fsdp.shard_group import ShardGroup

__all__ = ["Pass"]


class Pass:
    """The groups of a model in the order in which forward reached them, for gathering ahead."""

    def __init__(self) -> None:
        self.order: list[ShardGroup] = []
        self.last: list[ShardGroup] = []
        self.groups: list[ShardGroup] = []
        """Those of the model, reached or not."""
        self.depth = 0
        self.under_way = UnderWay()
        self._touched: dict[ShardGroup, list[Tensor] | None] | None = None
        self._begun: list[list[Average]] = []
        watch_passes()

    def begin(self, group: ShardGroup) -> None:
        """Note that forward is at a group, and gather the one that came after it last time."""
        position = len(self.order)
        self.order.append(group)
        # A guess by the last order; where forward takes another way, nothing is gathered ahead in vain.
        if self.last[position : position + 1] == [group]:
            for following in self.last[position + 1 : position + 2]:
                following.start_gathering()

    def before(self, group: ShardGroup) -> ShardGroup | None:
        """Return the group that backward comes to next."""
        order = self.order or self.last
        position = order.index(group) if group in order else 0
        return order[position - 1] if position else None

    # --- a backward that fails ------------------------------------------------------------------------------------

    def touch(self, group: ShardGroup) -> None:
        """Note that backward is about to change a group, which a failure resets to its present state."""
        if self._touched is None:
            if not when_pass_ends(self._ended):
                return
            self._touched = {}
        # The state before this backward, so only the first call counts.
        self._touched.setdefault(group, group.unreduced)

    def started(self, averages: list[Average], average: Average) -> None:
        """Note an average that backward has started, for a group to collect."""
        self._begun.append(averages)
        averages.append(average)

    def collected(self, group: ShardGroup) -> None:
        """Note that the gradients of a group, also those that had added up before, are on their way to `.grad`."""
        if self._touched is not None:
            self._touched[group] = None

    def _ended(self, failed: bool) -> None:
        touched, self._touched = self._touched or {}, None
        begun, self._begun = self._begun, []
        if not failed:
            if None in touched.values():  # gradients have been averaged
                for group in self.groups:
                    group.average_rest()
            return
        for averages in begun:
            averages.clear()
        for group, unreduced in touched.items():
            group.undo(unreduced)
        self.under_way.forget()
