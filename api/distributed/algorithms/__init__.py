"""Algorithms on top of collectives: uneven inputs, and what data parallel training does with gradients."""

from __future__ import annotations

from tt.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
