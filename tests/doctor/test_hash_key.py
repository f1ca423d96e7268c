"""The right to read the key of hashes: of the account of a deployed capture, or of whoever runs the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor.test_examine import Scene, scene  # noqa: F401 the fixture
from support.bigquery_emulator import EmulatedDataset
from support.clean_shop import KEY, CleanShop
from support.cli import Run

SECRET = "projects/my-project/secrets/hashes"
EMAIL = "capture-shop-db@my-project.iam.gserviceaccount.com"
KEYS = "//bigquery.googleapis.com/projects/my-project/datasets/shop__keys"
RIGHTS = {
    "": ("bigquery.tables.getData", KEYS),
    f", hash_key: {SECRET}/versions/3": (
        "secretmanager.versions.access",
        "//secretmanager.googleapis.com/projects/my-project/secrets/hashes",
    ),
}


def captures(more: str = "", action: str = "hash") -> str:
    return f"captures: {{shop-db: {{tables: {{t: {{{action}: [mail]}}}}{more}}}}}\n"


@pytest.mark.parametrize("more", RIGHTS)
def test_the_account_of_a_deployed_capture_needs_the_right(scene: Scene, more: str) -> None:  # noqa: F811
    Path("onefold.yaml").write_text(captures(more))
    scene.google.accounts.add(EMAIL)
    assert scene.problems() == {}
    assert (EMAIL, *RIGHTS[more]) in scene.google.asked
    scene.google.lacks = {(EMAIL, *RIGHTS[more])}
    ((check, (problem,)),) = scene.problems().items()
    assert check == "key of captures.shop-db"
    assert problem == (
        f"{EMAIL} lacks {RIGHTS[more][0]} on {RIGHTS[more][1][2:]}, with the key of its hashes; run: make deploy"
    )
    scene.google.unknown = {RIGHTS[more][0]}
    scene.google.lacks = set()
    assert "may lack (UNKNOWN_INFO_DENIED)" in scene.problems().get("key of captures.shop-db", ("",))[0]


def test_the_right_on_one_of_the_datasets_is_enough(scene: Scene) -> None:  # noqa: F811
    Path("onefold.yaml").write_text(captures())
    scene.environ["ONEFOLD_DATASETS"] = "shop,crm"
    scene.google.accounts.add(EMAIL)
    scene.google.lacks = {(EMAIL, "bigquery.tables.getData", KEYS)}
    assert "key of captures.shop-db" not in scene.problems()
    scene.google.lacks.add((EMAIL, "bigquery.tables.getData", KEYS.replace("shop", "crm")))
    assert "shop__keys" in scene.problems()["key of captures.shop-db"][0]


def test_rules_without_hashes_need_no_key(scene: Scene) -> None:  # noqa: F811
    Path("onefold.yaml").write_text(captures(action="drop"))
    assert "key of captures.shop-db" not in scene.checks()


def test_without_an_account_the_caller_has_to_read_the_secret(scene: Scene) -> None:  # noqa: F811
    Path("onefold.yaml").write_text(captures(", hash_key: 'env:HASHES'"))
    ((check, (problem,)),) = scene.problems().items()
    assert (check, "the variable HASHES, which is not set" in problem) == ("key of captures.shop-db", True)
    scene.environ["HASHES"] = "no key, but a secret"
    ((check, (problem,)),) = scene.problems().items()
    assert "captures.shop-db.hash_key: expected 64 to 128 hexadecimal digits" in problem
    assert "secret" not in problem.replace("`", "").split("digits")[0]
    scene.environ["HASHES"] = KEY.secret.hex()
    assert scene.problems() == {}


@pytest.fixture
def clean(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> CleanShop:
    return CleanShop(dataset, monkeypatch)


def test_the_table_of_the_key_is_read_where_no_account_is_deployed(run: Run, clean: CleanShop, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text(captures())
    missing = run("doctor", "--dataset", clean.dataset.name)
    assert missing.code == 2
    assert f"{clean.key_table} has no key; run: onefold policies key {clean.dataset.name}\n" in missing.out
    clean.write_key()
    found = run("doctor", "--dataset", clean.dataset.name)
    assert (found.code, "ok      key of captures.shop-db\n" in found.out) == (0, True)
    assert KEY.secret.hex() not in found.out + found.err
