"""Fake implementations proposed from observed calls, and verified on others."""

from tt.core.testing.suggest.suggest import Suggestion, suggest_fake

__all__ = ["Suggestion", "suggest_fake"]
