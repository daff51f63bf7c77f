"""Files that are whole or not there: written without their name, synced, and renamed.

On Linux the file has no name at all while it is written, so a process that is killed leaves nothing behind; elsewhere,
and on file systems that cannot do that, it has a temporary name in the same folder.

The disk begins to write while the rest of the file is still being produced, so the sync at the end waits only for the
last part.
"""

from __future__ import annotations

import ctypes
import io
import os
import stat
import sys
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, cast

__all__ = ["AtomicFile", "write_all"]

_FLAGS = os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


_PIECE = 1 << 24  # files of Python write at most 2 GiB at once
_BLOCK = 1 << 16
_START_WRITING = 2  # SYNC_FILE_RANGE_WRITE


def _writeback() -> Any:
    """Return the function of the system that has a part of a file written without waiting for it, or None."""
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return function


def write_all(file: Any, data: Any) -> None:
    """Write a buffer to a file object, which may take only a part of it at once.

    Examples
    --------
    >>> import io
    >>> from tt.serialization.atomic_file import write_all
    >>> file = io.BytesIO()
    >>> write_all(file, b"contents")
    >>> file.getvalue()
    b'contents'
    """
    view = memoryview(data).cast("B")
    for start in range(0, len(view), _PIECE):
        piece = view[start : start + _PIECE]
        while piece:
            # A raw file may take less than it is given.
            written = file.write(piece)
            if not isinstance(written, int):
                break  # a file object that does not say it writes everything
            piece = piece[written:]


class _EarlyFile(io.FileIO):
    """A file without a buffer whose contents are on their way to the disk soon after they are written."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb")
        self._start_writing = _writeback()
        self._begun = self._end = 0

    def write(self, data: Any, /) -> int:
        """Write bytes, and have the disk begin with those of before."""
        written = super().write(data)
        self._end += written
        whole = self._end & -_BLOCK  # the rest of a block is still to come, and would be written twice
        if whole - self._begun >= _PIECE and self._start_writing is not None:
            # Faults of the disk show when the file is synced.
            self._start_writing(self.fileno(), self._begun, whole - self._begun, _START_WRITING)
            self._begun = whole
        return written

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move on."""
        self._end = super().seek(offset, whence)
        self._begun = min(self._begun, self._end)
        return self._end


class AtomicFile:
    """A context manager that gives a file to write, which replaces `path` when the block ends well.

    Until then, and if the block raises or the process dies, `path` stays as it was.  What has no contents to keep (a
    pipe, a terminal) is written directly.

    Parameters
    ----------
    path : str or os.PathLike
        The file; a symbolic link stays, and the file that it points to is replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> from tt.serialization.atomic_file import AtomicFile
    >>> folder = tempfile.mkdtemp()
    >>> with AtomicFile(os.path.join(folder, "name")) as file:
    ...     _ = file.write(b"contents")
    >>> os.listdir(folder)
    ['name']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # A link stays a link: the file that it leads to is replaced.
        self._target = os.path.realpath(os.fspath(path))
        folder, name = os.path.split(self._target)
        self._folder = folder
        # In the same folder, for a rename cannot cross file systems.
        self._temporary = os.path.join(folder, f".{name[:150]}.{os.urandom(6).hex()}.tmp")
        self._named = self._direct = False

    def __enter__(self) -> IO[bytes]:
        mode = None
        with suppress(FileNotFoundError):
            mode = os.stat(self._target).st_mode
        # A pipe or a device cannot be replaced by a file.
        if mode is not None and not stat.S_ISREG(mode):
            self._direct = True
            self.file: IO[bytes] = open(self._target, "wb")  # closed by __exit__
            return self.file
        if mode is not None:
            _drop_from_cache(self._target)
        descriptor = self._open()
        self.file = cast("IO[bytes]", _EarlyFile(descriptor))  # closed by __exit__
        if mode is not None and hasattr(os, "fchmod"):
            # A file of another user may be replaced, but not its mode be set.
            with suppress(PermissionError):
                os.fchmod(descriptor, stat.S_IMODE(mode))
        return self.file

    def _open(self) -> int:
        if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
            with suppress(OSError):  # of a file system that cannot; what else is wrong shows below
                # A file without a name vanishes if the process is killed.
                return os.open(self._folder, _FLAGS | os.O_TMPFILE, 0o666)
        try:
            descriptor = os.open(self._temporary, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:  # the temporary file is not the caller's affair
            if isinstance(error, FileNotFoundError):
                missing = f"the folder {self._folder} does not exist"
                raise FileNotFoundError(error.errno, missing, self._target) from None
            raise type(error)(error.errno, error.strerror, self._target) from None
        self._named = True
        return descriptor

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._direct:
            self.file.close()
            return
        try:
            with self.file:
                if kind is None:
                    # Before the rename, which could otherwise reach the disk before the contents.
                    os.fsync(self.file.fileno())
                    if not self._named:
                        _give_name(self.file.fileno(), self._temporary)
                        self._named = True
            if kind is None:
                os.replace(self._temporary, self._target)
                self._named = False
                _sync_folder(self._folder)
        finally:
            if self._named:
                with suppress(FileNotFoundError):
                    os.unlink(self._temporary)


def _give_name(descriptor: int, name: str) -> None:
    """Give a name to an open file that has none."""
    # A descriptor of a folder, which an absolute path ignores, makes Python call linkat, which alone follows the link.
    os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=descriptor, follow_symlinks=True)


def _drop_from_cache(path: str) -> None:
    """Let the new file have the system's memory that caches the old one: fresh memory costs more than writing to it."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):  # of a file that may not be read
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Make the new name last, where folders can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # of a file system that cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
