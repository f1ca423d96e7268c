"""The documentation: its commands run, its links work, and it describes every command, setting and event."""

from __future__ import annotations

import ast
import datetime
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
import requests
import yaml
from support.cli import all_commands
from support.pages import fenced

from onefold import __version__
from onefold.core.names import TableId
from onefold.settings.environment import load_settings
from onefold.settings.variables import VARIABLES
from onefold.views.handler import EVENTS
from onefold_lab.demo.tour import CUSTOMER, DATASET, land_version
from onefold_lab.processes import bigquery_emulator, free_port
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# The commands that a new user runs, in this order.
FIRST_STEPS = (ROOT / "README.md").read_text() + (DOCS / "tutorials" / "first-view.md").read_text()
CLI_DOCS = (DOCS / "reference" / "cli.md").read_text()
SETTINGS_DOCS = (DOCS / "reference" / "settings.md").read_text()
SECTIONS = ["Decision", "Context", "Alternatives", "Consequences"]
ARCHITECTURE = (DOCS / "explanation" / "architecture.md").read_text()
SERVER_SECONDS = 300

# The suite cannot run itself. A test below checks that CI runs this command.
NOT_RUN = frozenset({"make test\n"})


def blocks(kind: str) -> list[str]:
    return list(dict.fromkeys(text for found, text in fenced(FIRST_STEPS) if found == kind))


@pytest.fixture(scope="module")
def shop() -> Iterator[Mapping[str, str]]:
    """The environment of a new user: the project's commands on the PATH, and a project with the article's tables."""
    with bigquery_emulator() as host, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIGQUERY_EMULATOR_HOST", host)
        client = emulator_client(DEFAULT_PROJECT)
        client.create_dataset(DATASET)
        for version in CUSTOMER:
            land_version(client, TableId(DEFAULT_PROJECT, DATASET, "customer"), version)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        # Without Java the demo ends before its batches, which test_demo.py runs.
        yield {**os.environ, "PATH": path, "ONEFOLD_PROJECT": DEFAULT_PROJECT, "JAVA_HOME": "/nowhere"}


@pytest.fixture(scope="module")
def server(shop: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The server that the tutorial starts in a second terminal, at a free port: the port of the tutorial, and that one."""
    (command,) = blocks("sh server")
    (port,), free = re.findall(r"--port (\d+)", command), str(free_port())
    process = subprocess.Popen(["bash", "-c", f"exec {command.replace(port, free)}"], cwd=ROOT, env=dict(shop))
    try:
        wait_for(free)
        yield {port: free}
    finally:
        process.terminate()
        process.wait()


def test_the_commands_of_the_readme_run_in_their_order(
    shop: Mapping[str, str], server: Mapping[str, str], tmp_path: Path
) -> None:
    for name in ("Makefile", "functions", "onefold", "onefold_lab", "pyproject.toml", "requirements.lock", ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    script = [block for block in blocks("sh") if block not in NOT_RUN]
    assert len(script) >= 4
    ((port, free),) = server.items()
    assert any(f":{port}" in block for block in script)
    for block in script:
        done = subprocess.run(
            ["bash", "-euc", block.replace("my-project", DEFAULT_PROJECT).replace(f":{port}", f":{free}")],
            cwd=tmp_path,
            env=dict(shop),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        if "onefold render" in block:
            assert done.stdout == blocks("sql")[0]


def test_ci_runs_make_test() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert "make test\n" in blocks("sh")


def test_every_link_outside_the_site_has_a_target() -> None:
    """The build of the site checks the links of its own pages."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(page.parent / target), f"{page.name}: {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w-]+", "-", heading.lower()).strip("-") for heading in headings}


def test_every_decision_has_a_status_and_a_date_and_is_listed() -> None:
    listed = (DOCS / "decisions" / "index.md").read_text()
    records = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    # Pages of changes under way have their numbers already, so that numbers may be missing for a while.
    numbers = [int(record.name[:4]) for record in records]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 142
    for record in records:
        _, front, text = record.read_text().split("---\n", 2)
        matter = yaml.safe_load(front)
        number, title = re.findall(r"^# (\d+)\. (.+)$", text, re.MULTILINE)[0]
        assert int(number) == int(record.name[:4])
        assert record.name == f"{int(number):04}-{slug(title)}.md"
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS, record.name
        assert isinstance(matter["date"], datetime.date), record.name
        assert f"| {number} | [{title}]({record.name}) | {matter['status']} | {matter['date']} |" in listed, record.name


def test_a_decision_that_a_later_one_changes_says_so_in_its_status() -> None:
    records = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    says = r"This\s+(?:changes|extends|widens|narrows|replaces)[^.\[]*\[[^]]*\]\((0.+?\.md)\)"
    changed = [(older, record) for record in records for older in re.findall(says, record.read_text())]
    assert len(changed) > 10
    for older, record in changed:
        status = yaml.safe_load((DOCS / "decisions" / older).read_text().split("---\n")[1])["status"]
        assert str(int(record.name[:4])) in re.findall("[0-9]+", status), f"{older}: {record.name}"


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower().replace("'", "")).strip("-")


