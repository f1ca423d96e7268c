"""Every command, as a person or a program calls it: exit codes, what is on standard output and what is beside it."""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome, Run
from emulator import EmulatedDataset
from recorders import ABC, DEF

import onefold.cli
from onefold.cli import cli

TYPES_OF_ARTICLE = {"customer_v_abc": ABC, "customer_v_def": {**DEF, "id": "INT64"}}


def rows_of(tables: dict[str, dict[str, str]], **more: str) -> list[dict[str, Any]]:
    return [
        {"table_name": table, "column_name": name, "ordinal_position": position, "data_type": type_, **more}
        for table, columns in tables.items()
        for position, (name, type_) in enumerate(columns.items(), 1)
    ]


@pytest.fixture
def columns_file(tmp_path: Path) -> Path:
    path = tmp_path / "columns.json"
    path.write_text(json.dumps(rows_of({"customer_v_abc": ABC, "customer_v_def": DEF})))
    return path


ARTICLE = """\
SELECT
  CAST(v.`id` AS STRING) AS `id`,
  v.`first_name`,
  v.`last_name`,
  v.`full_name`,
  CAST(NULL AS STRING) AS `email`
FROM `customer_v_abc` AS v
UNION ALL
SELECT
  v.`id`,
  v.`first_name`,
  v.`last_name`,
  CAST(NULL AS STRING) AS `full_name`,
  v.`email`
FROM `customer_v_def` AS v
"""


# The command itself.


def test_every_command_helps(run: Run) -> None:
    for command in [[], *([name] for name in cli.commands)]:
        outcome = run(*command, "--help")
        assert outcome.code == 0
        assert outcome.out.startswith(f"Usage: onefold {command[0] if command else '[OPTIONS] COMMAND'}")
    assert sorted(cli.commands) == ["current", "demo", "plan", "publish", "refresh", "render", "workload"]


