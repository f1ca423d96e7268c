"""Every block of commands in the tutorials and guides: it is run by a test, or can be parsed and says why it is not run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from lab.test_how_to_pages import PREPARED
from support.command_lines import commands, parse
from support.pages import CLOUD, ROOT, TITLES, fenced

from onefold.batches.batch import with_defaults
from onefold.batches.request import parse_batch_request
from onefold.messages.table_created import parse_event

DOCS = ROOT / "docs"
PAGES = [
    path.relative_to(DOCS).as_posix() for folder in ("tutorials", "how-to") for path in sorted((DOCS / folder).glob("*.md"))
]
RUN_BY = {
    "tutorials/first-view.md": "test_docs.py",
    "tutorials/datastream.md": "lab/test_datastream_page.py",
    "tutorials/versions-to-a-clean-view.md": "lab/test_versions_page.py",
    "tutorials/existing-dataset.md": "lab/test_existing_page.py",
    "tutorials/first-batch.md": "lab/test_main.py",
    "tutorials/capture-on-a-laptop.md": "lab/test_capture_page.py",
    "tutorials/pull-tables.md": "lab/test_pull_page.py",
    "tutorials/events.md": "lab/test_events_page.py",
    "tutorials/clean-views-and-alerts.md": "lab/test_clean_page.py",
    **{f"how-to/{name}.md": "lab/test_how_to_pages.py" for name in PREPARED},
}
"""The test that runs the blocks of a page in their order."""
NOT_RUN = {
    (
        "tutorials/your-own-database.md",
        "onefold demo",
    ): "it asks for a password; e2e/test_demo_own_database.py runs the command",
    ("how-to/install.md", "make install"): "it makes the environment that the tests run in",
    (
        "how-to/install.md",
        "make dist",
    ): "it would install over that environment; infra/test_dist.py installs the wheels elsewhere",
    ("how-to/install.md", "pip install"): "as above",
    ("how-to/release.md", "git tag"): "it would release",
    ("how-to/run-on-a-laptop.md", "onefold local"): "all of a stack: lab/test_main.py starts one",
}
"""Blocks that would run on this machine and are not run, by page and first words, and why."""
PROGRAMS = {
    *("aws", "bq", "docker", "functions-framework", "gcloud", "git", "make", "pip", "python", "terraform"),
    *("cat", "cd", "done", "echo", "eval", "export", "find", "for", "grep", "jq", "mkdir", "printf", "read", "rm", "sed"),
    *("sort", "test", "umask", "uniq", "unset"),
}
"""What a page may call besides Onefold; each is known to the reader, or named by the page."""
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
_INDENTED = re.compile(rf"^ {{4,}}(?:onefold|{'|'.join(sorted(PROGRAMS))}) ", re.MULTILINE)


def scripts() -> Iterator[tuple[str, str, str]]:
    """Yield page, kind and text of each block of commands of a shell."""
    for page in PAGES:
        for kind, text in fenced((DOCS / page).read_text()):
            if kind.split()[0] == "sh":
                yield page, kind, text


SCRIPTS = list(scripts())
ONEFOLD = list(
    dict.fromkeys((page, *words) for page, _, text in SCRIPTS for words in commands(text) if words[0] == "onefold")
)


@pytest.mark.parametrize("line", ONEFOLD, ids=lambda line: " ".join(line)[:100])
def test_the_command_line_takes_each_command_of_a_page(line: tuple[str, ...]) -> None:
    page, *words = line
    try:
        parse(words)
    except click.UsageError as error:
        pytest.fail(f"docs/{page}: {' '.join(words)}: {error.format_message()}")


def test_each_other_command_of_a_page_is_known_and_each_target_of_make_exists() -> None:
    found = [(page, words) for page, _, text in SCRIPTS for words in commands(text) if words[0] != "onefold"]
    assert len(found) > 50
    assert [(page, words) for page, words in found if words[0] not in PROGRAMS] == []
    assert [(page, words) for page, words in found if words[0] == "make" and words[1] not in TARGETS] == []


def test_the_functions_can_read_each_message_that_a_page_publishes() -> None:
    readers: dict[str, Callable[[bytes], object]] = {"table-created": parse_event, "batch-requests": check_batch}
    sent = [
        words[4:]
        for _, _, text in SCRIPTS
        for words in commands(text)
        if words[:4] == ["gcloud", "pubsub", "topics", "publish"]
    ]
    assert {topic for topic, *_ in sent} == set(readers)
    for topic, *options in sent:
        (message,) = (option.removeprefix("--message=") for option in options if option.startswith("--message="))
        readers[topic](message.encode())


def check_batch(message: bytes) -> None:
    request = parse_batch_request(message)
    request.form.parse(with_defaults(request))


def test_each_block_is_a_script_that_bash_can_read() -> None:
    for page, _, text in SCRIPTS:
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), f"docs/{page}\n{text}"


def test_each_block_that_needs_no_cloud_is_run_by_a_test_or_says_why_it_is_not() -> None:
    here = [(page, text) for page, kind, text in SCRIPTS if kind != CLOUD]
    left = [(page, " ".join(text.split()[:2])) for page, text in here if page not in RUN_BY]
    assert sorted(set(left)) == sorted(NOT_RUN)
    assert [test for test in RUN_BY.values() if not (Path(__file__).parent / test).is_file()] == []


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_in_fences_whose_titles_say_where_they_run(page: str) -> None:
    text = (DOCS / page).read_text()
    outside = re.sub(r"^( *)```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert _INDENTED.findall(outside) == []
    assert set(re.findall(r"^ *```\w+ (.+)$", text, re.MULTILINE)) <= {f'title="{title}"' for title in TITLES}


@pytest.mark.parametrize("page", PAGES)
def test_what_needs_the_cloud_does_not_run_against_the_addresses_of_the_laptop(page: str) -> None:
    exported: set[str] = set()
    for kind, text in fenced((DOCS / page).read_text()):
        if kind == CLOUD:
            assert exported == set(), f"docs/{page}: unset them before\n{text}"
        for words in commands(text) if kind == "sh" else ():
            names = {word.partition("=")[0] for word in words[1:]}
            if words[0] == "export":
                exported |= {name for name in names if name.endswith("_EMULATOR_HOST")}
            elif words[0] == "unset":
                exported -= names
