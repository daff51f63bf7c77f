"""The cache of compiled extensions, so that the same source is compiled once on a machine.

Note [The cache of extensions]
------------------------------
A folder for each extension name holds, for each key, a manifest `KEY.json`, and libraries whose names contain the
digest of their content.  The key is a digest of everything that determines the compiler's result.  The included headers
are known only after compiling, so the manifest lists them with digests.  An entry is valid when its manifest can be
read, its library matches the manifest's digest, and no header has changed; otherwise it is built again.

Files are renamed into place, the library before its manifest, so readers see a complete entry or none, and an
interrupted build leaves at most a file that the next one removes.  Builders of one folder wait for each other where the
system has `flock`; otherwise they do the work twice and the last one wins, which is also correct.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tt.core.errors import ValueRangeError
from tt.core.extension.diagnostics import disk_error, is_full

try:
    import fcntl
except ImportError:  # not a POSIX system
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

__all__ = ["Store", "default_folder", "digest"]

VARIABLE: Final = "TT_EXTENSIONS_DIR"
_PARTIAL: Final = ".partial"


def default_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return where extensions are kept: $TT_EXTENSIONS_DIR, else a folder of the user's caches."""
    environ = os.environ if environ is None else environ
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser().absolute()
    if environ.get("XDG_CACHE_HOME"):
        base = Path(environ["XDG_CACHE_HOME"])
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "tt" / "extensions"


def digest(content: bytes) -> str:
    """Return the digest of a content."""
    return hashlib.sha256(content).hexdigest()


class Store:
    """The libraries of one extension.

    Parameters
    ----------
    folder : Path
        Where they are; made at the first build.
    name : str
        The name of the extension, with which the names of the files begin.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def find(self, key: str) -> Path | None:
        """Return the library of a key, or None if no valid one exists."""
        manifest = self._manifest(key)
        if manifest is None:
            return None
        try:
            library = self.folder / str(manifest["library"])
            # A damaged or foreign library must not be loaded: it would run.
            if digest(library.read_bytes()) != manifest["digest"]:
                return None
            # Headers may have changed since; the key does not cover them.
            for path, expected in manifest["dependencies"].items():
                if digest(Path(path).read_bytes()) != expected:
                    return None
        except (OSError, KeyError, TypeError, AttributeError):
            return None
        return library

    def _manifest(self, key: str) -> dict[str, Any] | None:
        try:
            content = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        """Keep other builders of this folder away, and remove what killed ones left.

        Raises
        ------
        CompileError
            When the disk is full.
        ValueRangeError
            When the folder cannot be written to.
        """
        with self._writing():
            # For this user alone: whoever can write there can run code in this process.
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self.folder):
                # With the lock held there is no other builder, so a partial file is one of a killed process.
                for left in self.folder.glob(f".*{_PARTIAL}"):
                    left.unlink(missing_ok=True)
                yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise an error of tt's that names the folder if it cannot be written to."""
        try:
            yield
        except OSError as error:
            if is_full(error):
                raise disk_error(self.name, self.folder) from error
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
                raise
            raise ValueRangeError(
                f"compiled extensions cannot be kept in {self.folder}: {error.strerror}\n"
                f"  try: another folder, in the environment variable {VARIABLE} or by build_directory="
            ) from error

    def publish(self, key: str, library: Path, dependencies: Mapping[str, str], command: list[str]) -> Path:
        """Put a library into the store; to be called while `building`."""
        content = library.read_bytes()
        checksum = digest(content)
        before = self._manifest(key)
        # Named by its content: a library that a process has loaded is never overwritten.
        target = self.folder / f"{self.name}-{checksum[:16]}.so"
        manifest = {
            "library": target.name, "digest": checksum, "dependencies": dict(dependencies), "command": command
        }  # fmt: skip
        with self._writing():
            # The library before its manifest: readers follow the manifest.
            self._write(target, content)
            self._write(self.folder / f"{key}.json", json.dumps(manifest, indent=1).encode())
        old = str(before.get("library")) if before is not None else target.name
        # Only a plain name in this folder: a manifest could be forged.
        if old != target.name and Path(old).name == old and old.endswith(".so"):
            (self.folder / old).unlink(missing_ok=True)
        return target

    def _write(self, path: Path, content: bytes) -> None:
        partial = path.with_name(f".{path.name}.{os.getpid()}{_PARTIAL}")
        try:
            partial.write_bytes(content)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, where the system has such locks; a process that ends gives it back."""
    if not _HAS_LOCKS:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
