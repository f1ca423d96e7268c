"""What infra/aws deploys, from files in S3 to rows in Redshift: its calls, filters and variables, the packaged function."""

from __future__ import annotations

import zipfile
from pathlib import Path
from urllib.parse import unquote_plus

import boto3
import pytest
from support.aws_function import DeployedLoader
from support.aws_values import BUCKET, copy_values, value
from support.cloudwatch_filters import field, matches
from support.fake_emr_serverless import EmrServerless, api_call
from support.hcl_text import expression, resources
from support.redshift_scene import TABLE, RedshiftScene, row_of, table_of
from support.redshift_server import SCHEMA, RedshiftServer
from support.shred_job import click, scene_with_clicks
from support.terraform import INFRA, ROOT

from infra.package import package_spark
from onefold.events.shred.manifest import MANIFEST

SHRED = '{ events = ["s3://acme-collector/good"], registries = ["s3://acme-registry"], input = "self-describing" }'
BROKEN = f"shredded/run=2026-11-23-07-00-00/{MANIFEST}"
ID = ("id", "INT")


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_values(tmp_path_factory.mktemp("values"))


def deployed(values: Path, folder: Path, **variables: str) -> DeployedLoader:
    notification = resources(INFRA / "aws")["aws_s3_bucket_notification.runs"]
    prefix, suffix = (value(values, str(expression(notification, f"filter_{end}"))) for end in ("prefix", "suffix"))
    environ = value(values, "local.loader_environment", **{"shred": SHRED, **variables})
    return DeployedLoader(folder, environ, prefix, suffix)


def put(bucket: str, key: str, body: bytes) -> None:
    boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=body)


def test_finished_runs_are_loaded_by_messages_and_a_broken_one_ends_among_the_dead_letters(
    redshift_scene: RedshiftScene, values: Path, tmp_path: Path
) -> None:
    loader = deployed(values, tmp_path)
    put(BUCKET, "shredded/", b"")  # the folder, as Terraform makes it
    loader.send("{}")
    assert loader.deliver() == []
    put(BUCKET, BROKEN, b"no manifest")
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})
    (kept,) = loader.deliver()
    assert BROKEN in unquote_plus(kept)  # as S3 writes names
    assert redshift_scene.rows("id") == [("a", 1)]
    redshift_scene.shred(1, "1-0-0", [ID], {"id_": "b", "id": 2})
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})  # S3 may send a message again
    for _ in range(loader.receives):
        loader.deliver()
    assert redshift_scene.rows("id") == [("a", 1), ("b", 2)]
    assert loader.dead_letters() == [kept]
    assert loader.deliver() == []
    assert [line["runs"] for line in loader.logged("runs_waiting")][:2] == [0, 1]
    assert {line["run"].rpartition("=")[2] for line in loader.logged("run_refused")} == {"2026-11-23-07-00-00"}


def test_runs_before_the_first_one_that_is_wanted_are_passed_over(
    redshift_scene: RedshiftScene, values: Path, tmp_path: Path
) -> None:
    loader = deployed(values, tmp_path, since="2026-11-23-08-00-01")
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})
    redshift_scene.shred(1, "1-0-0", [ID], {"id_": "b", "id": 2})
    assert loader.deliver() == []
    assert redshift_scene.rows("id") == [("b", 2)]
    assert [line["runs"] for line in loader.logged("runs_waiting")] == [0]


