"""Wheel, sdist and editable installation lay the folders out as the one package tt."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tt.core import compiled

from .conftest import ROOT, build, import_from, install_editable, succeed

pytestmark = pytest.mark.exhaustive

FOLDERS = ("core", "operators", "backends", "plugins", "testing", "cli", "examples")
MADE = {  # by the hook, from ops.yaml
    "core/schema/_snapshot.py", "core/tensor/tensor_methods.pyi", "core/dispatch/registry/typed_ops.pyi",
    "api/__init__.pyi",
    "api/linalg/__init__.pyi", "api/nn/functional.pyi",
}  # fmt: skip
INDICES = {
    "tt/backends/array_api/_families.json", "tt/backends/cpu/_families.json", "tt/operators/_composites.json",
    "tt/operators/_shapes.json", "tt/plugins/autograd/formulas/_families.json",
    "tt/plugins/autograd/transforms/batching/_families.json",
}  # fmt: skip


def sources() -> set[str]:
    """Return where each Python file of the repository belongs in the package."""
    places = {
        f"tt/{path.relative_to(ROOT).as_posix()}" for name in FOLDERS for path in (ROOT / name).rglob("*.py")
    }
    return places | {
        f"tt/{path.relative_to(ROOT / 'api').as_posix()}" for path in (ROOT / "api").rglob("*.py")
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"), TT_BUILD="interpreted")[0]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))[0]


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


# --- wheel ---


def test_a_wheel_holds_every_source_and_its_data_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in names if not name.startswith("tt_tensor-0.1.0.dist-info/")}
    assert {name for name in package if name.endswith(".py")} == sources()
    assert {
        "tt/ops.yaml",
        "tt/py.typed",
        f"tt/{compiled.RECORD}",
        "tt/_native.json",
        "tt/core/tensor/storage.pxd",
    } <= package
    assert {f"tt/{name.removeprefix('api/')}" for name in MADE} <= package
    assert {
        name for name in package if "/_" in name.removeprefix("tt/") and name.endswith(".json")
    } == INDICES
    assert all(name.startswith("tt/") for name in package)
    assert not [name for name in names if "__pycache__" in name or name.endswith((".so", ".pyc"))]
    # Those that Cython writes are left out; what extensions are compiled with is part of the package.
    kernels = {f"tt/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "backends").rglob("*.c")}
    assert {name for name in names if name.endswith(".c")} == {"tt/core/extension/caller.c", *kernels}
    assert {"tt/core/extension/include/tt/extension.h"} <= package


def test_an_interpreted_wheel_fits_every_platform(wheel):
    assert wheel.name == "tt_tensor-0.1.0-py3-none-any.whl"


def test_a_wheel_is_imported_from_where_it_is_installed(site):
    lines = import_from(
        site,
        """
        import importlib.metadata
        import tt, tt.backends.cpu, tt.core.library, tt.nn.functional as F
        print(tt.__file__)
        print(tt.__version__, importlib.metadata.version("tt-tensor"))
        print(F.relu(tt.tensor([-1.0, 2.0])).tolist())
        import sys
        print("yaml" in sys.modules, "tt.core.schema._snapshot" in sys.modules)
        """,
    )
    assert lines == [str(site / "tt" / "__init__.py"), "0.1.0 0.1.0", "[0.0, 2.0]", "False True"]


def test_an_installed_package_reads_its_snapshot_whatever_became_of_the_yaml(wheel, tmp_path):
    shutil.unpack_archive(wheel, tmp_path, "zip")
    (tmp_path / "tt" / "ops.yaml").write_text("no schema")
    assert import_from(tmp_path, "import tt; print(tt.ones(1).item())") == ["1.0"]


def test_the_first_process_of_an_installation_imports_only_the_families_that_it_uses(wheel, tmp_path):
    shutil.unpack_archive(wheel, tmp_path, "zip")
    program = """
        import sys, tt
        x = tt.ones(2, requires_grad=True)
        tt.nn.functional.softplus(x).sum().backward()
        for package in ("tt.operators", "tt.plugins.autograd.formulas"):
            print(*sorted({m.rpartition(".")[2] for m in sys.modules if m.rpartition(".")[0] == package}))
        """
    # As in many images: nothing is written that the next process could read.
    composites, formulas = import_from(tmp_path, program, PYTHONDONTWRITEBYTECODE="1")
    assert "reduction" in formulas and not {"fft", "linalg", "loss"} & {
        *composites.split(),
        *formulas.split(),
    }


def test_a_wheel_brings_the_templates_of_new_packages(site, tmp_path):
    lines = import_from(
        site,
        f"""
        import os, sys
        os.chdir({str(tmp_path)!r})
        from tt.cli.main import build
        for words in (["op", "a::b"], ["backend", "dev"]):
            build()(["new", *words], standalone_mode=False)
        """,
    )
    assert [line for line in lines if line.endswith("plugin.py")] == [
        "  src/tt_a/plugin.py",
        "  src/tt_dev_backend/plugin.py",
    ]
    assert (tmp_path / "tt-dev-backend" / "src" / "tt_dev_backend" / "plugin.py").is_file()


def test_a_wheel_declares_the_command_and_the_plugins(site):
    (metadata,) = importlib.metadata.distributions(name="tt-tensor", path=[str(site)])
    found = {(point.group, point.name): point.value for point in metadata.entry_points}
    assert found == {
        ("console_scripts", "tt"): "tt.cli.main:main",
        ("pytest11", "tt"): "tt.testing.pytest_plugin",
        ("tt.plugins", "cpu"): "tt.backends.cpu.plugin",
        ("tt.plugins", "cuda"): "tt.backends.cuda.plugin",
        ("tt.plugins", "sparse"): "tt.plugins.sparse.plugin",
        ("tt.plugins", "nested"): "tt.plugins.nested.plugin",
        ("tt.plugins", "quantized"): "tt.plugins.quantized.plugin",
        ("tt.plugins", "autograd"): "tt.plugins.autograd.plugin",
    }
    assert metadata.metadata["License-Expression"] == "Apache-2.0"
    assert metadata.metadata["Requires-Python"] == ">=3.11"


@pytest.mark.exhaustive  # compiles all hot modules: half a minute
def test_the_hot_modules_of_a_compiled_wheel_run(tmp_path):
    wheel, output = build(ROOT, "wheel", tmp_path / "dist")
    if "no working C compiler" in output:
        pytest.skip("this machine has no C compiler")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    lines = import_from(
        tmp_path / "site",
        """
        import importlib
        import tt
        from tt.core import compiled
        x = tt.ones(3, requires_grad=True)
        (x * 2).sum().backward()
        print(x.grad.tolist())
        modules = compiled.status().modules
        loaders = {type(importlib.import_module(name).__loader__).__name__ for name in modules}
        print(compiled.status().active, len(modules), *loaders)
        """,
    )
    with (ROOT / "pyproject.toml").open("rb") as file:
        hot = tomllib.load(file)["tool"]["hatch"]["build"]["hooks"]["custom"]["hot-modules"]
    assert lines == ["[2.0, 2.0, 2.0]", f"True {len(hot)} ExtensionFileLoader"]


# --- sdist ---


def test_an_sdist_holds_the_sources_the_tests_and_the_build(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        "pyproject.toml",
        "hatch_build.py",
        "ops.yaml",
        "Makefile",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
    }
    wanted |= {path.relative_to(ROOT).as_posix() for name in FOLDERS for path in (ROOT / name).rglob("*.py")}
    wanted |= MADE
    wanted |= {"api/__init__.py", "api/py.typed", "tests/conftest.py", "tests/packaging/test_layout.py"}
    wanted |= {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "cli" / "new" / "templates").rglob("*.in")
    }
    assert wanted <= names
    assert not [
        name for name in names if name.startswith((".editable", ".venv")) or name.endswith((".so", ".pyc"))
    ]


def test_a_wheel_from_the_sdist_equals_a_wheel_from_the_repository(sdist, wheel, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (project,) = tmp_path.iterdir()
    again, _ = build(project, "wheel", tmp_path / "dist", TT_BUILD="interpreted")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(second.namelist()) == sorted(first.namelist())
        for name in (*(f"tt/{name.removeprefix('api/')}" for name in MADE), *INDICES):
            assert second.read(name) == first.read(name)


def test_a_mistake_in_the_schema_stops_the_build_and_is_shown(sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (project,) = tmp_path.iterdir()
    source = project / "ops.yaml"
    source.write_text(source.read_text().replace("kind: pointwise", "kind: pointwis", 2))
    done = install_editable(project, tmp_path / "built", TT_BUILD="interpreted")
    assert done.returncode != 0
    assert "tt: snapshot and stubs of ops.yaml cannot be made" in done.stderr
    assert done.stderr.count("unknown kind 'pointwis'") == 2 and "Traceback" not in done.stderr


# --- editable installation ---


def test_an_editable_installation_is_links_into_the_repository(miniature, tmp_path):
    succeed(install_editable(miniature, tmp_path / "built"))
    package = miniature / ".editable" / "tt"
    links = {path.name: path.resolve() for path in package.iterdir() if path.is_symlink()}
    assert links == {
        **{name: miniature / name for name in ("core", "backends", "plugins", "cli", "ops.yaml")},
        **{name: miniature / "api" / name for name in ("__init__.py", "nn", "py.typed")},
    }
    assert all(not path.readlink().is_absolute() for path in package.iterdir() if path.is_symlink())
    program = "import tt.nn.functional, tt.backends.cpu; print(tt.__file__)"
    assert import_from(miniature / ".editable", program) == [str(package / "__init__.py")]


def test_installing_again_follows_what_was_added_to_and_removed_from_api(miniature, tmp_path):
    succeed(install_editable(miniature, tmp_path / "built"))
    (miniature / "api" / "special.py").write_text("answer = 42\n")
    (miniature / "api" / "nn").rename(miniature / "api" / "layers")
    succeed(install_editable(miniature, tmp_path / "built"))
    program = "import tt.special, tt.layers; print(tt.special.answer)"
    assert import_from(miniature / ".editable", program) == ["42"]
    assert not (miniature / ".editable" / "tt" / "nn").is_symlink()


def test_what_python_left_of_a_package_that_moved_takes_no_name(miniature, tmp_path):
    (miniature / "api" / "core" / "__pycache__").mkdir(parents=True)
    succeed(install_editable(miniature, tmp_path / "built"))
    assert import_from(miniature / ".editable", "import tt; print(tt.__name__)") == ["tt"]


def test_an_entry_of_api_may_not_take_the_name_of_a_folder(miniature, tmp_path):
    (miniature / "api" / "core").mkdir()
    done = install_editable(miniature, tmp_path / "built")
    assert done.returncode != 0
    assert "api/core and core both claim the name tt.core" in done.stderr


def test_the_package_is_not_importable_under_its_folder_names(miniature, tmp_path):
    succeed(install_editable(miniature, tmp_path / "built"))
    program = "import importlib.util as u; print([n for n in ('core', 'backends', 'api') if u.find_spec(n)])"
    assert import_from(miniature / ".editable", program) == ["[]"]


# --- type checkers ---

PROGRAM = """\
import tt
import tt.nn.functional as F
from tt.core.library import KernelTable

x: tt.dtype = tt.float32
y: int = tt.float32
z: int = tt.ops.add(tt.ones(2), 1)
values: tt.Tensor = tt.ops.max.dim(tt.ones(2), 0).values
anything: int = tt.ops.acme.twice(1)
"""


@pytest.mark.exhaustive  # mypy reads the whole package: half a minute without its cache
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_resolve_the_installed_package(checker, tmp_path):
    pytest.importorskip(checker)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    option = "--python-executable" if checker == "mypy" else "--pythonpath"
    done = subprocess.run(
        [sys.executable, "-m", checker, option, sys.executable, str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [
        line for line in done.stdout.splitlines() if "error" in line and Path("program.py").name in line
    ]
    assert len(errors) == 2, done.stdout + done.stderr  # the wrong assignments, and no import
    assert ":6:" in errors[0] and ":7:" in errors[1]
