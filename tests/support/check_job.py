"""`spark_jobs/check.py` as a process, between a real server and the embedded BigQuery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from support.check_scene import CLUSTER, CheckScene
from support.pull_job import PASSWORD, USER, Done, create_user, submit_arguments
from support.python_process import ROOT, python_environ

from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

_SECONDS = 1_200


@dataclass
class CheckJob:
    """The job for the database of a scene.

    tables: `sources.fraud.tables` of onefold.yaml, as JSON.
    """

    scene: CheckScene
    tables: dict[str, Any]

    def run(self, *words: str, option: str = "--database", **environ: str) -> Done:
        """Let the job come to its end; `option` names the database."""
        create_user(self.scene.source)
        command = [sys.executable, str(ROOT / "spark_jobs" / "check.py"), "--source", CLUSTER]
        command += [option, self.scene.source.name, "--padding-minutes", "0", *words]
        done = subprocess.run(
            command, cwd=self.scene.folder, env=python_environ({**self._environ(), **environ}), text=True,
            capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        report = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {"tables": []}
        tables = report.get("datasets", [report])[0]["tables"]
        return Done(done.returncode, {table["table"]: table for table in tables}, done.stdout, done.stderr)

    def _environ(self) -> dict[str, str]:
        config = self.scene.folder / "onefold.yaml"
        config.write_text(json.dumps({"sources": {CLUSTER: self._source()}, "policies": {"*": {"*": "clear"}}}))
        return {
            "BIGQUERY_EMULATOR_HOST": os.environ["BIGQUERY_EMULATOR_HOST"],
            "NO_PROXY": "127.0.0.1,localhost",
            "ONEFOLD_PROJECT": DEFAULT_PROJECT,
            "ONEFOLD_CONFIG": str(config),
            "ONEFOLD_PULLED_FILES": self.scene.folder.as_uri(),
            "PULL_PASSWORD": PASSWORD,
            "PYSPARK_SUBMIT_ARGS": submit_arguments(),
        }

    def _source(self) -> dict[str, Any]:
        source = self.scene.source
        return {
            "host": "127.0.0.1", "port": source.server.address.port, "user": USER, "password": "env:PULL_PASSWORD",
            "tls": {"mode": "off"}, "databases": [source.name], "tables": self.tables,
        }  # fmt: skip
