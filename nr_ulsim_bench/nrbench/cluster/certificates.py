# SPDX-License-Identifier: BSD-3-Clause
"""Certificates of one command: made when it starts, kept in memory, gone with it.

Scheduler, workers and client share one key and trust nothing else, and each asks the other for its
certificate. A stranger who finds the port is refused in the handshake."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed.security import Security

DAYS = 30  # more than a sweep; a host's clock may be a day off
_EXTRA = datetime.timedelta(days=1)


class Certificates(NamedTuple):
    """In PEM."""

    certificate: str
    key: str


def make() -> Certificates:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nrbench")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EXTRA)
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificates(certificate.public_bytes(serialization.Encoding.PEM).decode(), secret.decode())


def security(own: Certificates) -> Security:
    """For all roles."""
    roles = ("client", "scheduler", "worker")
    fields = {f"tls_{role}_cert": own.certificate for role in roles}
    fields |= {f"tls_{role}_key": own.key for role in roles}
    return Security(require_encryption=True, tls_ca_file=own.certificate, **fields)
