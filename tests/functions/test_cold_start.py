"""The imports of a new instance: bytecode that the image keeps valid, and no search for garbage among modules."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from imports import uncollected

from benchmarks import cold_start

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_an_instance_compiles_no_module_of_its_image(tmp_path: Path) -> None:
    """Python says by -v whether it takes the code of a module from bytecode or from the source."""
    source = cold_start.built(tmp_path)
    command = [sys.executable, "-v", "-c", cold_start.programs(source)["refresh_view, with its clients"]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.findall(rf"^# code object from '?({re.escape(str(source))}.*?)'?$", done.stderr, re.MULTILINE)
    assert len(found) > 100
    assert [path for path in found if not path.endswith(".pyc")] == []


def test_the_build_has_the_environment_with_which_the_benchmark_compiles() -> None:
    (environment,) = cold_start.BUILD.items()
    block = (ROOT / "infra" / "functions.tf").read_text().split("  build_config {")[1].split("\n  }")[0]
    assert 'environment_variables = {{ {} = "{}" }}'.format(*environment) in block


@pytest.mark.usefixtures("_thawed")
def test_garbage_is_collected_after_the_imports_and_not_meanwhile() -> None:
    with uncollected():
        assert not gc.isenabled()
        imported = [object()]
    assert gc.isenabled()
    assert not any(imported is one for one in gc.get_objects())


@pytest.mark.usefixtures("_thawed")
def test_garbage_is_collected_after_a_client_that_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="no credentials"), uncollected():
        raise ValueError("no credentials")
    assert gc.isenabled()
