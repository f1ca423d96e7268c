"""Authorities and the certificates of servers, for a day."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Authority:
    """An authority that signs the certificate of a server.

    file: its own certificate.
    """

    file: Path
    certificate: x509.Certificate
    _key: rsa.RSAPrivateKey

    @classmethod
    def new(cls, folder: Path, name: str) -> Authority:
        key = rsa.generate_private_key(65537, 2048)
        subject = _name(name)
        builder = _builder(subject, subject, key).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        certificate = builder.sign(key, hashes.SHA256())
        file = folder / f"{name}.pem"
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return cls(file, certificate, key)

    def sign(self, folder: Path, address: str) -> tuple[Path, Path]:
        """The files of a server's certificate, which names one IP address, and of its key."""
        key = rsa.generate_private_key(65537, 2048)
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        builder = _builder(_name("server"), self.certificate.subject, key).add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        files = folder / "server.pem", folder / "server.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form, plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
        return files


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    return builder.not_valid_before(now - _DAY).not_valid_after(now + _DAY)
