"""Shape rules for the dispatcher: they check the arguments of kernels, and explain why a kernel raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt.core.meta import MetaHandle
    from tt.core.schema.model import OpDefinition
    from tt.core.tensor.backend import Backend

__all__ = ["run_rule"]


def run_rule(
    definition: OpDefinition, args: Sequence[Any], backend: Backend | None = None
) -> MetaHandle | tuple[MetaHandle, ...] | list[MetaHandle]:
    """Return the metadata of an operator's results, or raise PyTorch's error; see `tt.core.meta.run_rule`."""
    from tt.core import meta  # above the dispatcher: a backend that asks the registry for operators

    return meta.run_rule(definition, args, backend)
