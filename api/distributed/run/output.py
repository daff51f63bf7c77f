"""Where the output of workers goes: to the agent's own streams, to files, or line by line with the rank in front."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Any, TextIO

from tt.distributed.run.options import Options

__all__ = ["Output", "Pipes"]


class Pipes:
    """The output of one worker: what to start it with, and the threads that pass it on."""

    def __init__(self, output: Output, rank: int, local_rank: int, folder: Path) -> None:
        self.error_file = str(folder / "error.json")
        self.arguments: dict[str, Any] = {}
        self._copied: list[tuple[str, TextIO | None, IO[bytes] | None]] = []
        self._label = f"[rank {rank}] ".encode()
        self._output = output
        self._threads: list[Thread] = []
        self._files = ExitStack()
        options = output.options
        shown = options.shown is None or local_rank in options.shown
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            path = folder / f"std{name}.log"
            if name in options.tee.get(local_rank, ()):
                copy = self._open(path) if output.keeps else None
                self.arguments[f"std{name}"] = subprocess.PIPE
                self._copied.append((f"std{name}", stream if shown else None, copy))
            elif name in options.redirects.get(local_rank, ()):
                self.arguments[f"std{name}"] = self._open(path)
            elif not shown:
                self.arguments[f"std{name}"] = subprocess.DEVNULL

    def _open(self, path: Path) -> IO[bytes]:
        return self._files.enter_context(path.open("wb"))

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Pass on the process's output."""
        for name, stream, copy in self._copied:
            thread = Thread(target=self._pass_on, args=(getattr(process, name), stream, copy), daemon=True)
            thread.start()
            self._threads.append(thread)

    def end(self) -> None:
        """Wait for the last line; a process that outlives its worker is not waited for."""
        for thread in self._threads:
            # A grandchild may keep the pipe open for ever.
            thread.join(1.0)
        self._files.close()

    def _pass_on(self, pipe: IO[bytes], stream: TextIO | None, copy: IO[bytes] | None) -> None:
        with pipe:
            # A limit, for a progress bar may never print the end of a line.
            while line := pipe.readline(1 << 16):
                if copy is not None:
                    copy.write(line)
                    copy.flush()
                if stream is not None:
                    # Ends with a line break, or the output of the next rank would go on in the same line.
                    whole = self._label + line + (b"" if line.endswith(b"\n") else b"\n")
                    with self._output.lock:
                        show(stream, whole)


def show(stream: TextIO, line: bytes) -> None:
    """Append a line as it is to the stream."""
    # What was printed as text must come before what is written to the buffer below it.
    stream.flush()
    target = getattr(stream, "buffer", None)
    if target is None:  # a notebook's
        stream.write(line.decode(errors="replace"))
    else:
        target.write(line)
    stream.flush()


class Output:
    """The folder of the workers' files.

    Without --log-dir it is a temporary one, which is removed, unless output was redirected there and is nowhere else.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.lock = Lock()
        redirected = any(options.redirects.values())
        self.keeps = options.log_dir is not None or redirected
        if options.log_dir is not None:
            Path(options.log_dir).mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() else "-" for c in options.run_id)
        # A new folder for each start, so that the files of two runs of one name do not mix.
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}_", dir=options.log_dir))

    @property
    def temporary(self) -> str:
        """The folder, where it is to be removed at the end."""
        return "" if self.keeps else str(self.folder)

    def pipes(self, generation: int, rank: int, local_rank: int) -> Pipes:
        """Return the output of a worker."""
        folder = self.folder / f"attempt_{generation}" / str(local_rank)
        folder.mkdir(parents=True)
        return Pipes(self, rank, local_rank, folder)

    def close(self) -> str:
        """Remove the folder, or return where it is."""
        if self.keeps:
            return str(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        return ""
