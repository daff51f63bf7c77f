"""Configuration: the preferences of the environment variable TT_PREFER and of the configuration file.

The file is the one that TT_CONFIG names, else `tt/config.toml` in the user's folder of configurations.  No file is
looked for in the folder in which a program is started: its results would depend on that folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from tt.core.dispatch.registry.preference import OTHERS, PreferenceRule
from tt.core.errors import ConfigurationError, did_you_mean

__all__ = ["configuration_file", "configured_rules", "parse_preference", "parse_selector"]

KEYS = ("prefer",)


def configured_rules(environ: Mapping[str, str]) -> tuple[PreferenceRule, ...]:
    """Return the rules of TT_PREFER and those of the configuration file, the strongest first.

    Raises
    ------
    ConfigurationError
        When one of them cannot be understood, or TT_CONFIG names a file that is not there.
    """
    rules = parse_preference(environ.get("TT_PREFER", ""))
    file = configuration_file(environ)
    return rules if file is None else (*rules, *_read(file))


def parse_preference(text: str) -> tuple[PreferenceRule, ...]:
    """Return the rules that the text of TT_PREFER means.

    Parameters
    ----------
    text : str
        `[DEVICE[:OPERATORS]=]PLUGIN,PLUGIN...`, several of them separated by semicolons.

    Examples
    --------
    >>> from tt.core.host.configuration import parse_preference
    >>> for rule in parse_preference("fast; cpu=vendor,*; cpu:exp*=fast"):
    ...     print(rule.device, rule.ops, rule.plugins)
    cpu exp* ('fast',)
    cpu * ('vendor', '*')
    * * ('fast',)
    """
    rules = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        # From the right: operators may be patterns, but names of plugins hold no "=".
        selector, separator, plugins = part.rpartition("=")
        names = tuple(name.strip() for name in plugins.split(",") if name.strip())
        if not names or (separator and not selector.strip()):
            raise ConfigurationError(
                "TT_PREFER",
                f"{part!r} is not [DEVICE[:OPERATORS]=]PLUGIN,...",
                hint="TT_PREFER='cpu=vendor,*'",
            )
        rules.append(_rule(selector.strip() or "*", names, "TT_PREFER"))
    return _narrowest_first(rules)


def parse_selector(text: str) -> tuple[str, str]:
    """Return the device and the pattern of operators that "cpu", "cpu:exp*" or "*" means."""
    device, _, ops = text.partition(":")
    return device.strip() or "*", ops.strip() or "*"


def _rule(selector: str, plugins: tuple[str, ...], where: str) -> PreferenceRule:
    device, ops = parse_selector(selector)
    repeated = sorted({name for name in plugins if plugins.count(name) > 1})
    if repeated:
        raise ConfigurationError(where, f"the preference for {selector!r} names {', '.join(repeated)} twice")
    return PreferenceRule(plugins, device, ops, where)


def _narrowest_first(rules: Iterable[PreferenceRule]) -> tuple[PreferenceRule, ...]:
    """Order the rules of one place: those of some operators before those of a device, then the rest."""
    # Python's sort is stable, so that rules of one width stay in the order in which they are written.
    return tuple(sorted(rules, key=lambda rule: (rule.ops == OTHERS, rule.device == OTHERS)))


# --- the file --------------------------------------------------------------------------------------------------


def configuration_file(environ: Mapping[str, str]) -> str | None:
    """Return the file that counts, or None.

    Raises
    ------
    ConfigurationError
        When TT_CONFIG names a file that is not there.
    """
    named = environ.get("TT_CONFIG")
    # An empty TT_CONFIG means no file, which is different from no TT_CONFIG.
    if named is not None:
        if named and not os.path.isfile(named):
            raise ConfigurationError(
                "TT_CONFIG",
                f"the file {named!r} does not exist",
                hint="an empty TT_CONFIG, to use no file at all",
            )
        return named or None
    file = os.path.join(_user_folder(environ), "tt", "config.toml")
    return file if os.path.isfile(file) else None


def _user_folder(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return environ.get("APPDATA") or os.path.expanduser("~/AppData/Roaming")
    return environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def _read(where: str) -> tuple[PreferenceRule, ...]:
    import tomllib  # start-up: few users have such a file

    try:
        with open(where, encoding="utf-8") as file:
            content: Any = tomllib.loads(file.read())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(where, f"{type(error).__name__}: {error}") from error
    if os.path.basename(where) == "pyproject.toml":
        content, where = content.get("tool", {}).get("tt", {}), f"{where} [tool.tt]"
    # A misspelt key would otherwise be a preference without effect.
    for key in content:
        if key not in KEYS:
            raise ConfigurationError(
                where, f"unknown key {key!r}{did_you_mean(key, KEYS)}; known: {', '.join(KEYS)}"
            )
    preferences = content.get("prefer", {})
    by_selector = preferences if isinstance(preferences, dict) else {"*": preferences}
    rules = []
    for selector, plugins in by_selector.items():
        names = [plugins] if isinstance(plugins, str) else plugins
        if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
            raise ConfigurationError(
                where,
                f"prefer: {selector!r} is a list of plugins, not {plugins!r}",
                hint='cpu = ["vendor", "*"]',
            )
        rules.append(_rule(selector, tuple(names), where))
    return _narrowest_first(rules)
