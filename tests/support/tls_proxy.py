"""The emulator's Storage API behind TLS, as the Spark BigQuery connector wants it, with a certificate of its own.

The emulator ends the Arrow schema with the mark that ends a stream; Google's Java client then sees no rows. BigQuery writes
no such mark, so the front takes it away. Everything else goes through as it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from google.cloud.bigquery_storage_v1 import types
from support.authorities import Authority

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
    authority = Authority.new(folder, "front")
    certificate, key = (file.read_bytes() for file in authority.sign(folder, "127.0.0.1"))
    truststore = folder / "trust.p12"
    trusted = pkcs12.PKCS12Certificate(authority.certificate, b"front")
    truststore.write_bytes(
        pkcs12.serialize_java_truststore([trusted], serialization.BestAvailableEncryption(PASSWORD.encode()))
    )
    with grpc.insecure_channel(f"127.0.0.1:{storage_port}") as channel:
        server = grpc.server(ThreadPoolExecutor(16))
        server.add_generic_rpc_handlers((_Through(channel),))
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
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
