"""Floods of one-time codes over HTTP, on both databases: the limits hold, and everybody else is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase, StartServer
from tests.server.test_auth_proxy import ORIGIN, new_proxy
from tests.support.callers import SDK_FORM, refusal
from tests.support.codes import Codes, outbox_of
from tests.support.example_codes import an_address, code_params
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Installation, Server, bootstrap_installation, user_with_key

AT_ONCE = 8
LOOPBACK_IS_NO_PROXY = {"proxy_networks": "192.0.2.0/24"}
"""Limits for each address hold for callers on this machine too."""

Ask = Callable[[], httpx.Response]


@pytest.fixture
def development(make_database: MakeDatabase) -> Iterator[Installation]:
    installation = bootstrap_installation(make_database(), mode="dev")
    yield installation
    installation.database.close()


def until_refused(ask: Ask) -> httpx.Response:
    """The first refusal among requests of several threads, each sent as soon as its last one was answered."""

    def one(_: int) -> httpx.Response:
        while (response := ask()).status_code == 200:
            pass
        return response

    with ThreadPoolExecutor(AT_ONCE) as threads:
        responses = list(threads.map(one, range(AT_ONCE)))
    assert {response.status_code for response in responses} == {429}
    return responses[0]


@contextmanager
def from_address(server: Server, address: str) -> Iterator[httpx.Client]:
    """A caller at another loopback address."""
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=server.base_url, transport=transport, timeout=PATIENCE_S) as http:
        yield http


def start_code(http: httpx.Client, config_id: str, contact: str) -> httpx.Response:
    body = {"otpType": "OTP_TYPE_EMAIL", "contact": contact}
    headers = {"X-Auth-Proxy-Config-ID": config_id, "Origin": ORIGIN}
    return http.post("/auth-proxy/v1/otp_init_v2", json=body, headers=headers)


@pytest.mark.one_engine
def test_a_flood_for_many_contacts_spends_its_organizations_share(
    development: Installation, start: StartServer
) -> None:
    server = start(development, rate_limit=1)
    user = user_with_key(key := generate_api_key())
    other = server.caller.with_key(key, user.user_id, development.add_organization(user).id)
    refused = until_refused(lambda: server.caller.submit("init_otp", code_params(an_address()), SDK_FORM))
    assert refused.json()["details"][0]["turnkeyErrorCode"] == "RATE_LIMIT_EXCEEDED"
    assert int(refused.headers["retry-after"]) >= 1
    assert other.submit("init_otp", code_params(an_address()), SDK_FORM).status_code == 200


@pytest.mark.one_engine
def test_a_page_that_floods_the_proxy_spends_its_addresss_share(
    development: Installation, start: StartServer
) -> None:
    server = start(development, auth_proxy_rate_limit=1, **LOOPBACK_IS_NO_PROXY)
    config_id = new_proxy(server.caller)
    with from_address(server, "127.0.0.2") as flooder, from_address(server, "127.0.0.3") as other:
        refused = until_refused(lambda: start_code(flooder, config_id, an_address()))
        status, message = refusal(refused)
        assert (status, "Too many requests" in message) == (429, True)
        assert server.caller.ask("whoami").status_code == 200
        assert start_code(other, config_id, an_address()).status_code == 200


@pytest.mark.one_engine
def test_addresses_of_proxies_stand_for_many_callers(development: Installation, start: StartServer) -> None:
    """Loopback addresses are a proxy's unless the setting says otherwise; 0 means that no address has a limit."""
    for settings in ({"auth_proxy_rate_limit": 1}, {"auth_proxy_rate_limit": 0, **LOOPBACK_IS_NO_PROXY}):
        server = start(development, **settings)
        config_id = new_proxy(server.caller)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            asked = [threads.submit(start_code, server.http, config_id, an_address()) for _ in range(3 * AT_ONCE)]
            assert {each.result().status_code for each in asked} == {200}


def test_a_flood_for_one_contact_through_the_proxy_ends_at_three(codes: Codes) -> None:
    config_id, address, other = new_proxy(codes.caller), an_address(), an_address()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        flood = [threads.submit(start_code, codes.server.http, config_id, address) for _ in range(12)]
        served = start_code(codes.server.http, config_id, other)
        answers = [each.result() for each in flood]
    # Requests that come within the same millisecond are one submission, and have one code.
    assert len({answer.json()["otpId"] for answer in answers if answer.status_code == 200}) == 3
    refused = [refusal(answer)[1] for answer in answers if answer.status_code != 200]
    assert refused
    assert all("Max number of OTPs have been initiated" in message for message in refused)
    assert served.status_code == 200
    codes.outbox.wait_for(address, count=3)
    codes.outbox.wait_for(other)
    assert len(codes.outbox.messages(address)) == 3


def test_limits_of_codes_hold_across_processes(development: Installation, start: StartServer) -> None:
    """Two servers, one contact: three codes in all, three attempts at each in all; also after a restart."""
    servers = [start(development) for _ in range(2)]
    both = [Codes(server, server.caller, outbox_of(server)) for server in servers]
    address = an_address()
    asked = [code_params(address, sendFromEmailSenderName=str(number)) for number in range(12)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        flood = [
            threads.submit(both[number % 2].caller.submit, "init_otp", one, SDK_FORM)
            for number, one in enumerate(asked)
        ]
        answers = [each.result() for each in flood]
    assert sorted(answer.status_code for answer in answers) == [*[200] * 3, *[429] * 9]
    answer = next(answer for answer in answers if answer.status_code == 200)
    begun = answer.json()["activity"]["result"]["initOtpResultV2"]
    told = [refusal(both[number % 2].verify(begun, f"WRONG-{number}"))[1] for number in range(4)]
    assert [text.partition("attempts left: ")[2] for text in told[:3]] == ["2", "1", "0"]
    assert "it is locked" in told[3]
    for server in servers:
        server.kill()
        server.start()
    assert "it is locked" in refusal(both[0].verify(begun, "WRONG-AGAIN"))[1]
    assert both[1].caller.submit("init_otp", code_params(address), SDK_FORM).status_code == 429
