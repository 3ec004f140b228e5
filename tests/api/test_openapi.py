"""The OpenAPI document: whole, and usable by generated clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from keystead.api.catalogue import Operation
from keystead.operations import CATALOGUE, QueryOperation
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.signer_values import PublicInstallationKey
from keystead.pipeline.submission import read_submission
from keystead.server.pages import InstallationKeys, api_document

ALL = list(CATALOGUE)
SUBMISSIONS = [operation for operation in ALL if isinstance(operation, ActivityOperation)]
PAGES = {"/healthz", "/version", "/readyz", "/bundle-signer", "/installation-keys", "/openapi.json"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """As a reader of its JSON has it."""
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(api_document()))
    return read


def test_the_document_is_whole(document: dict[str, Any]) -> None:
    """Every reference leads somewhere; every operation is there with its request, its answer and its refusals."""
    assert document["openapi"].startswith("3.1.")
    assert set(document["paths"]) == {operation.path for operation in ALL} | PAGES
    for reference in (value for key, value in members(document) if key == "$ref"):
        place: Any = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
    posts = [path["post"] for path in document["paths"].values() if "post" in path]
    assert len({post["operationId"] for post in posts}) == len(posts) == len(ALL)
    for post in posts:
        assert set(post) >= {"summary", "requestBody", "responses", "tags", "parameters"}
        assert set(post["responses"]) >= {"200", "400", "401", "403", "404", "429", "500", "503"}


def members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key, part
            yield from members(part)
    elif isinstance(value, list):
        for item in value:
            yield from members(item)


def test_patterns_are_those_of_ecma_262(document: dict[str, Any]) -> None:
    """Neither Python's anchors nor its groups."""
    patterns = {value for key, value in members(document) if key == "pattern"}
    assert patterns
    for pattern in patterns:
        assert not re.search(r"\\[AZ]|\(\?P", pattern), pattern
        assert pattern.startswith("^")
        assert pattern.endswith("$")


@pytest.mark.parametrize("operation", SUBMISSIONS, ids=lambda operation: operation.name)
def test_each_version_of_a_submission(operation: ActivityOperation, document: dict[str, Any]) -> None:
    content = document["paths"][operation.path]["post"]["requestBody"]["content"]["application/json"]
    variants = content["schema"]["oneOf"]
    assert [variant["properties"]["type"]["const"] for variant in variants] == list(operation.activity_types)


@pytest.mark.parametrize("operation", SUBMISSIONS, ids=lambda operation: operation.name)
def test_the_result_of_each_version(operation: ActivityOperation, document: dict[str, Any]) -> None:
    results = document["components"]["schemas"]["Activity"]["properties"]["result"]["properties"]
    for version in operation.versions:
        _, _, name = results[version.result_key]["$ref"].rpartition("/")
        members = document["components"]["schemas"][name]["properties"]
        assert set(members) == {field.encode_name for field in msgspec.structs.fields(version.result_struct)}


@pytest.mark.parametrize("operation", ALL, ids=lambda operation: operation.name)
def test_an_example_can_be_read_by_its_operation(operation: Operation, document: dict[str, Any]) -> None:
    content = document["paths"][operation.path]["post"]["requestBody"]["content"]["application/json"]
    body = msgspec.json.encode(content["example"])
    if isinstance(operation, QueryOperation):
        assert operation.decoder.decode(body) is not None
    else:
        assert isinstance(operation, ActivityOperation)
        assert read_submission(operation, body).operation is operation


def test_the_document_requires_the_header_that_selects_its_form(document: dict[str, Any]) -> None:
    parameter = document["components"]["parameters"]["ClientVersion"]
    assert (parameter["name"], parameter["required"]) == ("X-Client-Version", True)
    times = document["components"]["schemas"]["Timestamp"]["properties"]
    assert set(times) == {"seconds", "nanos"}


GENERATED = ("Response", "Params", "JSONBody", "JSONRequestBody", "RequestBody")
"""What oapi-codegen appends to the name of an operation for types of its own."""


def test_no_schema_has_the_name_of_a_type_that_generators_make_of_an_operation(document: dict[str, Any]) -> None:
    """Go has one name for one type: with GetUserResponse as a schema, oapi-codegen's client does not compile."""
    operations = [method["operationId"] for path in document["paths"].values() for method in path.values()]
    in_go = ["".join(word[:1].upper() + word[1:] for word in name.split("_")) for name in operations]
    assert {"GetUser", "InstallationKeys"} <= {*in_go}
    taken = {name + suffix for name in in_go for suffix in GENERATED}
    schemas = document["components"]["schemas"]
    assert taken & schemas.keys() == set()
    assert len({name.lower() for name in schemas}) == len(schemas)


def test_the_page_of_installation_keys_is_as_the_document_says(document: dict[str, Any]) -> None:
    """A key has no `compositePublicKey` unless it is one of two keys."""
    schema = document["components"]["schemas"]["PublicInstallationKey"]
    assert schema["required"] == ["name", "use", "publicKey"]
    bare = PublicInstallationKey(name="n", use="u", public_key="00")
    both = PublicInstallationKey(name="n", use="u", public_key="00", composite_public_key="01")
    shown = msgspec.json.decode(msgspec.json.encode(InstallationKeys(keys=(bare, both))))
    assert [set(key) for key in shown["keys"]] == [set(schema["required"]), set(schema["properties"])]
