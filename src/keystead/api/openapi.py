"""The OpenAPI 3.1 document of a catalogue. Here: its shape. The schemas come from the structs themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from keystead.api.catalogue import Catalogue, Operation


def openapi_document(catalogue: Catalogue) -> dict[str, Any]:
    """Every operation of the catalogue: its request, its answer in SDK form, its refusals."""
    operations = list(catalogue)
    structs = [
        struct for operation in operations for struct in (*operation.request_structs, operation.answer_struct)
    ]
    schemas, components = msgspec.json.schema_components(
        structs, ref_template="#/components/schemas/{name}", schema_hook=lambda _: {"type": "object"}
    )
    references = dict(zip(structs, schemas, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keystead", "version": "v1", "license": {"name": "Apache-2.0"}},
        "paths": {operation.path: {"post": _post(operation, references)} for operation in operations},
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {
                "ApiKeyStamp": {"type": "apiKey", "in": "header", "name": "X-Stamp"},
                "PasskeyStamp": {"type": "apiKey", "in": "header", "name": "X-Stamp-WebAuthn"},
            },
        },
        "security": [{"ApiKeyStamp": []}, {"PasskeyStamp": []}],
    }


def _post(operation: Operation, references: dict[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    if operation.activity_types:
        request: dict[str, Any] = {
            "oneOf": [
                _submission(activity_type, references[intent])
                for activity_type, intent in zip(operation.activity_types, operation.request_structs, strict=True)
            ]
        }
    else:
        (request_struct,) = operation.request_structs
        request = references[request_struct]
    answered = {"description": "Answered", "content": _json(references[operation.answer_struct])}
    refused = {"description": "Refused", "content": _json({"$ref": "#/components/schemas/Error"})}
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.module.rpartition(".")[2]],
        "requestBody": {"required": True, "content": _json(request)},
        "responses": {"200": answered, "default": refused},
    }


def _submission(activity_type: str, intent: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "type": {"const": activity_type},
            "timestampMs": {"type": "string", "description": "Milliseconds since the epoch"},
            "organizationId": {"type": "string", "format": "uuid"},
            "parameters": intent,
            "generateAppProofs": {"type": ["boolean", "null"]},
        },
        "required": ["type", "timestampMs", "organizationId", "parameters"],
        "additionalProperties": False,
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "gRPC status code"},
        "message": {"type": "string"},
        "details": {"type": "array", "items": {"type": "object"}},
        "turnkeyErrorCode": {"type": "string"},
    },
    "required": ["code", "message", "details"],
}
