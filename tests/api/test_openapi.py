"""The OpenAPI document: whole, and usable by generated clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from keystead.api.catalogue import Operation
from keystead.api.openapi import openapi_document
from keystead.operations import CATALOGUE, QueryOperation
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.submission import read_submission

ALL = list(CATALOGUE)
SUBMISSIONS = [operation for operation in ALL if isinstance(operation, ActivityOperation)]
PAGES = {"/healthz", "/readyz", "/bundle-signer", "/installation-keys", "/openapi.json"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """As a reader of its JSON has it."""
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi_document(CATALOGUE)))
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
