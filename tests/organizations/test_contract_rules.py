"""The rules of contract interfaces: addresses of each chain, and one interface for each contract."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from keystead.api.enums import SmartContractInterfaceType
from keystead.api.errors import AlreadyExists, InvalidRequest, LimitReached
from keystead.organizations.bounds import INTERFACE_BYTES_MAX
from keystead.organizations.contract_interfaces import check_free, check_interface
from keystead.organizations.kinds.contract_interfaces import ContractInterface
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization, Put, Remove, apply
from tests.organizations.records import NOW, a_user, an_organization

ETHEREUM, SOLANA = SmartContractInterfaceType.ETHEREUM, SmartContractInterfaceType.SOLANA
TEXTS = {ETHEREUM: "[]", SOLANA: '{"instructions":[],"types":[]}'}
TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"

# The first four are the examples of EIP-55 in mixed case.
GOOD_ADDRESSES = [
    (ETHEREUM, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    (ETHEREUM, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"),
    (ETHEREUM, "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"),
    (ETHEREUM, "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"),
    (ETHEREUM, "0x52908400098527886E0F7030069857D2E4169EE7"),
    (ETHEREUM, "0xde709f2102306220921060314715629080e2fb77"),
    (ETHEREUM, "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
    (ETHEREUM, "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"),
    (ETHEREUM, "0x" + "0" * 40),
    (SOLANA, TOKEN_PROGRAM),
    (SOLANA, "1" * 32),
    (SOLANA, "So11111111111111111111111111111111111111112"),
]


@pytest.mark.parametrize(("kind", "address"), GOOD_ADDRESSES)
def test_address(kind: SmartContractInterfaceType, address: str) -> None:
    check_interface(kind, address, TEXTS[kind])


BAD_ADDRESSES = [
    ("empty", ETHEREUM, ""),
    ("0x alone", ETHEREUM, "0x"),
    ("without 0x", ETHEREUM, "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
    ("with 0X", ETHEREUM, "0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
    ("39 digits", ETHEREUM, "0x" + "a" * 39),
    ("41 digits", ETHEREUM, "0x" + "a" * 41),
    ("0x twice", ETHEREUM, "0x0x" + "a" * 38),
    ("one letter in the wrong case", ETHEREUM, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"),
    ("digits of another script", ETHEREUM, "0x" + "١" * 40),
    ("a name", ETHEREUM, "vitalik.eth"),
    ("31 bytes", SOLANA, "1" * 31),
    ("33 bytes", SOLANA, "1" * 33),
    ("a letter that base58 lacks", SOLANA, TOKEN_PROGRAM.replace("T", "l")),
    ("a space behind", SOLANA, TOKEN_PROGRAM + " "),
    ("an Ethereum address", SOLANA, "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
    ("beyond ASCII", SOLANA, "é" * 44),
]


@pytest.mark.parametrize(("name", "kind", "address"), BAD_ADDRESSES, ids=[name for name, *_ in BAD_ADDRESSES])
def test_bad_address(name: str, kind: SmartContractInterfaceType, address: str) -> None:
    with pytest.raises(InvalidRequest, match=r"`parameters\.smartContractAddress`"):
        check_interface(kind, address, TEXTS[kind])


def test_a_wrong_letter_case_is_answered_with_the_right_one() -> None:
    with pytest.raises(InvalidRequest, match="0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"):
        check_interface(ETHEREUM, "0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "[]")


@pytest.mark.parametrize("extra", [0, 1])
def test_size(extra: int) -> None:
    text = "[" + " " * (INTERFACE_BYTES_MAX - 2 + extra) + "]"
    if not extra:
        check_interface(ETHEREUM, GOOD_ADDRESSES[0][1], text)
    else:
        with pytest.raises(
            InvalidRequest, match=f"{INTERFACE_BYTES_MAX + 1} bytes of UTF-8, at most {INTERFACE_BYTES_MAX}"
        ):
            check_interface(ETHEREUM, GOOD_ADDRESSES[0][1], text)


def test_size_is_counted_in_bytes() -> None:
    with pytest.raises(InvalidRequest, match="409601 bytes"):
        check_interface(ETHEREUM, GOOD_ADDRESSES[0][1], '["' + "é" * 204_798 + 'x"]')


def holding(*addresses: tuple[SmartContractInterfaceType, str]) -> Organization:
    interfaces = [
        ContractInterface(
            id=f"interface-{number}",
            address=address,
            type=kind,
            label="mine",
            notes="",
            text_bytes=1_000,
            created_at=NOW,
            updated_at=NOW,
        )
        for number, (kind, address) in enumerate(addresses)
    ]
    organization = an_organization(a_user())
    return apply(
        organization, [Put(interface) for interface in interfaces], replace(organization.version, number=2)
    )


LOWER = GOOD_ADDRESSES[6][1]
TAKEN = [
    ("the same", (ETHEREUM, LOWER), (ETHEREUM, LOWER), False),
    ("the same in another case", (ETHEREUM, LOWER), (ETHEREUM, GOOD_ADDRESSES[0][1]), False),
    ("another", (ETHEREUM, LOWER), (ETHEREUM, GOOD_ADDRESSES[5][1]), True),
    ("the same on Solana", (SOLANA, TOKEN_PROGRAM), (SOLANA, TOKEN_PROGRAM), False),
    ("another case is another program", (SOLANA, TOKEN_PROGRAM), (SOLANA, TOKEN_PROGRAM.swapcase()), True),
    ("the same text on another chain", (SOLANA, LOWER), (ETHEREUM, LOWER), True),
]


@pytest.mark.parametrize(("name", "held", "asked", "is_free"), TAKEN, ids=[name for name, *_ in TAKEN])
def test_one_interface_per_contract(
    name: str,
    held: tuple[SmartContractInterfaceType, str],
    asked: tuple[SmartContractInterfaceType, str],
    is_free: bool,
) -> None:
    if is_free:
        check_free(holding(held), *asked, 1_000, Limits())
    else:
        with pytest.raises(AlreadyExists, match=r"`parameters\.smartContractAddress`.*'mine' \(interface-0\)"):
            check_free(holding(held), *asked, 1_000, Limits())


def test_limits() -> None:
    one = holding((SOLANA, TOKEN_PROGRAM))
    check_free(holding(), ETHEREUM, LOWER, 1_000, Limits(contract_interfaces=1))
    with pytest.raises(LimitReached, match="over its allotted quota: smart contract interfaces: 1 of 1"):
        check_free(one, ETHEREUM, LOWER, 1_000, Limits(contract_interfaces=1))
    check_free(one, ETHEREUM, LOWER, 1_000, Limits(contract_interface_bytes=2_000))
    with pytest.raises(LimitReached, match="smart contract interfaces: 1000 of 2000 are in use, 1001 more"):
        check_free(one, ETHEREUM, LOWER, 1_001, Limits(contract_interface_bytes=2_000))
    removed = apply(one, [Remove(ContractInterface, "interface-0")], replace(one.version, number=3))
    assert removed.contract_interfaces.text_bytes == 0
