"""The folder of the hub, and files that are downloaded to it."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urlparse
from urllib.request import Request, urlopen

import tt
from tt import as_torch
from tt.errors import CorruptFileError, ValueRangeError

__all__ = ["HASH_REGEX", "download_url_to_file", "get_dir", "load_state_dict_from_url", "opened", "set_dir"]

_CHUNK = 1 << 17
HASH_REGEX: Final = re.compile(r"-([a-f0-9]{8,})\.")


class _Folder:
    chosen: str | None = None


def _get_torch_home() -> str:
    """Return the folder of everything that is kept: `$TT_HOME`, or `~/.cache/tt`."""
    # Under the facade it is PyTorch's, whose files are used again.
    package = "torch" if as_torch.is_installed() else "tt"
    home = os.environ.get(f"{package.upper()}_HOME")
    if home:
        return os.path.expanduser(home)
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.join(os.path.expanduser(cache), package)


def get_dir() -> str:
    """Return the folder for repositories and files: as set, or `$TT_HOME/hub`, or `~/.cache/tt/hub`.

    Where `import torch` gives tt it is PyTorch's: `$TORCH_HOME/hub`, or `~/.cache/torch/hub`.

    Examples
    --------
    >>> import tt
    >>> tt.hub.get_dir().endswith("hub")
    True
    """
    if _Folder.chosen is not None:
        return _Folder.chosen
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder for repositories and files.

    Examples
    --------
    >>> import tt
    >>> before = tt.hub.get_dir()
    >>> tt.hub.set_dir("models")
    >>> tt.hub.get_dir()
    'models'
    >>> tt.hub.set_dir(before)
    """
    _Folder.chosen = os.path.expanduser(os.fspath(d))


def opened(url: str) -> IO[bytes]:
    """Open an address as a file; a token in `GITHUB_TOKEN` is sent to GitHub only."""
    request = Request(url, headers={"User-Agent": f"tt/{tt.__version__}"})
    host = urlparse(url).hostname or ""
    token = os.environ.get("GITHUB_TOKEN")
    if token and (host == "github.com" or host.endswith(".github.com")):
        # GitHub redirects downloads to other hosts, which must not see the token.
        request.add_unredirected_header("Authorization", f"token {token}")
    response: IO[bytes] = urlopen(request)
    return response


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download a file; it appears under its name when it is whole.

    Parameters
    ----------
    url : str
        Its address.
    dst : str or path
        Its name here.
    hash_prefix : str, optional
        How its SHA-256 begins.
    progress : bool
        Whether the number of bytes is written to stderr, if that is a terminal.

    Raises
    ------
    OSError
        If it cannot be had, or written.
    RuntimeError
        If it has another SHA-256 or another length than was said.
    """
    target = Path(os.path.expanduser(os.fspath(dst)))
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, count = hashlib.sha256(), 0
    with opened(url) as source:
        expected = getattr(source, "headers", {}).get("Content-Length")
        # In the folder of the target, for a rename cannot cross file systems.
        number, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".partial", dir=target.parent)
        try:
            with os.fdopen(number, "wb") as file:
                while chunk := source.read(_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    count += len(chunk)
                    _show(url, count, expected, progress)
            if expected is not None and count != int(expected):
                raise CorruptFileError(url, f"{count} bytes came, not {expected}")
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix.lower()):
                raise CorruptFileError(
                    url, f"invalid hash value (expected {hash_prefix!r}, got {digest.hexdigest()!r})"
                )
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise


def _show(url: str, count: int, expected: str | None, progress: bool) -> None:
    # Lines that overwrite each other are of no use in a log.
    if progress and sys.stderr.isatty():
        total = f" of {int(expected):,}" if expected else ""
        sys.stderr.write(f"\r{url}: {count:,}{total} bytes" + ("\n" if expected == str(count) else ""))


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Load a file from the web, which is downloaded once.

    Parameters
    ----------
    url : str
        Its address.
    model_dir : str or path, optional
        Where it is kept; `get_dir()/checkpoints` by default.
    map_location
        As for `tt.load`.
    progress : bool
        Whether the progress is shown.
    check_hash : bool
        Whether its name, such as `net-1a2b3c4d.pth`, says how its SHA-256 begins.
    file_name : str, optional
        Its name here; by default the last part of the address.
    weights_only : bool
        As for `tt.load`: a file that is not from you should not run code.

    Raises
    ------
    ValueError
        If the address has no name of a file, or `check_hash` finds no hash in it.
    """
    folder = (
        Path(get_dir()) / "checkpoints"
        if model_dir is None
        else Path(os.path.expanduser(os.fspath(model_dir)))
    )
    name = file_name or os.path.basename(unquote(urlparse(url).path))
    # A name from a URL must not lead out of the folder.
    if not name or name in (".", "..") or os.path.basename(name) != name:
        raise ValueRangeError(
            f"load_state_dict_from_url(): {url} has no name of a file\n  try: file_name=..."
        )
    path = folder / name
    if not path.exists():
        match = HASH_REGEX.search(name)
        if check_hash and match is None:
            raise ValueRangeError(
                f"load_state_dict_from_url(): the name {name!r} holds no hash, such as -1a2b3c4d"
            )
        download_url_to_file(url, path, match[1] if check_hash and match else None, progress)
    loaded: dict[str, Any] = tt.load(path, map_location=map_location, weights_only=weights_only)
    return loaded
