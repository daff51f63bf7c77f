"""Entry points that are read from folders are those that importlib.metadata finds."""

import sys
from importlib.machinery import PathFinder
from importlib.metadata import distributions

import pytest

from tt.core.host.discovery import installed
from tt.core.host.entry_points import found_in_folders


def plugins_only(group):
    return group.startswith("tt.plugins")


def facts(entries):
    return sorted((e.name, e.value, e.group, e.dist.name, e.dist.version) for e in entries)


@pytest.fixture
def package(tmp_path):
    def add(
        folder,
        entry_points,
        metadata="Metadata-Version: 2.1\nName: Some.Plugin\nVersion: 1.5\n\nName: text\n",
    ):
        made = tmp_path / folder
        made.mkdir()
        name = "PKG-INFO" if folder.endswith(".egg-info") else "METADATA"
        (made / name).write_text(metadata, encoding="utf-8")
        (made / "entry_points.txt").write_text(entry_points, encoding="utf-8")

    return add


@pytest.fixture
def only_folders(monkeypatch):
    """Leave out the finders of tools, which may know of packages that are in no folder."""
    kept = [f for f in sys.meta_path if f is PathFinder or not hasattr(f, "find_distributions")]
    monkeypatch.setattr(sys, "meta_path", kept)


def test_both_ways_find_the_same_installed_plugins(only_folders):
    theirs = [e for d in distributions() for e in d.entry_points if plugins_only(e.group)]
    assert facts(found_in_folders(plugins_only)) == facts(theirs) and theirs


@pytest.mark.parametrize("folder", ["some_plugin-1.5.dist-info", "some_plugin.egg-info"])
def test_files_of_a_package_are_read_as_importlib_reads_them(package, tmp_path, folder, only_folders):
    package(
        folder,
        "# comment\n[console_scripts]\nx = y:z\n\n[tt.plugins.v1]\n one=pack.age : attr [extra]\ntwo = pack\n",
    )
    found = found_in_folders(plugins_only, [str(tmp_path)])
    theirs = [e for d in distributions(path=[str(tmp_path)]) for e in d.entry_points if plugins_only(e.group)]
    assert facts(found) == facts(theirs)
    assert [(e.name, e.dist) for e in found] == [
        ("one", ("Some.Plugin", "1.5")),
        ("two", ("Some.Plugin", "1.5")),
    ]


def test_an_entry_point_is_a_module_or_its_attribute(package, tmp_path, only_folders):
    package("a.dist-info", "[tt.plugins]\nmodule = json\nfunction = json.decoder : JSONDecoder.decode [x]\n")
    module, function = found_in_folders(plugins_only, [str(tmp_path)])
    import json

    assert module.load() is json and function.load() is json.decoder.JSONDecoder.decode


def test_folders_that_cannot_be_read_have_no_plugins(package, tmp_path, only_folders):
    package("a.dist-info", "[tt.plugins]\nbroken = json\n", metadata="Version: 1\n")
    (tmp_path / "b.dist-info").write_text("a file, not a folder")
    assert found_in_folders(plugins_only, [str(tmp_path), str(tmp_path / "absent")]) == []


def test_importlib_is_asked_where_folders_do_not_tell_all(tmp_path, monkeypatch, only_folders):
    archive = tmp_path / "packages.zip"
    archive.write_bytes(b"PK")
    assert found_in_folders(plugins_only, [str(archive)]) is None
    (tmp_path / "old.egg").mkdir()
    assert found_in_folders(plugins_only, [str(tmp_path / "old.egg")]) is None

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return None

        @staticmethod
        def find_distributions(context=None):
            return iter(())

    ours = facts(installed())
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert found_in_folders(plugins_only) is None
    assert facts(installed()) == ours
