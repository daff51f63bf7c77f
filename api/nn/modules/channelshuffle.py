"""Channels of several groups mixed."""

from __future__ import annotations

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Take a channel of each group in turn: (N, C, ...), which stays.

    Source: Zhang et al., ShuffleNet, 2017.

    Examples
    --------
    >>> import tt
    >>> tt.nn.ChannelShuffle(2)(tt.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with its channels mixed."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"
