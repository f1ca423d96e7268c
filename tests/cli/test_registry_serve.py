"""The keys of the API of a registry, and the server of `onefold schema serve`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
from support.cli import Run, check_json
from support.registries import document, folder_store, schema

from onefold.events.registry.api_keys import find_key, parse_keys
from onefold_lab.processes import free_port


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A registry whose order of addition is not that of the numbers."""
    folder = tmp_path / "registry"
    for number in ("1-0-0", "1-1-0", "1-0-1"):
        folder_store(folder).add(schema(number))
    return folder


def test_a_key_is_printed_once_and_only_its_hash_is_stored(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = run("schema", "key", "create", "--name", "loader", "--vendor", "com.acme", "--vendor", "org.open", "--file", file)
    (key,) = made.out.split()
    assert key not in file.read_text()
    assert key not in made.err
    found = find_key(parse_keys(file.read_bytes(), "file"), key)
    assert found
    assert (found.name, found.vendors, str(found.access)) == ("loader", ("com.acme", "org.open"), "read")
    assert found.reads("com.acme.shop")
    assert not found.writes("com.acme")
    twice = run("schema", "key", "create", "--name", "loader", "--vendor", "*", "--file", file)
    assert (twice.code, "the name 'loader' is taken: choose another --name" in twice.err) == (1, True)
    assert "onefold schema key create" not in twice.err
    assert len(json.loads(file.read_text())["keys"]) == 1
    other = run("schema", "key", "create", "--name", "ci", "--vendor", "*", "--access", "write", "--json").result
    (entry,) = parse_keys(json.dumps({"keys": [other["entry"]]}), "printed")
    assert entry == find_key([entry], other["key"])
    assert entry.writes("any.vendor")
    assert run("schema", "key", "create", "--name", "x", "--vendor", "com acme").code == 1


def test_what_cannot_be_served_is_an_error_at_once(run: Run, registry: Path, tmp_path: Path) -> None:
    no_keys = run("schema", "serve", "--registry", registry, "--keys", tmp_path / "nowhere.json")
    assert (no_keys.code, "nowhere.json' does not exist" in no_keys.err) == (1, True)
    (registry / "schemas" / "index.json").unlink()
    no_index = run("schema", "serve", "--registry", registry)
    assert (no_index.code, "onefold schema export" in no_index.err) == (1, True)
    elsewhere = run("schema", "serve", "--registry", "s3://bucket/registry")
    assert (elsewhere.code, "s3://bucket/registry" in elsewhere.err) == (1, True)


def test_a_registry_is_served_on_this_machine(registry: Path, tmp_path: Path) -> None:
    port = free_port()
    command = ["schema", "serve", "--registry", str(registry), "--port", str(port), "--json"]
    code = "from onefold.cli import main; main()"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ONEFOLD_")}
    process = subprocess.Popen([sys.executable, "-c", code, *command], env=environ, cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        url = f"http://127.0.0.1:{port}/api/schemas/com.acme/ad_click/jsonschema"
        with requests.Session() as session:
            session.trust_env = False
            for _ in range(3_000):
                try:
                    listed = session.get(url, timeout=300)
                    break
                except requests.ConnectionError:
                    assert process.poll() is None
                    time.sleep(0.1)
            assert [uri.rpartition("/")[2] for uri in listed.json()] == ["1-0-0", "1-1-0", "1-0-1"]
            assert (
                session.post(f"http://127.0.0.1:{port}/api/schemas", json=document("1-2-0"), timeout=300).status_code == 401
            )
    finally:
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=300)
        assert process.returncode != 0
    check_json(printed.decode())
    assert json.loads(printed)["results"] == [{"registry": str(registry), "url": f"http://127.0.0.1:{port}/api"}]
