"""Plugins, their registrations and configuration."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors.base import TTError


class DuplicateRegistrationError(TTError, RuntimeError, ValueError):
    """Two registrations for the same operator, key and dtype."""

    def __init__(
        self,
        what: str,
        first: str,
        second: str,
        *,
        hint: str = "override=True, if the second is to replace the first",
    ) -> None:
        self.what, self.first, self.second = what, first, second
        super().__init__(
            f"{what} is registered twice:\n  first by {first}\n  again by {second}\n  try: {hint}"
        )


class PluginError(TTError, RuntimeError):
    """A plugin that is used although it is broken, blocked or made for another version of tt."""


class MemberError(PluginError, AttributeError):
    """A member of tensors whose plugin is blocked, failed or is not installed.

    It is an AttributeError, too: `hasattr(x, "grad")` is False and not an error where nothing brings gradients.
    """


class PluginConflictError(PluginError):
    """Several plugins bring the same, and nothing says which of them is meant."""

    def __init__(self, what: str, claimants: Sequence[str], plugins: Sequence[str]) -> None:
        self.what, self.claimants, self.plugins = what, tuple(claimants), tuple(plugins)
        lines = [f"{what} is brought by {len(self.claimants)} plugins, and nothing says which one is meant:"]
        lines += [f"  {claimant}" for claimant in self.claimants]
        lines += [f"  try: {how_to_choose(self.plugins)}", "  see: tt plugins list"]
        super().__init__("\n".join(lines))


def how_to_choose(plugins: Sequence[str]) -> str:
    """Return in words how one of several plugins is chosen."""
    variables = " or ".join(f"TT_PREFER={name}" for name in plugins)
    return f"{variables}; in a program: with tt.prefer({plugins[0]!r})"


class ConfigurationError(TTError, ValueError):
    """A configuration file, or a variable in its place, that cannot be understood."""

    def __init__(self, where: str, problem: str, *, hint: str = "") -> None:
        self.where, self.problem, self.hint = where, problem, hint
        super().__init__(f"{where}: {problem}" + (f"\n  try: {hint}" if hint else ""))
