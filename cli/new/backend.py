"""`tt new backend`: a package with a backend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tt.cli import output
from tt.cli.new.names import check_device, check_library, check_license
from tt.cli.new.options import Author, Directory, Force, License
from tt.cli.new.package import author_lines, finish, render, write
from tt.cli.new.smoke import CALL, first_call
from tt.cli.options import Json

__all__ = ["backend"]

TEMPLATES = {
    "README.md": "backend/README.md.in",
    "pyproject.toml": "backend/pyproject.toml.in",
    "src/$module/__init__.py": "backend/init.py.in",
    "src/$module/plugin.py": "backend/plugin.py.in",
    "src/$module/py.typed": "shared/py.typed.in",
    "tests/test_$name.py": "backend/test.py.in",
}


def backend(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the device type: npu.")],
    library: Annotated[
        str,
        typer.Option(metavar="MODULE", help="The array library: a module with the array API standard."),
    ] = "numpy",
    directory: Directory = None,
    author: Author = "",
    license: License = "Apache-2.0",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a package with a backend on an array library: all kernels, entry point and tests.

    The library is numpy until you name another one.  One operator is called through the new backend, so that you see
    at once whether the library works; if it does not, or is not installed, the package is written all the same, and
    the exit code is 1.
    """
    import tt

    # All checks before the first file is written.
    check_device(name)
    requirement = check_library(library)
    check_license(license)
    values = {
        "author": author_lines(author),
        "distribution": f"tt-{name.replace('_', '-')}-backend",
        "library": library,
        "library_root": library.split(".")[0],
        "license": license,
        "module": f"tt_{name}_backend",
        "name": name,
        "requirement": requirement,
        "tt_version": tt.__version__,
    }
    folder = directory or Path(values["distribution"])
    content = render(TEMPLATES, values)
    write(folder, content, force=force)
    # Tried at once, so that a library that does not fit shows before any work goes into it.
    call = first_call(folder, name, values["module"], library)
    steps = {
        f"cd {folder}": "the package",
        "pip install -e '.[test]'": "installs it; edits take effect at once",
        "pytest -k first_call": f"the first call: {CALL} on {name}",
        "pytest": "its tests, which pass as it is",
        f"tt ops list --backend {name}": "how each operator is served",
        f"tt ops check --backend {name} --run": "missing operators and wrong results, against the reference",
    }
    finish(
        f"the backend {name}, in the package {values['distribution']},",
        folder,
        content,
        steps,
        as_json=as_json,
        facts={"first_call": {"call": CALL, "made": call.made, "reason": call.reason}},
        remark=f"first call: {CALL} on {name} "
        + (
            "works"
            if call.made and not call.reason
            else "failed"
            if call.made
            else f"was not made: {call.reason}"
        ),
    )
    if not call.made:
        output.problem(
            f"{call.reason}, so nothing was tried\n  the package is written, and depends on {requirement!r}, as the "
            "module is named: check the name before you install it"
        )
    elif call.reason:
        output.problem(f"{CALL} on {name}, computed by {library}: {call.reason}")
    if call.reason:
        raise typer.Exit(1)
