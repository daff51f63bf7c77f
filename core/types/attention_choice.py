"""Which implementations of attention are enabled, by PyTorch's names of them.

`tt.nn.attention.sdpa_kernel` and the switches in `tt.backends.cuda` set them; the composite of
`scaled_dot_product_attention` and the kernels of a device read them.  There are two implementations: the operator
`_attention`, which never holds all weights (flash, memory-efficient and, on CUDA, cuDNN's), and products with softmax.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ATTENTION", "AttentionChoice"]


class AttentionChoice:
    """The switches, one set for all threads, as in PyTorch.

    Attributes
    ----------
    flash, mem_efficient, cudnn : bool
        Whether the implementations without the matrix of all weights are enabled.
    math : bool
        Whether products and a softmax are.

    Examples
    --------
    >>> choice = AttentionChoice()
    >>> choice.flash = False
    >>> choice.fused("cpu"), choice.fused("cuda")
    (False, True)
    """

    __slots__ = ("cudnn", "flash", "math", "mem_efficient")

    def __init__(self) -> None:
        self.flash = self.mem_efficient = self.math = self.cudnn = True

    def fused(self, device_type: str) -> bool:
        """Return whether an implementation is enabled for a type of device that does not hold all weights."""
        # On the CPU PyTorch has flash attention alone of these.
        return self.flash or (device_type != "cpu" and (self.mem_efficient or self.cudnn))


ATTENTION: Final = AttentionChoice()
"""The switches that operators read."""
