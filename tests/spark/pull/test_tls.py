"""TLS on real servers: verified by default, and what is not trusted is an error that says so."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest
from support.authorities import Authority
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server
from support.pull_job import CLUSTER, PASSWORD, USER
from support.sweeps import sweep

from onefold.core.errors import Rejected
from onefold.mysql.connection import connect, query
from onefold.pull.read.connection import SourceConnection, connect_source
from onefold.settings.sources import Source, Tls

HOST = "127.0.0.1"
INFILE = "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t"
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


def test_a_worker_without_the_file_of_the_authority_verifies_the_certificate(tls: TlsServer, tmp_path: Path) -> None:
    file = tmp_path / "authority.pem"
    file.write_text(tls.authority.read_text())
    opens = [SourceConnection.of(tls.source(Tls(ca=str(file)), host), PASSWORD) for host in (HOST, "localhost")]
    file.unlink()
    here, elsewhere = pickle.loads(pickle.dumps(opens))  # as Spark sends it
    with here() as connection:
        ((_, cipher),) = query(connection, _CIPHER)
        assert cipher
    with pytest.raises(Rejected, match="certificate verify failed"):
        elsewhere()
    assert PASSWORD not in repr(opens)
