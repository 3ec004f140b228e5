"""Values in the examples of the API reference that cannot be the same in two runs are replaced by others like them.

Whether the pages are current is tested in tests/test_documentation.py.
"""

from __future__ import annotations

import msgspec
import pytest

from keystead.operations import CATALOGUE
from tools.reference.groups import Group, grouped
from tools.reference.stable import Stable


def test_every_operation_is_on_one_page() -> None:
    on_pages = [operation.name for _, operations in grouped(CATALOGUE) for operation in operations]
    assert sorted(on_pages) == sorted(operation.name for operation in CATALOGUE)


def test_a_module_that_no_group_names_has_a_page_of_its_own() -> None:
    operation = msgspec.structs.replace(next(iter(CATALOGUE)), module="keystead.operations.cold_storage")
    assert grouped([operation]) == [(Group("cold-storage", "Cold storage", ("cold_storage",)), [operation])]


@pytest.mark.parametrize(
    ("value", "replaced"),
    [
        ("0199a8f2-0000-7000-8000-000000000001", "019ab700-0000-7000-8000-000000000001"),
        ("wallet 8f3a1b2c", "wallet 1"),
        ("1788220800000", "1764000000000"),
        ("2026-08-31T12:00:00.5Z", "2025-11-24T16:00:00Z"),
        ("ACTIVITY_TYPE_CREATE_WALLET", "ACTIVITY_TYPE_CREATE_WALLET"),
        ("m/44'/60'/0'/0/0", "m/44'/60'/0'/0/0"),
        ("m/44'/60'/123456'/0/0", "m/44'/60'/1'/0/0"),
        ("smartContractInterfaceId", "smartContractInterfaceId"),
        ("abandon " * 40, "abandon " * 10 + "…"),
        ({"nanos": "5000000", "v": "01"}, {"nanos": "0", "v": "00"}),
        ([1, 2, 3], [1, 2]),
    ],
)
def test_replaced_values(value: object, replaced: object) -> None:
    assert Stable({}).value(value) == replaced


def test_equal_values_stay_equal_and_keep_their_form() -> None:
    address, key = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "03" + "ab" * 32
    first, second, third, other = Stable({}).value([address, key]) + Stable({}).value([key, address])
    assert (len(first), first[:2], len(second), second[:2]) == (42, "0x", 66, "02")
    assert (second, first) != (third, other)  # by the order in which they appear
