"""`tt ops pages`: a page of documentation for each operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tt.cli import output
from tt.cli.options import Json

__all__ = ["write_pages"]


def write_pages(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="The folder for the pages; it is created.", file_okay=False),
    ],
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="The namespace of a plugin's operators, for instance acme.")
    ] = "tt",
    as_json: Json = False,
) -> None:
    """Write a Markdown page for each operator, with an index: signature, rules, gradient, example, who serves it."""
    from tt.cli.pages.pages import pages, write
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.errors import UnknownNameError
    from tt.core.host import host

    texts = pages(namespace)
    if not texts:
        host.activate_all()
        known = sorted({definition.signature.namespace for definition in REGISTRY.definitions()})
        raise UnknownNameError("namespace", namespace, known)
    changed = write(folder, texts)
    if as_json:
        output.as_json({"pages": len(texts), "written": changed})
    else:
        output.text(f"{len(texts)} pages, {len(changed)} written")
