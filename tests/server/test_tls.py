"""A server that speaks TLS itself: versions, the files it takes, new files without a restart."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from cryptography.x509 import load_der_x509_certificate

from keystead.server.http.tls import certificate_of, warn_of_plain_http
from keystead.server.settings.settings import Settings, SettingsError
from tests.conftest import MakeDatabase
from tests.support.certificates import write_certificate
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Installation, Server, bootstrap_installation

Start = Callable[..., Server]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate chain and its key."""
    chain, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(chain, key)
    return chain, key


def serial(server: Server) -> int:
    """The serial number of the certificate that the server shows to a new connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port)) as plain, context.wrap_socket(plain) as secured:
        shown = secured.getpeercert(binary_form=True)
    assert shown is not None
    return load_der_x509_certificate(shown).serial_number


def test_requests_over_tls(make_sqlite: MakeDatabase, start: Start, files: tuple[Path, Path]) -> None:
    """Large ones too, and an answer to a request that is refused before it is complete."""
    installation: Installation = bootstrap_installation(make_sqlite())
    server = start(installation, tls_cert=files[0], tls_key=files[1])
    caller = server.caller
    for number in range(3):
        caller.submitted("create_wallet", {"walletName": f"wallet {number}", "accounts": []})
    assert len(caller.asked("list_wallets")["wallets"]) == 3
    assert server.http.get("/openapi.json").status_code == 200
    large = server.http.post("/public/v1/query/list_wallets", content=b" " * 2_000_000)
    assert large.status_code == 413
    plain = httpx.Client(trust_env=False, timeout=PATIENCE_S)
    with pytest.raises(httpx.TransportError):
        plain.get(f"http://127.0.0.1:{server.port}/healthz")
    plain.close()
    assert server.stop() == 0
    installation.database.close()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
@pytest.mark.parametrize(
    ("version", "accepted"),
    [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)],
)
def test_versions(version: ssl.TLSVersion, accepted: bool, files: tuple[Path, Path]) -> None:
    """Without sockets: the server's context against a client that speaks one version."""
    found = certificate_of(Settings(database_url="", tls_cert=str(files[0]), tls_key=str(files[1])))
    assert found is not None
    client = ssl.create_default_context(cafile=files[0])
    client.set_ciphers("DEFAULT:@SECLEVEL=0")
    client.minimum_version = client.maximum_version = version
    pipes = [ssl.MemoryBIO() for _ in range(4)]
    ends = [
        client.wrap_bio(pipes[0], pipes[1], server_hostname="localhost"),
        found.context.wrap_bio(pipes[2], pipes[3], server_side=True),
    ]
    refused = False
    for _ in range(8):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                refused = True
        pipes[2].write(pipes[1].read())
        pipes[0].write(pipes[3].read())
    assert refused is not accepted
    assert (ends[0].version() is not None) is accepted


def replaced(files: tuple[Path, Path], folder: Path) -> int:
    """New files in the place of the old ones, the key first."""
    chain, key = folder / "new.pem", folder / "new-key.pem"
    number = write_certificate(chain, key)
    key.replace(files[1])
    chain.replace(files[0])
    return number


def until_shown(server: Server, number: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while serial(server) != number:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_new_files_without_a_restart(
    installation: Installation, start: Start, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """On SIGHUP at once, also in worker processes. Files that do not belong together change nothing."""
    workers = 1 if installation.database.url.startswith("sqlite") else 2
    server = start(installation, tls_cert=files[0], tls_key=files[1], workers=workers)
    with httpx.Client(base_url=server.base_url, verify=False, trust_env=False, timeout=PATIENCE_S) as kept:
        assert kept.get("/healthz").status_code == 200
        before = serial(server)
        good_key = files[1].read_bytes()
        write_certificate(tmp_path / "other.pem", tmp_path / "other-key.pem")
        files[1].write_bytes((tmp_path / "other-key.pem").read_bytes())
        os.kill(server.pid, signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE_S
        while "stays as it was" not in server.log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert serial(server) == before
        files[1].write_bytes(good_key)
        number = replaced(files, tmp_path)
        os.kill(server.pid, signal.SIGHUP)
        until_shown(server, number)
        assert kept.get("/healthz").status_code == 200, "a connection that is open stays so"


def test_changed_files_are_noticed(files: tuple[Path, Path], tmp_path: Path) -> None:
    found = certificate_of(Settings(database_url="", tls_cert=str(files[0]), tls_key=str(files[1])))
    assert found is not None
    assert not found.load_again_if_changed()
    write_certificate(files[0], files[1], days=5)
    before = found.ends_ms
    assert found.load_again_if_changed()
    assert found.ends_ms < before
    assert not found.load_again_if_changed()


def spoiled(what: str, files: tuple[Path, Path], folder: Path) -> None:
    match what:
        case "open to others":
            files[1].chmod(0o644)
        case "missing key":
            files[1].unlink()
        case "missing chain":
            files[0].unlink()
        case "another key":
            write_certificate(folder / "other.pem", files[1])
        case "no PEM":
            files[0].write_text("certificate")
        case "key in the chain's place":
            files[0].write_bytes(files[1].read_bytes())
        case _:
            raise AssertionError(what)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "open to others",
            "key.pem has mode 0644, which gives access to other users .*; run: chmod",
        ),
        ("missing key", "key.pem cannot be read: No such file"),
        ("missing chain", "cannot be read: No such file"),
        ("another key", "are not a certificate chain and its private key"),
        ("no PEM", "are not a certificate chain and its private key"),
        ("key in the chain's place", "are not a certificate chain and its private key"),
    ],
)
def test_files_that_are_refused(what: str, message: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    spoiled(what, files, tmp_path)
    with pytest.raises(SettingsError, match=message):
        certificate_of(Settings(database_url="", tls_cert=str(files[0]), tls_key=str(files[1])))


@pytest.mark.parametrize(("chain", "key"), [("cert.pem", ""), ("", "key.pem")])
def test_one_file_alone_is_refused(chain: str, key: str) -> None:
    with pytest.raises(SettingsError, match="set KEYSTEAD_TLS_CERT and KEYSTEAD_TLS_KEY, or neither"):
        certificate_of(Settings(database_url="", tls_cert=chain, tls_key=key))


@pytest.mark.parametrize(
    ("settings", "warns"),
    [
        ({}, False),
        ({"host": "::1"}, False),
        ({"host": "localhost"}, False),
        ({"host": "0.0.0.0"}, True),
        ({"host": "keys.example"}, True),
        ({"host": "10.0.0.1", "tls_cert": "c", "tls_key": "k"}, False),
        ({"host": "10.0.0.1", "trusted_proxies": "10.0.0.2/32"}, False),
    ],
)
def test_a_server_that_others_reach_without_tls(
    settings: dict[str, str], warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", logger="keystead"):
        warn_of_plain_http(Settings(database_url="", **settings))  # type: ignore[arg-type]
    assert ("without TLS" in caplog.text) == warns
