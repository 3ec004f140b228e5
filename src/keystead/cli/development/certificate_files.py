"""The files of the certificate of `keystead dev --tls`. Not here: making them (`certificate`)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class CertificateFiles(NamedTuple):
    """PEM files in one folder. `authority`: what clients trust. `chain`: what the server sends."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "authority.pem"

    @property
    def chain(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    def exist(self) -> bool:
        return all(file.exists() for file in (self.authority, self.chain, self.key))
