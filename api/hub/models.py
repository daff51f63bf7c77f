"""Entry points of `hubconf.py`: listing, describing and calling them; repositories are fetched after asking."""

from __future__ import annotations

import builtins
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.error import HTTPError

from tt.errors import CorruptFileError, UnknownNameError, UntrustedSourceError, ValueRangeError
from tt.hub.files import download_url_to_file, get_dir, opened

__all__ = ["help", "list", "load"]

HUBCONF: Final = "hubconf.py"
_SOURCES: Final = ("github", "local")
_REPOSITORY: Final = re.compile(r"([\w.-]+)/([\w.-]+)(?::([\w./-]+))?")


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """Return the names of the entry points of a repository.

    Parameters
    ----------
    github : str
        "owner/name", or "owner/name:branch".
    force_reload : bool
        Whether it is downloaded again.
    skip_validation : bool
        Whether the branch or tag is taken without asking GitHub whether it is the repository's own.
    trust_repo : bool or "check"
        Whether its code may be run: True trusts it from now on, False asks each time, and "check" asks unless it was
        trusted before.
    verbose : bool
        Whether to print a message for each download.

    Raises
    ------
    UntrustedSourceError
        If the user declines, or cannot be asked.
    """
    folder = _fetched(github, force_reload, skip_validation, trust_repo, verbose, "list")
    with _imported(folder) as module:
        return [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
) -> str | None:
    """Return the docstring of an entry point; see `list` for the arguments."""
    folder = _fetched(github, force_reload, skip_validation, trust_repo, True, "help")
    with _imported(folder) as module:
        return _entry_point(module, model, folder).__doc__


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    r"""Return what an entry point makes, usually a model.

    Parameters
    ----------
    repo_or_dir : str
        "owner/name" or "owner/name:branch", or a folder that holds a `hubconf.py`.
    model : str
        The name of the entry point.
    *args, **kwargs
        Its arguments.
    source : {"github", "local"}
        Which of both `repo_or_dir` is.
    trust_repo, force_reload, verbose, skip_validation
        As for `list`; a folder is trusted, since it is named by the program.

    Examples
    --------
    >>> import pathlib, tempfile, tt
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("import tt\ndef net(size):\n    return tt.nn.Linear(size, 1)\n")
    >>> tt.hub.load(str(folder), "net", 3, source="local")
    Linear(in_features=3, out_features=1, bias=True)
    """
    if str(source).lower() not in _SOURCES:
        raise UnknownNameError("source", str(source), _SOURCES)
    if source.lower() == "github":
        folder = _fetched(repo_or_dir, force_reload, skip_validation, trust_repo, verbose, "load")
    else:
        folder = Path(os.path.expanduser(repo_or_dir))
    with _imported(folder) as module:
        return _entry_point(module, model, folder)(*args, **kwargs)


# --- hubconf.py --------------------------------------------------------------------------------------------------


@contextmanager
def _imported(folder: Path) -> Iterator[ModuleType]:
    """Run a `hubconf.py`; its folder is on the path for imports, also while an entry point runs."""
    file = folder / HUBCONF
    if not file.is_file():
        raise FileNotFoundError(f"{folder} holds no {HUBCONF}")
    spec = importlib.util.spec_from_file_location("hubconf", file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"{file} is not a Python program")
    module = importlib.util.module_from_spec(spec)
    # First, so that the repository's own modules are found before installed ones of their names.
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
        _check_dependencies(module, file)
        yield module
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


def _check_dependencies(module: ModuleType, file: Path) -> None:
    needed = getattr(module, "dependencies", [])
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(f"{file} needs packages that are not installed: {', '.join(missing)}")


def _entry_point(module: ModuleType, name: str, folder: Path) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise TypeError(f"the name of an entry point is a str, not {type(name).__name__}")
    member = getattr(module, name, None)
    if not callable(member) or name.startswith("_"):
        known = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
        raise UnknownNameError(f"entry point of {folder / HUBCONF}", name, known)
    entry: Callable[..., Any] = member
    return entry


# --- repositories --------------------------------------------------------------------------------------------------


