"""Numbers in the definitions of activation functions, for composites, kernels and formulas."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["GELU_CUBIC", "GELU_SCALE", "SELU_ALPHA", "SELU_SCALE"]

# With these two, selu keeps elements of mean 0 and variance 1 so (Klambauer et al., Self-Normalizing Neural Networks).
SELU_ALPHA: Final = 1.6732632423543772848170429916717
SELU_SCALE: Final = 1.0507009873554804934193349852946

# Phi(x) is about (1 + tanh(GELU_SCALE * (x + GELU_CUBIC * x^3))) / 2.
GELU_SCALE: Final = math.sqrt(2 / math.pi)
GELU_CUBIC: Final = 0.044715