def test_the_architecture_page_describes_every_package() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "onefold").glob("*/**/__init__.py")}
    assert set(re.findall(r"^\| `(onefold/.+?)` \| \S", ARCHITECTURE, re.MULTILINE)) == folders


def test_the_architecture_page_has_the_layers_that_are_checked() -> None:
    _, section = ARCHITECTURE.split("## The layers\n", 1)
    rows = re.findall(r"^\| [^|]+ \| (`.+`) \|$", section.split("\n## ", 1)[0], re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "Layers")
    # A package in parentheses may be missing: it is in the picture as soon as it exists.
    present = [re.findall(r"(?<!\()\b\w+\b", layer) for layer in layers]
    assert [re.findall(r"`(\w+)`", row) for row in rows] == [layer for layer in present if layer]


def test_every_module_of_the_page_where_it_happens_exists() -> None:
    named = re.findall(
        r"`((?:onefold|functions|spark_jobs)/[\w/.]+)`", (DOCS / "explanation" / "where-it-happens.md").read_text()
    )
    assert len(named) > 50
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_class_of_the_glossary_exists() -> None:
    rows = re.findall(r"^\|.*\| `(\w+)` \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    library = "\n".join(path.read_text() for path in (ROOT / "onefold").rglob("*.py"))
    assert len(rows) > 20
    assert [name for name in rows if not re.search(rf"^class {name}\b", library, re.MULTILINE)] == []


def test_the_glossary_is_in_alphabetical_order() -> None:
    terms = re.findall(r"^\| \[?([a-z][a-z ]+)", (DOCS / "glossary.md").read_text(), re.MULTILINE)[1:]
    assert [term.strip() for term in terms] == sorted({term.strip() for term in terms})


def test_the_wheel_and_the_extras_of_the_install_page_exist() -> None:
    page = (DOCS / "how-to" / "install.md").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"onefold(?:_lab)?-(\S+?)-py3-none-any", page)) == {__version__}
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(extras) - {"dev", "docs", "image", "local"}


def test_every_command_is_described() -> None:
    names = [name for name, _ in all_commands()]
    assert "capture status" in names
    for name in names:
        assert f"## onefold {name}" in CLI_DOCS, f"describe `onefold {name}` in docs/reference/cli.md"


def test_every_option_is_described() -> None:
    for name, command in all_commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.opts[0] in CLI_DOCS, f"describe {parameter.opts[0]} of `onefold {name}`"


def test_every_setting_is_described() -> None:
    for name in VARIABLES:
        assert f"`{name}`" in SETTINGS_DOCS, f"describe {name} in docs/reference/settings.md"


def test_every_configuration_in_the_docs_is_valid(tmp_path: Path) -> None:
    for page in ("reference/onefold-yaml.md", "how-to/change-a-type.md"):
        found = re.findall(r"^```yaml\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
        assert found, f"{page} shows no configuration"
        for text in found:
            assert yaml.safe_load(text)
            config = tmp_path / "onefold.yaml"
            config.write_text(text)
            load_settings({}, config)


def test_the_help_of_make_lists_every_target_that_the_docs_name() -> None:
    printed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "test", "lint", "docs", "bench", "package"):
        assert f"make {target}" in printed


def wait_for(port: str) -> None:
    end = time.monotonic() + SERVER_SECONDS
    while time.monotonic() < end:
        try:
            requests.get(f"http://localhost:{port}", timeout=300)
        except requests.exceptions.RequestException:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the server of the README does not answer at port {port}")


_LOGGING = (
    "messages/consumer.py",
    "views/handler.py",
    "views/handler_log.py",
    "views/clean_refresh.py",
    "batches/launch.py",
    "events/registry/handler.py",
)


def test_every_event_of_the_functions_is_described() -> None:
    page = (DOCS / "reference" / "log-events.md").read_text()
    modules = [ROOT / "onefold" / name for name in _LOGGING]
    found = set(EVENTS.values()).union(*(events(path) for path in (*modules, *(ROOT / "functions").glob("*.py"))))
    assert len(found) == 25
    for event in found:
        assert f"| `{event}` |" in page, f"describe the event {event} in docs/reference/log-events.md"


def events(path: Path) -> set[str]:
    """Return the events that calls of `log` or `say` name: by the keyword `event`, or as the third argument."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    named = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "event"]
    third = [
        call.args[2]
        for call in calls
        if {getattr(call.func, "attr", ""), getattr(call.func, "id", "")} & {"log", "say"} and len(call.args) > 2
    ]
    return {str(node.value) for node in [*named, *third] if isinstance(node, ast.Constant)}