def test_it_tells_its_version(run: Run) -> None:
    assert run("--version").out == f"onefold, version {onefold.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Usage: onefold"),
        (["fold"], "No such command 'fold'"),
        (["render"], "Missing argument 'TABLE'"),
        (["render", "customer"], "Missing option '--columns'"),
        (["render", "customer", "--columns", "nowhere.json"], "'nowhere.json': No such file"),
        (["render", "customer", "--columns", "-", "--ddl"], "--ddl names the view, and for that it needs --dataset"),
        (["render", "customer", "--columns", "-", "--project", "p"], "--project needs --dataset"),
        (["render", "customer", "--columns", "-", "--dataset", "d", "--ddl", "--json"], "Say --ddl or --json, not both"),
        (["render", "cust`omer", "--columns", "-", "--dataset", "a.b"], "table 'cust`omer' is not a valid name"),
        (["render", "cust`omer", "--columns", "-", "--dataset", "a.b"], "dataset 'a.b' is not a valid name"),
        (["plan"], "Missing argument 'DATASET'"),
        (["plan", "shop", "cust.omer"], "table 'cust.omer' is not a valid name"),
        (["plan", "shop", "--project", "MY"], "project 'MY' is not a valid name"),
        (["refresh", "shop"], "Name a TABLE, or say --all"),
        (["refresh", "shop", "customer", "--all"], "Name a TABLE, or say --all"),
        (["refresh", "shop", "--all", "--prune"], "--prune removes the view of one TABLE"),
        (["publish", "shop", "customer"], "Missing argument 'VERSION'"),
        (["publish", "shop", "customer", "a_b"], "version 'a_b' is not a valid name"),
        (["publish", "shop", "customer", "abc"], "Say --project, or set ONEFOLD_PROJECT"),
        (["--config", "nowhere.yaml", "plan", "shop"], "'nowhere.yaml' does not exist"),
    ],
)
def test_wrong_usage_exits_with_1_and_says_so_beside_the_output(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    for variable in ("ONEFOLD_PROJECT", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(variable, raising=False)
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert told in outcome.err


def test_wrong_settings_are_told_one_fault_a_line(run: Run, monkeypatch: pytest.MonkeyPatch, columns_file: Path) -> None:
    monkeypatch.setenv("ONEFOLD_DATASETS", "a-b")
    Path("onefold.yaml").write_text("extra: 1\n")
    outcome = run("render", "customer", "--columns", columns_file)
    assert (outcome.code, outcome.out) == (1, "")
    assert [line.split(":")[0] for line in outcome.err.splitlines()] == ["Error", "Error"]


# render


def test_render_gives_the_case_of_the_article_exactly(run: Run, columns_file: Path) -> None:
    assert run("render", "customer", "--columns", columns_file) == Outcome(0, ARTICLE, "")


def test_render_keeps_a_type_on_which_all_versions_agree(run: Run) -> None:
    outcome = run("render", "customer", "--columns", "-", "--json", stdin=json.dumps(rows_of(TYPES_OF_ARTICLE)))
    assert outcome.json["columns"][0] == {"name": "id", "type": "INT64"}


def test_render_reads_standard_input_array_or_lines_with_numbers_as_text(run: Run) -> None:
    rows = rows_of({"customer_v_abc": ABC, "customer_v_def": DEF}, is_hidden="NO")
    as_text = [{**row, "ordinal_position": str(row["ordinal_position"])} for row in rows]
    hidden = {**as_text[0], "column_name": "_PARTITIONTIME", "ordinal_position": None, "is_hidden": "YES"}
    for stdin in (json.dumps([*as_text, hidden]), "\n".join(json.dumps(row) for row in [hidden, *as_text])):
        assert run("render", "customer", "--columns", "-", stdin=stdin) == Outcome(0, ARTICLE, "")


def test_render_orders_versions_by_their_creation_where_it_is_known(run: Run) -> None:
    newer = rows_of({"customer_v_abc": ABC}, creation_time="2024-02-01 00:00:00")
    older = rows_of({"customer_v_def": DEF}, creation_time="2024-01-01 00:00:00")
    assert run("render", "customer", "--columns", "-", "--json", stdin=json.dumps(newer + older)).json["versions"] == [
        "def",
        "abc",
    ]


def test_render_prints_the_whole_statement(run: Run, columns_file: Path) -> None:
    outcome = run("render", "customer", "--columns", columns_file, "--dataset", "shop", "--project", "my-project", "--ddl")
    assert outcome.out.startswith("CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS\nSELECT\n")
    assert "FROM `my-project.shop.customer_v_abc` AS v" in outcome.out
    assert outcome.out.endswith(";\n")


def test_render_prints_json_for_programs(run: Run, columns_file: Path) -> None:
    outcome = run("render", "customer", "--columns", columns_file, "--dataset", "shop", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json["view"] == "shop.customer_unified"
    assert (outcome.json["versions"], outcome.json["form"], outcome.json["leaves"]) == (["abc", "def"], "spelled", [])
    assert [column["name"] for column in outcome.json["columns"]] == ["id", "first_name", "last_name", "full_name", "email"]
    assert outcome.json["casts"] == [{"version": "abc", "column": "id", "from": "INT64", "to": "STRING", "losses": []}]


def test_render_follows_the_settings(run: Run, columns_file: Path) -> None:
    Path("own.yaml").write_text("tables: {customer: {retire: [def], version_column: landed_in}}")
    outcome = run("--config", "own.yaml", "render", "customer", "--columns", columns_file, "--json")
    assert (outcome.json["versions"], outcome.json["columns"][0]["name"]) == (["abc"], "landed_in")


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        ("", "no rows of a table named customer_v_<letters and digits>"),
        (json.dumps(rows_of({"customer_vip_v_abc": ABC})), "no rows of a table named customer_v_"),
        ("[{]", "the file is no JSON array"),
        ('[{"table_name": "customer_v_abc"}]', "row 1 has no column_name, ordinal_position, data_type"),
        (json.dumps(rows_of({"customer_v_abc": {"id": "INTEGR"}})), "'INTEGR' is not a BigQuery type"),
    ],
)
def test_render_says_what_is_wrong_with_the_file(run: Run, stdin: str, told: str) -> None:
    outcome = run("render", "customer", "--columns", "-", stdin=stdin)
    assert (outcome.code, outcome.out) == (1, "")
    assert told in outcome.err


def test_render_says_that_a_file_is_not_text(run: Run) -> None:
    Path("columns.json").write_bytes(b"\xff\xfe[]")
    outcome = run("render", "customer", "--columns", "columns.json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "is not UTF-8 text" in outcome.err


@pytest.mark.parametrize("count", [600, 1_200])
def test_render_prints_the_text_and_warns_beside_it_when_limits_are_near_or_passed(run: Run, count: int) -> None:
    rows = rows_of({f"customer_v_{number}": {"id": "INT64"} for number in range(count)})
    outcome = run("render", "customer", "--columns", "-", "--json", stdin=json.dumps(rows))
    assert (outcome.code, len(outcome.json["versions"])) == (0, count)
    assert "Warning" in outcome.err


# plan and refresh


@pytest.fixture
def shop(dataset: EmulatedDataset) -> EmulatedDataset:
    dataset.land("customer_v_abc", ABC, "1, 'Ada', 'Lovelace', 'Ada Lovelace'", "2, 'Alan', 'Turing', 'Alan Turing'")
    dataset.land("customer_v_def", DEF, "'c-3', 'Grace', 'Hopper', 'grace@example.com'", "'c-4', 'Edsger', 'Dijkstra', NULL")
    return dataset


def test_plan_shows_what_a_refresh_would_do_and_writes_nothing(run: Run, shop: EmulatedDataset) -> None:
    outcome = run("plan", shop.name, "customer")
    assert outcome.code == 2
    for words in (
        "would be created",
        "versions: 2 (abc, def)",
        "characters",
        "3 of 1,000 (997 left)",
        "INT64",
        "STRING",
        "no",
    ):
        assert words in outcome.out
    assert all(table.table_id != "customer_unified" for table in shop.client.list_tables(shop.name))


def test_plan_tells_which_conversions_can_lose_something(run: Run, shop: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {types: {id: INT64}}}")
    outcome = run("plan", shop.name, "customer", "--json")
    (cast,) = outcome.json[0]["casts"]
    assert (cast["version"], cast["column"], cast["from"], cast["to"]) == ("def", "id", "STRING", "INT64")
    assert cast["losses"]
    assert cast["losses"][0] in run("plan", shop.name, "customer").out


def test_plan_for_programs_is_json_alone(run: Run, shop: EmulatedDataset) -> None:
    outcome = run("plan", shop.name, "--json")
    (plan,) = outcome.json
    assert (outcome.code, outcome.err) == (2, "")
    assert (plan["table"], plan["action"]) == (f"local.{shop.name}.customer", "create")
    assert plan["limits"]["tables_left"] == 997


def test_plan_says_why(run: Run, shop: EmulatedDataset) -> None:
    assert run("refresh", shop.name, "customer").code == 0
    shop.land("customer_v_ghi", {**DEF, "phone": "STRING"})
    outcome = run("plan", shop.name, "customer")
    assert outcome.code == 2
    for words in ("would be updated", "new versions: 1 (ghi)", "added", "phone"):
        assert words in outcome.out


def test_after_a_refresh_there_is_nothing_to_plan(run: Run, shop: EmulatedDataset) -> None:
    refreshed = run("refresh", shop.name, "customer")
    assert (refreshed.code, refreshed.err) == (0, "")
    assert f"local.{shop.name}.customer_unified created" in refreshed.out
    planned = run("plan", shop.name, "customer")
    assert planned.code == 0
    assert "is up to date" in planned.out
    assert "is up to date" in run("refresh", shop.name, "customer").out


def test_refresh_gives_the_rows_of_the_article(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", shop.name, "customer")
    assert shop.rows("customer_unified") == [
        ("1", "Ada", "Lovelace", "Ada Lovelace", None),
        ("2", "Alan", "Turing", "Alan Turing", None),
        ("c-3", "Grace", "Hopper", None, "grace@example.com"),
        ("c-4", "Edsger", "Dijkstra", None, None),
    ]


def test_refresh_of_all_shows_its_progress_beside_the_output(run: Run, shop: EmulatedDataset) -> None:
    shop.land("supplier_v_1", {"id": "INT64"})
    outcome = run("refresh", shop.name, "--all")
    assert outcome.code == 0
    assert f"refreshing {shop.name}" in outcome.err
    assert "100%" in outcome.err
    assert [line.split(".")[-1] for line in outcome.out.splitlines() if line.startswith("local.")] == [
        "customer_unified created",
        "supplier_unified created",
    ]


def test_refresh_of_all_goes_on_after_a_failure_and_exits_with_1(run: Run, shop: EmulatedDataset) -> None:
    shop.land("a_v_1", {"id": "INT64"})
    shop.land("a_unified", {"id": "INT64"})
    outcome = run("refresh", shop.name, "--all", "--json")
    assert outcome.code == 1
    assert [plan["table"].split(".")[-1] for plan in outcome.json] == ["customer"]
    assert "Error: a: " in outcome.err
    assert "is a table, not a view" in outcome.err


def test_a_view_without_versions_goes_only_when_asked(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", shop.name, "customer")
    Path("onefold.yaml").write_text("tables: {customer: {retire: [abc, def]}}")
    refused = run("refresh", shop.name, "customer")
    assert refused.code == 1
    for words in (f"local.{shop.name}", "^customer_v_[A-Za-z0-9]+$", "all 2 of them are retired", "--prune"):
        assert words in refused.err
    assert "customer_unified removed" in run("refresh", shop.name, "customer", "--prune").out
    left = {table.table_id for table in shop.client.list_tables(shop.name)}
    assert left == {"customer_v_abc", "customer_v_def"}


def test_a_refresh_after_versions_were_dropped_takes_them_out(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", shop.name, "customer")
    shop.run(f"DROP TABLE {shop.quoted('customer_v_abc')}")
    assert "customer_unified updated" in run("refresh", shop.name, "customer").out
    assert len(shop.rows("customer_unified")) == 2
    shop.run(f"DROP TABLE {shop.quoted('customer_v_def')}")
    assert "there is none" in run("refresh", shop.name, "customer").err
    assert "customer_unified removed" in run("refresh", shop.name, "customer", "--prune").out
    assert list(shop.client.list_tables(shop.name)) == []


@pytest.mark.parametrize("command", ["plan", "refresh"])
def test_a_dataset_without_versioned_tables_is_an_error(run: Run, dataset: EmulatedDataset, command: str) -> None:
    outcome = run(command, dataset.name, *(["--all"] if command == "refresh" else []))
    assert outcome.code == 1
    assert "has no versioned tables" in outcome.err


@pytest.mark.parametrize(
    "arguments", [["plan", "nowhere"], ["plan", "nowhere", "customer"], ["refresh", "nowhere", "--all"]]
)
@pytest.mark.usefixtures("dataset")
def test_a_dataset_that_is_not_there_is_an_error(run: Run, arguments: Sequence[str]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 1
    assert "nowhere" in outcome.err


# publish


@dataclass
class LocalFunction:
    """A real HTTP server that remembers what it was sent."""

    url: str = ""
    status: int = 204
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)


@pytest.fixture
def function() -> Iterator[LocalFunction]:
    told = LocalFunction()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.requests.append(({key.lower(): value for key, value in self.headers.items()}, json.loads(body)))
            self.send_response(told.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silent."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield told
        server.shutdown()


def test_publish_sends_a_cloud_event_straight_to_a_function(run: Run, function: LocalFunction) -> None:
    outcome = run("publish", "shop", "customer", "abc", "--to", function.url)
    assert (outcome.code, outcome.err) == (0, "")
    ((headers, body),) = function.requests
    assert (headers["ce-specversion"], headers["ce-type"]) == ("1.0", "google.cloud.pubsub.topic.v1.messagePublished")
    assert body["message"]["messageId"] == headers["ce-id"]
    sent = json.loads(base64.b64decode(body["message"]["data"]))
    assert sent == {"dataset": "shop", "table": {"name": "customer", "version": "abc"}}
    assert f"sent to {function.url} as {headers['ce-id']}" in outcome.out


def test_publish_for_programs_is_json_alone(run: Run, function: LocalFunction) -> None:
    outcome = run("publish", "shop", "customer", "abc", "--to", function.url, "--json")
    assert outcome.json["id"] == function.requests[0][0]["ce-id"]
    assert outcome.json["message"] == {"dataset": "shop", "table": {"name": "customer", "version": "abc"}}


@pytest.mark.parametrize(("status", "told"), [(500, "asks to be told again (500)"), (404, "answered 404")])
def test_publish_fails_where_the_function_does_not_take_it(
    run: Run, function: LocalFunction, status: int, told: str
) -> None:
    function.status = status
    outcome = run("publish", "shop", "customer", "abc", "--to", function.url)
    assert (outcome.code, outcome.out) == (1, "")
    assert told in outcome.err


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "nonsense"])
def test_publish_fails_where_nobody_answers(run: Run, url: str) -> None:
    outcome = run("publish", "shop", "customer", "abc", "--to", url)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"{url} does not answer" in outcome.err


# demo


def test_demo_says_what_to_install_where_the_embedded_stack_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb_extensions", None)
    outcome = run("demo")
    assert outcome.code == 1
    assert "duckdb_extensions is missing: pip install 'onefold[local]'" in outcome.err
