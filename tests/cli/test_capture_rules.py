"""`onefold capture` takes its rules of columns from onefold.yaml, and the key from where the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.clean_shop import KEY, CleanShop
from support.cli import Run

from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys
from onefold.capture.options import CaptureOptions
from onefold.cli.capture_rules import missing_rules, with_rules
from onefold.core.errors import InvalidInput, Rejected
from onefold.core.hash_key import HashKey
from onefold.landing.row_writer import LandingRules
from onefold.settings.captures import CaptureSettings, ColumnRules
from onefold.settings.environment import Settings

HASHES, DROPS = ColumnRules("t", hash=("mail",)), ColumnRules("t", drop=("mail",))


@pytest.fixture
def clean(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> CleanShop:
    """The datasets of clean views and keys."""
    return CleanShop(dataset, monkeypatch)


def rules_of(clean: CleanShop, found: CaptureSettings, environ: dict[str, str] | None = None) -> LandingRules:
    settings = Settings(captures={"shop-db": found})
    return with_rules(CaptureOptions("shop-db", clean.dataset.name), settings, clean.warehouse, environ or {}).rules


def test_key_is_that_of_the_clean_views(clean: CleanShop) -> None:
    clean.write_key()
    found = rules_of(clean, CaptureSettings((HASHES,)))
    assert (found.rules, found.key and found.key.hash(b"x")) == ((HASHES,), KEY.hash(b"x"))


def test_key_is_in_no_job(clean: CleanShop) -> None:
    clean.write_key()
    before = {job.job_id for job in clean.client.list_jobs()}
    assert BigQueryHashKeys(clean.client).read(clean.key_table)
    assert {job.job_id for job in clean.client.list_jobs()} == before


def test_key_of_a_reference_replaces_it(clean: CleanShop, tmp_path: Path) -> None:
    other = HashKey(b"another secret key of 32 bytes..")
    (tmp_path / "key").write_text(f"{other.secret.hex()}\n")
    for reference, environ in ((f"file:{tmp_path / 'key'}", {}), ("env:HASH_KEY", {"HASH_KEY": other.secret.hex()})):
        assert rules_of(clean, CaptureSettings((HASHES,), reference), environ).key == other


def test_missing_and_wrong_keys_are_errors_that_say_what_to_do(clean: CleanShop) -> None:
    hashes = CaptureSettings((HASHES,))
    with pytest.raises(InvalidInput, match=f"captures.shop-db hashes columns.*onefold policies key {clean.dataset.name}`"):
        rules_of(clean, hashes)
    with pytest.raises(Rejected, match="the key of hashes is in the variable HASH_KEY, which is not set"):
        rules_of(clean, CaptureSettings((HASHES,), "env:HASH_KEY"))
    with pytest.raises(InvalidInput, match=r"captures\.shop-db\.hash_key: expected 64 to 128 hexadecimal digits") as wrong:
        rules_of(clean, CaptureSettings((HASHES,), "env:HASH_KEY"), {"HASH_KEY": "my secret"})
    assert "my secret" not in str(wrong.value)
    clean.write_key()
    clean.dataset.run(f"INSERT INTO {clean.key_table.quoted} SELECT * FROM {clean.key_table.quoted}")
    with pytest.raises(InvalidInput, match="expected one key, got several rows"):
        rules_of(clean, hashes)


def test_rules_without_hashes_need_no_key_and_other_sources_have_none(clean: CleanShop) -> None:
    assert rules_of(clean, CaptureSettings((DROPS,), "env:NONE")) == LandingRules((DROPS,))
    options = CaptureOptions("crm-db", clean.dataset.name)
    settings = Settings(captures={"shop-db": CaptureSettings((HASHES,))})
    assert with_rules(options, settings, clean.warehouse, {}) is options


def test_the_command_reads_the_file(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text("captures: {shop-db: {tables: {t: {hash: [mail]}}}}\n")
    words = ("--host", "127.0.0.1", "--port", "9", "--user", "u", "--source", "shop-db", "--checkpoint", "state")
    (tmp_path / "password").write_text("p")
    made = run("capture", *words, "--dataset", dataset.name, "--password-file", "password", "--check")
    assert (made.code, f"{dataset.name}__keys.hash_key" in made.err) == (1, True)


SHOP = "captures: {shop-db: {tables: {t: {drop: [mail]}}}, CRM: {tables: {t: {mask: [mail]}}}}\n"


@pytest.mark.parametrize("check", [(), ("--check",)])
@pytest.mark.parametrize(("source", "is_known"), [("shop-db", True), ("shop_db", False), ("crm", False)])
def test_a_source_without_an_entry_is_a_warning_that_names_the_entries(
    run: Run, dataset: EmulatedDataset, tmp_path: Path, source: str, is_known: bool, check: tuple[str, ...]
) -> None:
    (tmp_path / "onefold.yaml").write_text(SHOP)
    (tmp_path / "password").write_text("p")
    words = ("--host", "127.0.0.1", "--port", "9", "--user", "u", "--checkpoint", "state", "--once")
    made = run("capture", *words, "--source", source, "--dataset", dataset.name, "--password-from", "file:password", *check)
    shown = made.err if check else made.out
    assert made.code == 1, "the source does not answer"
    assert (
        "all of its columns land as they are; there are entries of CRM, shop-db" in " ".join(shown.split())
    ) is not is_known
    assert ('"event":"no_rules"' in made.out.replace(" ", "")) is (not check and not is_known)


def test_without_entries_there_is_no_warning() -> None:
    assert missing_rules(Settings(), "shop-db") is None