def _fetched(
    github: str, again: bool, skip_validation: bool, trust: bool | str | None, verbose: bool, caller: str
) -> Path:
    """Return the folder of a repository, downloaded unless it is there."""
    match = _REPOSITORY.fullmatch(str(github))
    if match is None:
        raise ValueRangeError(
            f"hub.{caller}(): a repository is 'owner/name' or 'owner/name:branch', not {github!r}"
        )
    owner, name, branch = match[1], match[2], match[3]
    if trust not in (True, False, "check", None):
        raise ValueRangeError(f"hub.{caller}(): trust_repo is True, False or 'check', not {trust!r}")
    home = Path(get_dir())
    _ask(home, owner, name, trust)
    reference = branch or _default_branch(owner, name)
    folder = home / "_".join([owner, name, reference.replace("/", "_")])
    if folder.is_dir() and not again:
        return folder
    if branch and not skip_validation:
        _check_reference(owner, name, branch)
    if verbose:
        sys.stderr.write(f"downloading {_address(owner, name, reference)} to {folder}\n")
    home.mkdir(parents=True, exist_ok=True)
    # In the hub's folder, for a rename cannot cross file systems.
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        archive = Path(scratch) / "archive.zip"
        download_url_to_file(_address(owner, name, reference), archive, progress=False)
        _unpack(archive, Path(scratch) / "unpacked", folder)
    return folder


def _unpack(archive: Path, scratch: Path, folder: Path) -> None:
    """Put the only folder of an archive in its place."""
    try:
        with zipfile.ZipFile(archive) as file:
            # `extractall` would quietly put such an entry elsewhere; an archive that has one is hostile.
            for entry in file.namelist():
                parts = Path(entry).parts
                if entry.startswith(("/", "\\")) or ".." in parts:
                    raise CorruptFileError(archive.name, f"it has an entry outside of its folder: {entry!r}")
            file.extractall(scratch)
    except zipfile.BadZipFile as error:
        raise CorruptFileError(archive.name, str(error)) from error
    inner = builtins.list(scratch.iterdir())
    if len(inner) != 1 or not inner[0].is_dir():
        raise CorruptFileError(
            archive.name, "the archive of a repository holds one folder, and this one does not"
        )
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(inner[0], folder)


def _address(owner: str, name: str, reference: str) -> str:
    return f"https://github.com/{owner}/{name}/zipball/{reference}"


def _default_branch(owner: str, name: str) -> str:
    """Return "main" or "master"; without a network, that of a copy which is there."""
    try:
        opened(f"https://github.com/{owner}/{name}/tree/main/").close()
    except HTTPError as error:
        if error.code != 404:
            raise
        return "master"
    except OSError:
        for branch in ("main", "master"):
            if (Path(get_dir()) / f"{owner}_{name}_{branch}").is_dir():
                return branch
        raise
    return "main"


def _check_reference(owner: str, name: str, reference: str) -> None:
    """Raise unless a branch or tag is the repository's own: GitHub serves those of forks under its name, too."""
    for kind in ("branches", "tags"):
        # GitHub lists at most a hundred of them at once.
        for page in range(1, 1000):
            with opened(
                f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={page}"
            ) as answer:
                references = json.load(answer)
            if not references:
                break
            if any(
                r["name"] == reference or _names_commit(reference, r["commit"]["sha"]) for r in references
            ):
                return
    raise ValueRangeError(
        f"cannot find {reference} in https://github.com/{owner}/{name}: if it is a commit of the repository, name its "
        "branch or pass skip_validation=True"
    )


def _names_commit(reference: str, sha: str) -> bool:
    """Return whether a reference is a commit's hash, or its beginning as git shortens it."""
    return len(reference) >= 7 and sha.startswith(reference)


def _ask(home: Path, owner: str, name: str, trust: bool | str | None) -> None:
    """Raise unless the code of a repository may be run."""
    record, key = home / "trusted_list", f"{owner}_{name}"
    trusted = record.read_text(encoding="utf-8").split() if record.is_file() else []
    # Only a plain True: "check" and None ask, and False asks each time.
    if trust is True:
        if key not in trusted:
            home.mkdir(parents=True, exist_ok=True)
            with record.open("a", encoding="utf-8") as file:
                file.write(f"{key}\n")
        return
    if trust != False and key in trusted:  # noqa: E712 - a str or None otherwise
        return
    question = f"{owner}/{name} was never trusted, and its code would be run. Go on, and trust it? [y/N] "
    try:
        answer = input(question).strip().lower()
    except (EOFError, OSError):
        raise UntrustedSourceError(f"{owner}/{name}") from None
    if answer not in ("y", "yes"):
        raise UntrustedSourceError(f"{owner}/{name}")
    if trust is not False:
        _ask(home, owner, name, True)