def test_external_tables_and_their_views_follow_the_runs_also_those_that_are_not_loaded(
    redshift_scene: RedshiftScene, values: Path, tmp_path: Path
) -> None:
    server = redshift_scene.server
    server.run("DROP SCHEMA IF EXISTS spectrum CASCADE", "DROP SCHEMA IF EXISTS views CASCADE")
    boto3.client("glue").create_database(DatabaseInput={"Name": "acme"})
    external = {"catalog": "acme", "external": '{ schema = "spectrum", views = "views" }'}
    loader = deployed(values, tmp_path, since="2026-11-23-08-00-01", **external)
    for second in range(2):
        redshift_scene.write_values(second, [(table_of(ID), [row_of(f"r{second}", second)])])
    assert loader.deliver() == []
    assert redshift_scene.rows("id") == [("r1", 1)]
    with server.connect() as connection:
        server.spectrum.read(connection)
    assert server.query(f"SELECT TRIM(root_id), id FROM views.{TABLE} ORDER BY 1") == [("r0", 0), ("r1", 1)]
    (line,) = loader.logged("external_table")
    assert (line["table"], line["action"], len(line["runs"])) == (TABLE, "create", 2)
    boto3.client("glue").delete_database(Name="acme")
    redshift_scene.write_values(2, [(table_of(ID), [row_of("r2", 2)])])
    assert len(loader.deliver()) == 1
    assert redshift_scene.rows("id") == [("r1", 1), ("r2", 2)]
    assert "has no database acme" in loader.logged("external_table_failed")[0]["reason"]


@pytest.mark.spark
@pytest.mark.long
def test_files_of_events_become_rows_by_the_call_of_the_schedule(
    redshift: RedshiftServer,
    emr_serverless: EmrServerless,
    values: Path,
    tmp_path: Path,
) -> None:
    s3 = boto3.client("s3")
    for bucket in (BUCKET, "acme-collector", "acme-registry"):
        s3.create_bucket(Bucket=bucket)
    loader = deployed(values, tmp_path)
    _upload_code(tmp_path)
    _upload_registry(tmp_path)
    put("acme-collector", "good/2026/11/23/a.txt", f"{click(1)}\n{click(2)}\nnonsense\n".encode())
    call = api_call(value(values, "local.start_job_input", shred=SHRED), token="first")
    client = boto3.client("emr-serverless")
    started = [client.start_job_run(**call)["jobRunId"] for _ in range(2)]
    assert started == ["job0", "job0"]
    assert emr_serverless.state("job0") == "SUCCESS", emr_serverless.logs
    assert loader.deliver() == []
    assert redshift.query(f"SELECT id FROM {SCHEMA}.com_acme_ad_click_1 ORDER BY 1") == [(1,), (2,)]
    patterns = value(values, "local.log_patterns", shred=SHRED)
    raised = {name for name, pattern in patterns.items() for line in _log(emr_serverless) if matches(pattern, line)}
    assert raised == {"many_bad_events", "new_bad_reason"}
    # The next job finds no new file, and the next message no run.
    client.start_job_run(**{**call, "clientToken": "second"})
    assert emr_serverless.state("job1") == "SUCCESS", emr_serverless.logs
    loader.send("{}")
    assert loader.deliver() == []
    assert redshift.query(f"SELECT COUNT(*) FROM {SCHEMA}.com_acme_ad_click_1") == [(2,)]
    assert len(loader.logged("run_loaded")) == 1


def _log(service: EmrServerless) -> list[str]:
    (lines,) = service.logs.values()
    assert "run_shredded" in {field(line, "event") for line in lines}
    return lines


def _upload_code(folder: Path) -> None:
    put(BUCKET, "code/v1/shred.py", (ROOT / "spark_jobs" / "shred.py").read_bytes())
    put(BUCKET, "code/v1/spark.zip", package_spark(folder / "spark.zip").read_bytes())
    with zipfile.ZipFile(folder / "libraries.zip", "w") as archive:  # the libraries are those of this machine
        archive.writestr("README", "")
    put(BUCKET, "code/v1/compiled_libraries.zip", (folder / "libraries.zip").read_bytes())


def _upload_registry(folder: Path) -> None:
    registry = scene_with_clicks(folder).registry
    for path in registry.rglob("*"):
        if path.is_file():
            put("acme-registry", path.relative_to(registry).as_posix(), path.read_bytes())
