"""Options for computing the cross-entropy of a linear layer in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["LinearCrossEntropyOptions"]


@dataclass
class LinearCrossEntropyOptions:
    """PyTorch's options for computing logits in parts, which `LinearCrossEntropyLoss` accepts.

    tt computes them in one piece, and the options change nothing.

    Parameters
    ----------
    allow_retain_graph : bool
        Whether backward may run twice; it always may.
    batch_chunk_size : int, optional
        Rows of a part.
    chunking_method : str, optional
        How the size of a part is found.
    acc_policy : str
        How precisely the parts are summed.
    acc_dtype : dtype, optional
        The dtype of the sums.

    Examples
    --------
    >>> import tt
    >>> tt.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: Any = None
