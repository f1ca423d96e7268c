"""The emulator's Storage API behind TLS, as the Spark BigQuery connector wants it, with a certificate of its own.

The emulator ends the Arrow schema with the mark that ends a stream; Google's Java client then sees no rows. BigQuery writes
no such mark, so the front takes it away. Everything else goes through as it is.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID
from google.cloud.bigquery_storage_v1 import types

PASSWORD = "changeit"
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_READ = "/google.cloud.bigquery.storage.v1.BigQueryRead/"
_WITH_SCHEMA = {f"{_READ}CreateReadSession": types.ReadSession, f"{_READ}ReadRows": types.ReadRowsResponse}
_OF_THE_TRANSPORT = ("grpc-", "user-agent", "te", ":")


@dataclass(frozen=True)
class TlsFront:
    """Where it answers, and the file of what a JVM has to trust for it."""

    endpoint: str
    truststore: Path

    @property
    def java_options(self) -> str:
        return f"-Djavax.net.ssl.trustStore={self.truststore} -Djavax.net.ssl.trustStorePassword={PASSWORD}"


@contextlib.contextmanager
def tls_front(storage_port: int, folder: Path) -> Iterator[TlsFront]:
    """A front for the emulator's plain gRPC port."""
    certificate, key = _certificate()
    truststore = folder / "trust.p12"
    trusted = pkcs12.PKCS12Certificate(certificate, b"front")
    truststore.write_bytes(
        pkcs12.serialize_java_truststore([trusted], serialization.BestAvailableEncryption(PASSWORD.encode()))
    )
    with grpc.insecure_channel(f"127.0.0.1:{storage_port}") as channel:
        server = grpc.server(ThreadPoolExecutor(16))
        server.add_generic_rpc_handlers((_Through(channel),))
        pair = (_pem(key), certificate.public_bytes(serialization.Encoding.PEM))
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
        server.start()
        try:
            yield TlsFront(f"127.0.0.1:{port}", truststore)
        finally:
            server.stop(None).wait()


class _Through(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc brings no types
    """Forward every call as a stream of opaque messages in both directions."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        method = str(handler_call_details.method)
        sent = handler_call_details.invocation_metadata or ()
        metadata = [(name, value) for name, value in sent if not name.startswith(_OF_THE_TRANSPORT)]

        def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            try:
                for answer in self._channel.stream_stream(method)(requests, metadata=metadata):
                    yield without_end(method, answer)
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())

        return grpc.stream_stream_rpc_method_handler(behave)


def without_end(method: str, answer: bytes) -> bytes:
    """The answer without the mark behind its schema."""
    kind: Any = _WITH_SCHEMA.get(method)
    if kind is None:
        return answer
    message = kind.pb(kind.deserialize(answer))
    if message.HasField("arrow_schema"):
        schema = message.arrow_schema
        schema.serialized_schema = schema.serialized_schema.removesuffix(_END_OF_STREAM)
    return bytes(message.SerializeToString())


def _certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """For this machine, for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
    )
    return builder.sign(key, hashes.SHA256()), key


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())
