"""gradcheck: the gradients of a function against finite differences."""

from tt.testing.gradcheck.first import gradcheck
from tt.testing.gradcheck.second import gradgradcheck

__all__ = ["gradcheck", "gradgradcheck"]
