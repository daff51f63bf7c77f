"""Models of repositories and folders; the web is a folder here."""

from __future__ import annotations

import builtins
import hashlib
import io
import json
import sys
import zipfile
from urllib.error import HTTPError, URLError

import pytest

import tt
from tt.hub import files, models

HUBCONF = '''
"""Models."""
dependencies = ["json"]
import helper_of_this_repository
def net(size, scale=1):
    """Makes a net."""
    return helper_of_this_repository.make(size * scale)
def _hidden():
    pass
'''


def write_repository(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper_of_this_repository.py").write_text(
        "import tt\ndef make(n):\n    return tt.nn.Linear(n, 1)\n"
    )
    return folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of the hub, empty."""
    monkeypatch.setattr(files._Folder, "chosen", str(tmp_path / "hub"))
    yield tmp_path / "hub"
    sys.modules.pop("helper_of_this_repository", None)


@pytest.fixture
def web(home, monkeypatch, tmp_path):
    """The pages of a web: address -> content, or an error."""
    repository = write_repository(tmp_path / "source")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in repository.iterdir():
            archive.write(path, f"owner-models-1a2b3c/{path.name}")
    pages = {
        "https://github.com/owner/models/tree/main/": b"",
        "https://github.com/owner/models/zipball/main": content.getvalue(),
    }
    asked = []

    def opened(url):
        asked.append(url)
        found = pages.get(url, HTTPError(url, 404, "not found", None, None))
        if isinstance(found, Exception):
            raise found
        return io.BytesIO(found)

    monkeypatch.setattr(models, "opened", opened)
    monkeypatch.setattr(files, "opened", opened)
    pages["asked"] = asked
    return pages


def answering(monkeypatch, answer):
    """Let the user answer; None is a program without a terminal."""

    def ask(question):
        assert "owner/models" in question
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr(builtins, "input", ask)


def test_entry_points_of_a_folder_are_called_and_its_modules_found(tmp_path, home):
    folder = str(write_repository(tmp_path / "mine"))
    assert tt.hub.load(folder, "net", 2, scale=3, source="local").in_features == 6
    assert folder not in sys.path


@pytest.mark.parametrize(
    ("change", "call", "error", "text"),
    [
        ("", lambda f: tt.hub.load(f, "nett", source="local"), ValueError, "nett.*did you mean 'net'"),
        ("", lambda f: tt.hub.load(f, "_hidden", source="local"), ValueError, "_hidden"),
        ("", lambda f: tt.hub.load(f, 3, source="local"), TypeError, "str, not int"),
        ("", lambda f: tt.hub.load(f, "net", source="gitlab"), ValueError, "gitlab"),
        ("", lambda f: tt.hub.load(f + "x", "net", source="local"), FileNotFoundError, "holds no hubconf.py"),
        (
            "dependencies = ['absent_package']",
            lambda f: tt.hub.load(f, "net", source="local"),
            ImportError,
            "absent",
        ),
    ],
)
def test_wrong_entry_points_and_folders_are_explained(tmp_path, home, change, call, error, text):
    folder = write_repository(tmp_path / "mine")
    (folder / "hubconf.py").write_text(HUBCONF + change)
    with pytest.raises(error, match=text):
        call(str(folder))


def test_a_repository_is_downloaded_once_and_trusted_from_then_on(web, home):
    assert tt.hub.list("owner/models", trust_repo=True, verbose=False) == ["net"]
    assert tt.hub.help("owner/models", "net") == "Makes a net."
    assert tt.hub.load("owner/models", "net", 4, verbose=False).in_features == 4
    assert sum("zipball" in url for url in web["asked"]) == 1
    tt.hub.list("owner/models", force_reload=True, verbose=False)
    assert sum("zipball" in url for url in web["asked"]) == 2
    assert (home / "trusted_list").read_text() == "owner_models\n"
    assert sorted(p.name for p in home.iterdir()) == ["owner_models_main", "trusted_list"]


@pytest.mark.parametrize(
    ("answer", "trust"), [("n", "check"), ("", "check"), (None, "check"), (None, False), ("no", None)]
)
def test_nothing_is_fetched_or_run_without_consent(web, home, monkeypatch, answer, trust):
    answering(monkeypatch, answer)
    with pytest.raises(tt.errors.UntrustedSourceError, match="owner/models is not trusted"):
        tt.hub.load("owner/models", "net", 1, trust_repo=trust)
    assert not web["asked"] and not home.exists()


def test_consent_is_remembered_except_when_asked_each_time(web, home, monkeypatch, capsys):
    answering(monkeypatch, "y")
    tt.hub.list("owner/models", trust_repo=False)
    assert not (home / "trusted_list").exists() and "zipball" in capsys.readouterr().err
    tt.hub.list("owner/models", verbose=False)
    answering(monkeypatch, None)
    assert tt.hub.list("owner/models", verbose=False) == ["net"]
    with pytest.raises(tt.errors.UntrustedSourceError):
        tt.hub.list("owner/models", trust_repo=False)


def test_branches_of_others_are_refused(web, home):
    api = "https://api.github.com/repos/owner/models"
    web[f"{api}/branches?per_page=100&page=1"] = json.dumps(
        [{"name": "dev", "commit": {"sha": "f00baa1234"}}]
    ).encode()
    web[f"{api}/branches?per_page=100&page=2"] = web[f"{api}/tags?per_page=100&page=1"] = b"[]"
    web["https://github.com/owner/models/zipball/dev"] = web["https://github.com/owner/models/zipball/main"]
    assert tt.hub.list("owner/models:dev", trust_repo=True, verbose=False) == ["net"]
    for name in ("evil", "f00"):
        with pytest.raises(RuntimeError, match=f"cannot find {name}"):
            tt.hub.list(f"owner/models:{name}", verbose=False)


@pytest.mark.parametrize("name", ["models", "a/b/c", "owner/..;x", ""])
def test_names_of_repositories_are_checked(home, name):
    with pytest.raises(ValueError, match="owner/name"):
        tt.hub.list(name)


def test_master_is_taken_where_main_is_missing_and_a_copy_without_a_network(web, home):
    web["https://github.com/owner/models/zipball/master"] = web[
        "https://github.com/owner/models/zipball/main"
    ]
    del web["https://github.com/owner/models/tree/main/"]
    assert tt.hub.list("owner/models", trust_repo=True, verbose=False) == ["net"]
    web["https://github.com/owner/models/tree/main/"] = URLError("no network")
    assert tt.hub.list("owner/models", verbose=False) == ["net"]


@pytest.mark.parametrize(
    "entries",
    [["../evil.py"], ["a/x.py", "b/y.py"], ["hubconf.py"], None],
    ids=["outside", "two", "flat", "damaged"],
)
def test_damaged_and_hostile_archives_leave_nothing(web, home, entries):
    content = io.BytesIO(b"no archive")
    if entries is not None:
        with zipfile.ZipFile(content, "w") as archive:
            for entry in entries:
                archive.writestr(entry, "")
    web["https://github.com/owner/models/zipball/main"] = content.getvalue()
    with pytest.raises(tt.errors.CorruptFileError):
        tt.hub.list("owner/models", trust_repo=True, verbose=False)
    assert [p.name for p in home.iterdir()] == ["trusted_list"] and not (home.parent / "evil.py").exists()


def test_files_are_downloaded_whole_or_not_at_all(web, home, tmp_path):
    web["https://host/x"] = b"content"
    digest = hashlib.sha256(b"content").hexdigest()
    tt.hub.download_url_to_file("https://host/x", tmp_path / "x", digest[:8], progress=False)
    assert (tmp_path / "x").read_bytes() == b"content"
    with pytest.raises(RuntimeError, match="invalid hash value"):
        tt.hub.download_url_to_file("https://host/x", tmp_path / "y", "00000000")
    with pytest.raises(HTTPError):
        tt.hub.download_url_to_file("https://host/absent", tmp_path / "z")
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["x"]


def test_weights_are_loaded_from_an_address_once(web, home, tmp_path):
    tt.save({"w": tt.ones(2)}, tmp_path / "net.pth")
    content = (tmp_path / "net.pth").read_bytes()
    name = f"net-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    web[f"https://host/{name}"] = content
    for _ in range(2):
        assert tt.hub.load_state_dict_from_url(f"https://host/{name}", check_hash=True)["w"].tolist() == [
            1,
            1,
        ]
    assert web["asked"] == [f"https://host/{name}"] and (home / "checkpoints" / name).is_file()
    web["https://host/net.pth"] = content
    with pytest.raises(ValueError, match="holds no hash"):
        tt.hub.load_state_dict_from_url("https://host/net.pth", check_hash=True)
    with pytest.raises(ValueError, match="no name of a file"):
        tt.hub.load_state_dict_from_url("https://host/")
    assert tt.utils.model_zoo.load_url("https://host/net.pth", model_dir=tmp_path)["w"].shape == (2,)


def test_a_token_is_sent_to_github_only(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    seen = {}
    monkeypatch.setattr(
        files, "urlopen", lambda request: seen.update({request.host: request.unredirected_hdrs})
    )
    for host in ("api.github.com", "github.com", "notgithub.com", "host"):
        files.opened(f"https://{host}/x")
    assert [h for h in seen if seen[h]] == ["api.github.com", "github.com"]


def test_the_folder_is_set_or_from_the_environment(monkeypatch):
    monkeypatch.setattr(files._Folder, "chosen", None)
    monkeypatch.setenv("TT_HOME", "/somewhere")
    assert tt.hub.get_dir() == "/somewhere/hub"
    monkeypatch.delenv("TT_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert tt.hub.get_dir() == "/cache/tt/hub"
    tt.hub.set_dir("/other")
    assert tt.hub.get_dir() == "/other"
