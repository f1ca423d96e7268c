"""The code and the settings of batches: uploaded where batches look for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from support.planned import environment
from support.terraform import ROOT, Outcome, Plan

from onefold.ports.batches import ARCHIVE, COMPILED_LIBRARIES, PYMYSQL
from onefold.settings.batches import CHECKED_CONFIG
from onefold.settings.environment import load_settings


def uploaded(plan: Plan) -> dict[str, set[str]]:
    """Return the names of the uploaded objects, by folder."""
    found: dict[str, set[str]] = {}
    for object_ in plan.of("google_storage_bucket_object").values():
        folder, _, name = f"gs://{object_['bucket']}/{object_['name']}".rpartition("/")
        found.setdefault(folder, set()).add(name)
    return found


JOBS = {path.name for path in (ROOT / "spark_jobs").glob("*.py")}


def test_the_jobs_and_the_tables_settings_are_uploaded_where_batches_look_for_them(options_plan: Plan) -> None:
    code = environment(options_plan, "launch_batch")["ONEFOLD_BATCH_CODE"]
    assert uploaded(options_plan)[code] == {*JOBS, ARCHIVE, CHECKED_CONFIG}


def test_without_table_settings_only_the_jobs_are_uploaded_to_another_folder(options_plan: Plan, plain_plan: Plan) -> None:
    with_, without = (environment(one, "launch_batch")["ONEFOLD_BATCH_CODE"] for one in (options_plan, plain_plan))
    assert uploaded(plain_plan)[without] == {*JOBS, ARCHIVE}
    assert Path(with_).name != Path(without).name, "the folder is named by a digest of all that is in it"


def test_the_client_of_mysql_is_uploaded_where_tables_are_pulled(tested: Callable[[str], Outcome]) -> None:
    pulls = tested("pulls.tftest.hcl").plans["two_sources"]
    code = environment(pulls, "launch_batch")["ONEFOLD_BATCH_CODE"]
    assert uploaded(pulls)[code] == {*JOBS, ARCHIVE, COMPILED_LIBRARIES, PYMYSQL, CHECKED_CONFIG}
    objects = pulls.of("google_storage_bucket_object")
    assert objects[f'spark["{PYMYSQL}"]']["source"].endswith(f"/build/{PYMYSQL}")


def test_without_options_a_job_has_the_settings_of_the_functions(plain_plan: Plan) -> None:
    launch, refresh = (load_settings(environment(plain_plan, name)) for name in ("launch_batch", "refresh_view"))
    passed_on = load_settings(launch.batch.passed_on)
    assert (passed_on.project, passed_on.datasets) == (refresh.project, refresh.datasets)
    assert (passed_on.view_dataset, passed_on.view_name) == (refresh.view_dataset, refresh.view_name)


def test_temporary_tables_of_a_batch_have_names_that_it_may_drop() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "onefold" / "spark").rglob("*.py"))
    made = [name for name in re.findall(r'(?:name = |sibling\()f"([^"]+)"', code) if not name.startswith("part-")]  # a file
    assert len(made) == 2
    assert all(name.startswith("{TEMPORARY_PREFIX}") for name in made)
