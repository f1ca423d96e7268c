"""TLS on real servers, by PyMySQL and by JDBC: verified by default, and what is not trusted is an error that says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support.authorities import Authority
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server
from support.jdbc_connections import INFILE
from support.jdbc_driver import ROOT, driver_jar, run_python
from support.pull_job import CLUSTER, PASSWORD, USER, submit_arguments
from support.sweeps import sweep

from onefold.core.errors import Rejected
from onefold.mysql.connection import connect, query
from onefold.pull.read.connection import connect_source
from onefold.settings.sources import Source, Tls

HOST = "127.0.0.1"
_CIPHER = "SHOW STATUS LIKE 'Ssl_cipher'"


@dataclass(frozen=True)
class TlsServer:
    """A server whose certificate names 127.0.0.1 alone, the authority that signed it, and one that did not."""

    server: DatabaseServer
    authority: Path
    other: Path
    on_mysql: bool

    def source(self, tls: Tls, host: str = HOST) -> Source:
        return Source(CLUSTER, host, self.server.port, USER, tls=tls)


@pytest.fixture(scope="module", params=sweep([MariaDb, MySql]), ids=["MariaDb", "MySql"])
def tls(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = Authority.new(folder, "authority"), Authority.new(folder, "other")
    certificate, key = authority.sign(folder, HOST)
    words = (f"--ssl-ca={authority.file}", f"--ssl-cert={certificate}", f"--ssl-key={key}", "--local-infile=ON")
    with new_server(request.param, *words) as server:
        with connect(server.address) as connection:
            query(connection, "CREATE DATABASE models")
            query(connection, "CREATE TABLE models.t (a TEXT)")
            for host in ("%", "localhost", "127.0.0.1"):
                query(connection, f"CREATE USER '{USER}'@'{host}' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL")
                query(connection, f"GRANT ALL ON models.* TO '{USER}'@'{host}'")
        yield TlsServer(server, authority.file, other.file, request.param is MySql)


def test_pymysql_verifies_the_certificate_and_its_host(tls: TlsServer) -> None:
    trusted = Tls(ca=str(tls.authority))
    with connect_source(tls.source(trusted), PASSWORD) as connection:
        ((_, cipher),) = query(connection, _CIPHER)
        assert cipher
        connection.select_db("models")
        with pytest.raises(pymysql.err.MySQLError):
            query(connection, INFILE)
    with connect_source(tls.source(Tls("encrypt")), PASSWORD) as connection:
        assert query(connection, _CIPHER)[0][1]
    refused = {
        "signed by another one": tls.source(Tls(ca=str(tls.other))),
        "no authority of this machine": tls.source(Tls()),
        "another host": tls.source(trusted, "localhost"),
    }
    for name, source in refused.items():
        with pytest.raises(Rejected, match=r"certificate verify failed.*: name the authority of its certificate") as caught:
            connect_source(source, PASSWORD)
        assert f"{USER}@{source.host}:{tls.server.port} cannot be read" in str(caught.value), name
        assert PASSWORD not in str(caught.value)
    with pytest.raises(Rejected, match=r"correct sources\.fraud in onefold\.yaml"):
        connect_source(tls.source(Tls("off")), PASSWORD)


def test_a_file_that_is_no_certificate_is_named(tls: TlsServer, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("none")
    for name, problem in (("missing.pem", "cannot be read"), ("empty.pem", "expected certificates in PEM")):
        with pytest.raises(Rejected, match=rf"tls\.ca .*{name}.*{problem}"):
            connect_source(tls.source(Tls(ca=str(tmp_path / name))), PASSWORD)


@pytest.mark.long
def test_jdbc_verifies_the_certificate_and_its_host(tls: TlsServer) -> None:
    trusted = str(tls.authority)
    cases: dict[str, tuple[str, str, str | None]] = {
        "trusted": (HOST, "verify", trusted), "encrypted": (HOST, "encrypt", None),
        "signed by another one": (HOST, "verify", str(tls.other)), "no authority of this machine": (HOST, "verify", None),
        "another host": ("localhost", "verify", trusted), "plain": (HOST, "off", None),
    }  # fmt: skip
    wanted: list[dict[str, Any]] = [
        {"host": host, "port": tls.server.port, "mode": mode, "ca": ca, "database": "models", "mysql": tls.on_mysql}
        for host, mode, ca in cases.values()
    ]
    environ = {"PYSPARK_SUBMIT_ARGS": submit_arguments(driver_jar()), "PULL_PASSWORD": PASSWORD}
    done = run_python([str(ROOT / "tests" / "support" / "jdbc_connections.py"), json.dumps(wanted)], environ)
    assert done.returncode == 0, done.stderr[-3000:]
    found = dict(zip(cases, json.loads(done.stdout.splitlines()[-1]), strict=True))
    for name in ("trusted", "encrypted"):
        assert found[name]["cipher"], found[name]
        assert "Local infile is disabled by connector" in found[name]["infile"], found[name]
    assert "certifi" in found["signed by another one"]["error"].lower()
    assert "certifi" in found["no authority of this machine"]["error"].lower()
    assert "localhost" in found["another host"]["error"]
    assert "denied" in found["plain"]["error"].lower()
    assert PASSWORD not in done.stdout + done.stderr
