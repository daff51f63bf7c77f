"""Progress of downloads, and the folder that the hub keeps files in."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tt
from tt.hub.progress import Counter, bar


def test_a_counter_counts_by_update_and_by_iteration():
    with Counter(total=10, disable=True, unit="B") as counter:
        counter.update(4)
        counter.set_description("ignored")
    assert counter.n == 4
    counter = Counter("abc")
    assert list(counter) == ["a", "b", "c"]
    assert counter.n == 3


def test_a_counter_writes_one_line_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Counter(total=1000) as counter:
        counter.update(500)
    assert capsys.readouterr().err == "\r500 of 1,000\n"


def test_the_hub_has_a_bar_by_tqdms_name():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tt.hub.nonsense  # noqa: B018 - the look is what raises
    assert tt.hub.tqdm is bar()
    assert tt.utils.model_zoo.tqdm is bar()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tt.utils.model_zoo.nonsense  # noqa: B018


def test_the_folder_is_tts_and_pytorchs_under_the_facade(monkeypatch, tmp_path):
    monkeypatch.setenv("TT_HOME", str(tmp_path / "a"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "b"))
    assert tt.hub._get_torch_home() == str(tmp_path / "a")
    assert tt.hub.get_dir() == str(tmp_path / "a" / "hub")
    program = """from tt import as_torch
as_torch.install()
from torch import hub
print(hub.get_dir(), hub._get_torch_home())"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(tmp_path / "b" / "hub"), str(tmp_path / "b")]
    monkeypatch.delenv("TT_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert tt.hub._get_torch_home() == str(tmp_path / "c" / "tt")
