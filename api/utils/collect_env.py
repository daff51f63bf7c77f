"""tt.utils.collect_env: facts for a bug report, as `tt env` prints them: `python -m tt.utils.collect_env`."""

from __future__ import annotations

from typing import Any

__all__ = ["get_env_info", "get_pretty_env_info", "main"]


def get_env_info() -> dict[str, dict[str, Any]]:
    """Return versions, platform, libraries, threads, plugins and settings, by section.

    Examples
    --------
    >>> from tt.utils.collect_env import get_env_info
    >>> "numpy" in get_env_info()["libraries"]
    True
    """
    from tt.cli.env import environment  # the command's libraries are imported when it is asked

    return environment()


def get_pretty_env_info() -> str:
    """Return the same as a text.

    Examples
    --------
    >>> from tt.utils.collect_env import get_pretty_env_info
    >>> get_pretty_env_info().splitlines()[0]
    'tt'
    """
    lines = []
    for section, values in get_env_info().items():
        lines += [section, *(f"  {name}: {value}" for name, value in values.items() or [("(none)", "")])]
    return "\n".join(lines)


def main() -> None:
    """Print the text."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
