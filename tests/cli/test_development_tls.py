"""`keystead dev --tls`: https for clients that refuse http, with a certificate of the folder's own."""

from __future__ import annotations

import datetime
import json
import re
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
from cryptography.x509 import load_pem_x509_certificate

from keystead.cli.development.certificate import keep_certificate
from keystead.cli.development.certificate_files import CertificateFiles
from keystead.client.client import Client
from keystead.testing import development_server
from tests.support.commands import run_keystead
from tests.support.dev_servers import dev_banner
from tests.support.hanging import PATIENCE_S

NOW = datetime.datetime(2026, 11, 26, tzinfo=datetime.UTC)
LATER = {
    "the day after": (datetime.timedelta(days=1), True),
    "31 days before the end": (datetime.timedelta(days=793), True),
    "29 days before the end": (datetime.timedelta(days=796), False),
}


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return CertificateFiles(tmp_path / "tls")


@pytest.mark.parametrize("when", LATER)
def test_a_later_start_keeps_the_certificate_until_it_ends_soon(when: str, files: CertificateFiles) -> None:
    after, is_kept = LATER[when]
    keep_certificate(files, [], NOW)
    first = files.chain.read_bytes()
    keep_certificate(files, ["127.0.0.1"], NOW + after)
    assert (files.chain.read_bytes() == first) is is_kept
    read = load_pem_x509_certificate(files.chain.read_bytes())
    assert (read.not_valid_after_utc - read.not_valid_before_utc).days == 825


@pytest.mark.parametrize("missing", ["authority.pem", "certificate.pem", "key.pem"])
def test_a_missing_file_leads_to_a_new_certificate(missing: str, files: CertificateFiles) -> None:
    keep_certificate(files, [], NOW)
    authority = files.authority.read_bytes()
    (files.folder / missing).unlink()
    keep_certificate(files, [], NOW)
    assert files.authority.read_bytes() != authority
    assert files.key.stat().st_mode & 0o777 == 0o600
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.chain, files.key)


def test_an_address_that_the_certificate_lacks_leads_to_a_new_one(files: CertificateFiles) -> None:
    keep_certificate(files, [], NOW)
    first = files.chain.read_bytes()
    keep_certificate(files, ["192.0.2.7"], NOW)
    assert files.chain.read_bytes() != first


def test_a_certificate_of_the_operator_and_one_of_the_folder(tmp_path: Path) -> None:
    environment = {"KEYSTEAD_TLS_CERT": "cert.pem", "KEYSTEAD_TLS_KEY": "key.pem"}
    refused = run_keystead("dev", "--tls", "--data", tmp_path / "data", environment=environment)
    assert (refused.returncode, "--tls and KEYSTEAD_TLS_CERT: give one of them" in refused.stderr) == (1, True)


def test_every_address_that_is_printed_is_https_and_works(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with dev_banner(data, "--tls", "--quiet") as printed:
        file = data / "credentials.json"
        credentials = json.loads(file.read_text())
        base_url, ca_file = credentials["baseUrl"], credentials["caFile"]
        assert base_url.startswith("https://localhost:")
        assert Path(ca_file) == data / "tls" / "authority.pem"
        assert (data / "tls" / "key.pem").stat().st_mode & 0o777 == 0o600
        assert re.findall(r"https?://localhost\S*", printed.replace('"', " "))
        assert "http://localhost" not in printed

        (curl,) = (line for line in printed.splitlines() if line.startswith("curl"))
        requested = run_keystead("request", "whoami", "--curl", "--credentials", file).stdout
        for command in (curl, requested):
            ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
            assert credentials["userId"] in ran.stdout or "wallets" in ran.stdout

        assert run_keystead("request", "whoami", "--credentials", file).returncode == 0
        assert run_keystead("outbox", "--credentials", file).returncode == 0
        settings = json.loads(run_keystead("env", "--format", "json", "--credentials", file).stdout)
        assert settings["KEYSTEAD_CA_FILE"] == settings["NODE_EXTRA_CA_CERTS"] == ca_file
        with Client.from_credentials(file) as client:
            assert client.whoami().user_id == credentials["userId"]

        link = re.search(r"(https://\S+/console/)#login=(\S+)", printed)
        assert link is not None
        trusted = ssl.create_default_context(cafile=ca_file)
        with httpx.Client(verify=trusted, base_url=base_url, timeout=PATIENCE_S) as page:
            assert page.get(link[1]).status_code == 200
            login = {"secret": link[2], "publicKey": "02" + "11" * 32}
            foreign = page.post("/dev/v1/console-login", json=login, headers={"Origin": "https://evil.example"})
            assert foreign.status_code == 403
            own = page.post("/dev/v1/console-login", json=login, headers={"Origin": base_url})
            assert own.json()["path"] == "/public/v1/submit/stamp_login"
            with pytest.raises(httpx.TransportError):
                httpx.get(base_url.replace("https", "http"), timeout=PATIENCE_S)
            with pytest.raises(httpx.ConnectError):
                httpx.get(base_url, timeout=PATIENCE_S)  # nobody trusts it unless told
    with dev_banner(data) as again:
        assert "https://localhost" not in again
        assert "caFile" not in json.loads((data / "credentials.json").read_text())


def test_the_test_kit_in_python() -> None:
    with development_server(tls=True) as server:
        assert server.base_url.startswith("https://localhost:")
        assert server.client.whoami().username == "Developer"
        assert server.new_organization().client.whoami().username == "Root user"
        assert server.controls.clock.now() is not None
        assert server.outbox.messages() == []
