"""The project speaks of itself alone: nothing in it names the machine on which it was written."""

from __future__ import annotations

import re

MACHINE_PATH = re.compile(
    r"(?<![\w.}\])-])/(?:home|root|Users|work|tmp|mnt|private|data|scratch)/[\w.]|\b[A-Z]:\\Users\\",
    re.IGNORECASE,
)


def test_no_file_names_a_machine_path(files, root):
    found = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # the digits and other data
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(root)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_the_pattern_finds_such_paths():
    folders = ("home", "tmp", "Users")
    assert all(MACHINE_PATH.search(f"see /{folder}/someone/project") for folder in folders)
    assert not MACHINE_PATH.search("https://example.org/home/page and ./tmp/file and #!/usr/bin/env")
