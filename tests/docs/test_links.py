"""Links lead somewhere, quoted files are quoted exactly, commands in examples exist, and the index knows every page."""

from __future__ import annotations

import re

import typer

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    kept = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return kept.strip().replace(" ", "-")


def test_every_relative_link_leads_to_a_file_and_a_heading(pages):
    broken = []
    for name, page in pages.items():
        for target in LINK.findall(page.prose):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            path = (page.path.parent / file).resolve() if file else page.path
            if not path.exists():
                broken.append(f"{name}: {target}: the file does not exist")
            elif anchor and anchor not in map(slug, type(page)(path, path.read_text()).headings):
                broken.append(f"{name}: {target}: the heading does not exist")
    assert not broken, "\n".join(broken)


def test_files_that_a_page_quotes_are_quoted_exactly(pages, root):
    quoted = 0
    for name, page in pages.items():
        for path, text in re.findall(r"`([\w./-]+/[\w.-]+)`:\n\n```\w*\n(.*?)^```$", page.text, re.M | re.S):
            assert (root / path).read_text(encoding="utf-8").strip() == text.strip(), (
                f"{name} quotes another {path}"
            )
            quoted += 1
    assert quoted >= 3


def test_commands_in_examples_exist(pages):
    from tt.cli.main import build

    checked = 0
    for name, page in pages.items():
        for block in re.findall(r"^```sh\n(.*?)^```$", page.text, re.M | re.S):
            for line in re.findall(r"^tt (.*)$", block, re.M):
                command, words = typer.main.get_command(build()), re.sub(r"#.*", "", line).split()
                while words and words[0] in getattr(command, "commands", {}):
                    command = command.commands[words.pop(0)]
                if command.context_settings.get("ignore_unknown_options"):
                    continue  # the command of another parser: tests/docs/test_launch_page.py
                options = {option for p in command.params for option in p.opts}
                unknown = [word for word in words if word.startswith("-") and word not in options]
                assert not getattr(command, "commands", None), f"{name}: tt {line}: no such command"
                assert not unknown, f"{name}: tt {line}: no options {unknown}"
                checked += 1
    assert checked


def test_make_targets_in_the_pages_exist(pages, root):
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.M))
    for name, page in pages.items():
        found = set(re.findall(r"(?:^|[`;&] ?|[A-Z_]=\w+ )make ([a-z-]+)", page.code, re.M))
        assert found <= targets, f"{name}: {found - targets}"


def test_the_index_leads_to_every_page(pages):
    page = pages["docs/README.md"]
    listed = {(page.path.parent / target.partition("#")[0]).resolve() for target in LINK.findall(page.prose)}
    missing = {p.path for name, p in pages.items() if name.startswith("docs/")} - listed - {page.path}
    assert not missing, f"docs/README.md does not list {sorted(path.name for path in missing)}"
