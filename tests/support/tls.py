"""A self-signed certificate for this machine, valid until 2120, with its key, which is no secret."""

import ssl
from pathlib import Path

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBXTCCAQOgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDX8Hn88/IfR8UIO
qk19TyoVoNaoPspnQLdxvhJDOrYw5Qln3Q9m9mhoXFq5JdLNl98NQSMHg6Bs/rEU
UvqOFcGjRDBCMCwGA1UdEQQlMCOCCWxvY2FsaG9zdIcEfwAAAYcQAAAAAAAAAAAA
AAAAAAAAATASBgNVHRMBAf8ECDAGAQH/AgEAMAoGCCqGSM49BAMCA0gAMEUCIQDN
p/l/cwZa4P4WBVYCmJX+vF8o7GQmfDBdZs8aiIqUdAIgPgRjOgQcZhqRzngluBAh
EXcnJtpe5P6+9BKdr0/t5fw=
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXKDgDMw3ctcItg/8
4yEsZtm/hePhQMc07rYDuU5PMJyhRANCAAQ1/B5/PPyH0fFCDqpNfU8qFaDWqD7K
Z0C3cb4SQzq2MOUJZ90PZvZoaFxauSXSzZffDUEjB4OgbP6xFFL6jhXB
-----END PRIVATE KEY-----
"""


def server_context(folder: Path) -> ssl.SSLContext:
    """Make the TLS context of a server on localhost, 127.0.0.1 or ::1.

    Certificate and key are written to `server.pem` in the folder.
    """
    path = folder / "server.pem"
    path.write_text(CERTIFICATE + KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
