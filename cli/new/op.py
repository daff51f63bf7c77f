"""`tt new op`: a package with an operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tt.cli.new.names import check_license, check_operator
from tt.cli.new.options import Author, Directory, Force, License
from tt.cli.new.package import author_lines, finish, render, write
from tt.cli.options import Json

__all__ = ["op"]

TEMPLATES = {
    "README.md": "op/README.md.in",
    "pyproject.toml": "op/pyproject.toml.in",
    "src/$module/__init__.py": "op/init.py.in",
    "src/$module/operators.py": "op/operators.py.in",
    "src/$module/plugin.py": "op/plugin.py.in",
    "src/$module/py.typed": "shared/py.typed.in",
    "tests/test_$name.py": "op/test.py.in",
}


def op(
    name: Annotated[
        str, typer.Argument(metavar="NS::NAME", help="Namespace and name of the operator: acme::twice.")
    ],
    directory: Directory = None,
    author: Author = "",
    license: License = "Apache-2.0",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a package with an operator: signature, kernel, shapes, gradient, entry point and tests.

    The operator squares its tensor, times a number, until you replace the code.
    """
    import tt

    namespace, short = check_operator(name)
    check_license(license)
    values = {
        "author": author_lines(author),
        "distribution": f"tt-{namespace.replace('_', '-')}",
        "license": license,
        "module": f"tt_{namespace}",
        "name": short,
        "namespace": namespace,
        "tt_version": tt.__version__,
    }
    folder = directory or Path(values["distribution"])
    content = render(TEMPLATES, values)
    write(folder, content, force=force)
    steps = {
        f"cd {folder}": "the package",
        "pip install -e '.[test]'": "installs it; edits take effect at once",
        "pytest": "its tests, which pass as it is",
        f"tt ops show {name}": "the operator as tt sees it",
    }
    finish(
        f"the operator {name}, in the package {values['distribution']},",
        folder,
        content,
        steps,
        as_json=as_json,
    )
