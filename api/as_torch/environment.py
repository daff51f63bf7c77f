"""The package `torch` in an environment: written, removed, and what there is; `tt as-torch` does it."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final, NamedTuple

from tt._compat.torch.torch_version import __version__
from tt.as_torch.facade import FOLDER, METADATA, NAME
from tt.errors import UnsupportedError

__all__ = ["Standing", "add", "remove", "standing"]

_RECORD: Final = "RECORD"


class Standing(NamedTuple):
    """What `import torch` gives in an environment.

    Attributes
    ----------
    gives : str
        "tt", "PyTorch", or "nothing".
    version : str
        The version of the distribution, or empty.
    folder : str
        Where it is, or would be written.
    """

    gives: str
    version: str
    folder: str


def standing(folder: str | os.PathLike[str] | None = None) -> Standing:
    """Return what `import torch` gives in a folder of packages, by default this environment's.

    Examples
    --------
    >>> import tempfile
    >>> from tt.as_torch.environment import standing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     standing(folder).gives
    'nothing'
    """
    home = _home(folder)
    if (home / METADATA).is_dir():
        return Standing("tt", str(__version__), str(home))
    distribution = _distribution(home, everywhere=folder is None)
    if distribution is not None:
        where = str(distribution.locate_file(""))
        return Standing("PyTorch", distribution.version, where)
    if (home / NAME).exists():  # without metadata: somebody's own
        return Standing("PyTorch", "", str(home))
    return Standing("nothing", "", str(home))


def add(folder: str | os.PathLike[str] | None = None) -> Standing:
    """Write the package `torch` and the metadata of its distribution into a folder of packages.

    Parameters
    ----------
    folder : path, optional
        By default that of this environment.

    Returns
    -------
    Standing
        What is there now; it may have been there before.

    Raises
    ------
    UnsupportedError
        PyTorch is installed, or the folder cannot be written.
    """
    before = standing(folder)
    if before.gives == "tt":
        return before
    if before.gives == "PyTorch":
        raise UnsupportedError(
            f"PyTorch {before.version} is installed in {before.folder}, and stays\n"
            "  try: pip uninstall torch, another environment, or tt exec program.py, which needs no installation"
        )
    home = _home(folder)
    try:
        for name in (NAME, METADATA):
            shutil.copytree(FOLDER / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
        # What `pip uninstall torch` goes by.
        files = sorted(
            path for name in (NAME, METADATA) for path in (home / name).rglob("*") if path.is_file()
        )
        rows = [
            f"{path.relative_to(home).as_posix()},{_digest(path)},{path.stat().st_size}" for path in files
        ]
        (home / METADATA / _RECORD).write_text("\n".join([*rows, f"{METADATA}/{_RECORD},,", ""]))
    except OSError as error:
        _delete(home)
        raise UnsupportedError(
            f"{home} cannot be written: {error.strerror}\n  try: a virtual environment"
        ) from error
    return standing(folder)


def remove(folder: str | os.PathLike[str] | None = None) -> bool:
    """Remove what `add` has written; return whether there was anything.

    Raises
    ------
    UnsupportedError
        What is there is PyTorch.
    """
    before = standing(folder)
    if before.gives == "PyTorch":
        raise UnsupportedError(f"PyTorch {before.version} in {before.folder} is not tt's to remove")
    if before.gives == "nothing":
        return False
    _delete(_home(folder))
    return True


def _home(folder: str | os.PathLike[str] | None) -> Path:
    return Path(sysconfig.get_path("purelib") if folder is None else folder)


def _distribution(home: Path, *, everywhere: bool) -> Distribution | None:
    """Return PyTorch's distribution in a folder, or on the whole path; that of the stand-in itself does not count."""
    path = sys.path if everywhere else [str(home)]
    for distribution in distributions(name=NAME, path=path):
        if Path(str(distribution.locate_file(""))) != FOLDER:
            return distribution
    return None


def _delete(home: Path) -> None:
    for name in (NAME, METADATA):
        shutil.rmtree(home / name, ignore_errors=True)


def _digest(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
