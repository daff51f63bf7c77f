"""The index of operators by module: its content, when it is made again, and folders that are read-only."""

import importlib
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from tt.core.family_index import OPERATORS, FamilyIndex, families, family_modules


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the folder of a package of families, each of which lists its operators."""
    folder = tmp_path / "acme_families"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "activation.py").write_text("ops = ['add', 'mul']\n")
    (folder / "reduction.py").write_text("ops = ['mul', 'exp']\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    yield folder
    forget()


def forget():
    """Let the next index be that of another process."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_families"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def families_of(package="acme_families"):
    return FamilyIndex(package, lambda module: module.ops)


def index():
    forget()
    return families_of().homes()


def imported():
    return sorted(name for name in sys.modules if name.startswith("acme_families."))


EXPECTED = {
    "add": ["acme_families.activation"],
    "mul": ["acme_families.activation", "acme_families.reduction"],
    "exp": ["acme_families.reduction"],
}


def test_the_first_process_imports_all_families_and_the_next_none(package):
    assert index() == EXPECTED and len(imported()) == 2
    assert index() == EXPECTED and imported() == []


def test_a_changed_family_is_noticed_even_if_its_time_goes_back(package):
    index()
    (package / "reduction.py").write_text("ops = ['exp', 'sin']\n")
    os.utime(package / "reduction.py", ns=(1, 1))
    assert index() == {
        "add": ["acme_families.activation"],
        "mul": ["acme_families.activation"],
        "exp": ["acme_families.reduction"],
        "sin": ["acme_families.reduction"],
    }


def test_processes_whose_families_differ_have_an_index_each(package, monkeypatch):
    (package / "reduction.py").write_text(
        "import os\nops = ['exp'] if os.environ['FORM'] == 'full' else []\n"
    )

    def homes(form):
        monkeypatch.setenv("FORM", form)
        forget()
        return FamilyIndex(
            "acme_families", lambda module: module.ops, form=lambda: os.environ["FORM"]
        ).homes()

    assert "exp" not in homes("empty")
    assert homes("full")["exp"] == ["acme_families.reduction"]
    assert "exp" not in homes("empty") and imported() == []
    assert "exp" in homes("full") and imported() == []


@pytest.mark.parametrize("content", ["", "{", "[]", "[1, 2, 3]", "null", '[[], "text"]'])
def test_a_damaged_index_is_made_again(package, content):
    index()
    (file,) = (package / "__pycache__").glob("families*.json")
    good = json.loads(file.read_text())
    file.write_text(content)
    assert index() == EXPECTED
    assert json.loads(file.read_text()) == good


def test_nothing_is_written_where_python_writes_nothing(package, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert index() == EXPECTED and index() == EXPECTED
    assert len(imported()) == 2 and not list(package.glob("__pycache__/families*"))


def test_a_folder_that_cannot_be_written_is_no_error(package, monkeypatch):
    def refuse(*args):
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "replace", refuse)
    assert index() == EXPECTED
    assert not list(package.glob("__pycache__/families*"))


def test_a_family_that_cannot_be_imported_leaves_no_index(package):
    (package / "reduction.py").write_text("raise OSError('broken')\n")
    with pytest.raises(OSError, match="broken"):
        index()
    assert not list(package.glob("__pycache__/families*"))


# --- the index of the build ---


@pytest.fixture
def built(package):
    """Return a package whose index was made by the build; as in an installation, its files have other times."""
    forget()
    families_of().build(str(package))
    for file in package.glob("*.py"):
        os.utime(file, ns=(1, 1))
    return package


def test_an_installed_package_needs_no_family_for_its_index(built, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert index() == EXPECTED and imported() == []
    assert not list(built.glob("__pycache__/families*"))


def test_an_edited_installation_makes_an_index_of_its_own(built):
    (built / "reduction.py").write_text("ops = ['sin', 'mul', 'exp']\n")
    assert index()["sin"] == ["acme_families.reduction"]
    assert index()["sin"] == ["acme_families.reduction"] and imported() == []


@pytest.mark.parametrize("content", ["", "{", "[]", "[1, 2, 3]", "null", '[[], "text"]'])
def test_a_damaged_index_of_the_build_does_no_harm(built, content):
    (built / families_of().file).write_text(content)
    assert index() == EXPECTED


def test_a_family_that_cannot_be_imported_has_no_index_of_the_build(package):
    forget()
    (package / "reduction.py").write_text("raise OSError('broken')\n")
    with pytest.raises(OSError, match="broken"):
        families_of().build(str(package))
    assert not (package / families_of().file).exists()


# --- the core's ---


def test_the_index_of_the_composites_names_the_module_of_each():
    from tt.core.dispatch.registry.composites import INDEX

    brought = {
        op: [name] for name in INDEX.modules() for op in importlib.import_module(name).composites.functions
    }
    assert INDEX.homes() == brought


def test_families_are_the_folders_of_operators():
    import tt.operators

    folders = [f.name for f in Path(tt.operators.__file__).parent.iterdir() if f.is_dir()]
    assert families() == tuple(sorted(name for name in folders if not name.startswith(("_", "."))))
    assert len(families()) == 23


def test_a_kind_of_modules_is_the_end_of_their_names():
    names = {kind: family_modules(OPERATORS, kind) for kind in ("composites", "shapes", "samples")}
    assert "tt.operators.pointwise.special" in names["composites"]
    assert {name.rpartition(".")[2] for name in names["shapes"]} == {"shapes"}
    assert all(name.endswith("samples") for name in names["samples"])
    assert not set(names["composites"]) & {*names["shapes"], *names["samples"]}


def test_threads_that_need_a_family_at_once_all_find_its_composites(monkeypatch):
    from tt.core.dispatch.registry.registry import Registry

    for _ in range(20):
        registry, start, found = Registry(), threading.Barrier(4), []

        def look(registry=registry, start=start, found=found):
            start.wait()
            found.append(registry.composite("softplus"))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(registration) for registration in found}) == 1 and found[0] is not None
        assert len(registry.composites["softplus"]) == 1
