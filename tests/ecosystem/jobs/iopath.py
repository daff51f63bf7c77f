"""iopath: files by path handlers, tensors saved through them."""

from __future__ import annotations

import tempfile

import torch
from iopath.common.file_io import NativePathHandler, PathHandler, PathManager

from tests.ecosystem import kit

REQUIRES = ("iopath==0.1.10",)


def files():
    manager = PathManager()
    manager.register_handler(NativePathHandler())
    with tempfile.TemporaryDirectory() as folder:
        manager.mkdirs(f"{folder}/a/b")
        with manager.open(f"{folder}/a/x.txt", "w") as file:
            file.write("text")
        return (
            sorted(manager.ls(f"{folder}/a")),
            manager.isfile(f"{folder}/a/x.txt"),
            manager.exists(f"{folder}/c"),
        )


def tensors():
    manager = PathManager()
    with tempfile.TemporaryDirectory() as folder:
        with manager.open(f"{folder}/w.pt", "wb") as file:
            torch.save({"w": kit.tensor(2, 3)}, file)
        with manager.open(f"{folder}/w.pt", "rb") as file:
            return torch.load(file)


def handlers():
    class Handler(PathHandler):
        def _get_supported_prefixes(self):
            return ["weights://"]

        def _get_local_path(self, path, force=False, **kwargs):
            return "/weights/" + path[len("weights://") :]

    manager = PathManager()
    manager.register_handler(Handler())
    return manager.get_local_path("weights://a/b.pt")


def writing_in_the_background():
    manager = PathManager()
    manager.register_handler(NativePathHandler())
    with tempfile.TemporaryDirectory() as folder:
        with manager.opena(f"{folder}/x.txt", "w") as file:
            file.write(str(kit.tensor(2).shape[0]))
        manager.async_close()
        with open(f"{folder}/x.txt") as file:
            return file.read()
