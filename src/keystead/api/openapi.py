"""The OpenAPI 3.1 document of a catalogue: its shape, and the parts that all operations share.

The schemas come from the structs themselves. The examples are made from them too: they have the right form, so
they can be sent; the records that they name do not exist.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from keystead.api.catalogue import Catalogue, Operation
from keystead.api.decoding import PUBLIC_KEY_CREDENTIAL
from keystead.api.identifiers import UUID_PATTERN
from keystead.api.parameters import OneOf

_TEXTS = ("text", "1")
_ID = "01998877-6655-7443-8221-100aabbccdde"


def example_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """A request of this form with the members that it must have."""
    hints, fields = typing.get_type_hints(struct, include_extras=True), msgspec.structs.fields(struct)
    given = fields[:1] if issubclass(struct, OneOf) else [field for field in fields if field.required]
    return {field.encode_name: _example(hints[field.name]) for field in given}


def example_submission(activity_type: str, intent: type[msgspec.Struct]) -> dict[str, Any]:
    """A submission of this type."""
    return {
        "type": activity_type,
        "timestampMs": "1764000000000",
        "organizationId": _ID,
        "parameters": example_of(intent),
    }


def _example(kind: Any, *constraints: Meta) -> Any:
    if typing.get_origin(kind) is Annotated:
        bare, *extras = typing.get_args(kind)
        return _example(bare, *(extra for extra in extras if isinstance(extra, Meta)))
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return _example(next(member for member in typing.get_args(kind) if member is not type(None)), *constraints)
    if typing.get_origin(kind) is tuple:
        at_least = max((constraint.min_length or 0 for constraint in constraints), default=0)
        return [_example(typing.get_args(kind)[0])] * at_least
    if typing.get_origin(kind) is dict:
        return {}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind)).value
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return example_of(kind)
    if kind is str:
        return _text([constraint.pattern for constraint in constraints])
    if kind is bool:
        return False
    if kind is int:
        return 1
    raise TypeError(f"no example of {kind!r}")


def _text(patterns: list[str | None]) -> str:
    if UUID_PATTERN in patterns:
        return _ID
    if PUBLIC_KEY_CREDENTIAL in patterns:
        return "public-key"
    given = [pattern for pattern in patterns if pattern]
    return next((text for text in _TEXTS if all(re.search(pattern, text) for pattern in given)), "text")


DESCRIPTION = """\
Self-hosted server for Turnkey's public HTTP API.

**Requests.** Every operation is a POST of a JSON object. `organizationId` in the body names the organization. A
submission (`/public/v1/submit/…`) also names its activity type and its time, `timestampMs`, which must be near
the server's clock; the same bytes sent again return the activity that exists.

**Stamps.** Every POST carries one stamp over the exact bytes of its body: send the bytes that were signed,
unchanged. By an API key, in `X-Stamp`: base64url without padding of the JSON object `{"publicKey", "scheme",
"signature"}`. For a P-256 key: `publicKey` is the compressed key in hex, `scheme` is
`SIGNATURE_SCHEME_TK_API_P256`, `signature` is the hex of the ASN.1 DER ECDSA signature over SHA-256 of the
body. Further schemes: `SIGNATURE_SCHEME_TK_API_SECP256K1`, `SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191`,
`SIGNATURE_SCHEME_TK_API_ED25519`. By a passkey, in `X-Stamp-WebAuthn`: the JSON object `{"credentialId",
"clientDataJson", "authenticatorData", "signature"}` of an assertion whose challenge is the lower-case hex text
of SHA-256 of the body; all four are base64url.

**Two forms of answers.** A request with `X-Client-Version` gets the form of the published SDKs, which
the schemas here describe: times of an activity are objects `{seconds, nanos}`, absent optional members are left
out. A request without it gets the form of the API documentation: an activity's `createdAt` and `updatedAt` are
RFC 3339 text, the activity is repeated under `result.activity`, and absent texts are "". Generated clients send
the header.

**Refusals** are JSON of the schema `Error`. `code` is the gRPC status code; `turnkeyErrorCode`, also in
`details`, is a more specific code if there is one.
"""


class OpenPage(msgspec.Struct, frozen=True):
    """A page that answers GET without a stamp.

    `answer`: None for an object of any form. `needs_signer`: it may answer 503.
    """

    path: str
    name: str
    summary: str
    answer: type[msgspec.Struct] | None
    needs_signer: bool = False


def openapi_document(catalogue: Catalogue, pages: Sequence[OpenPage] = ()) -> dict[str, Any]:
    """The OpenAPI document: every operation with its request, answer and refusals, and the pages."""
    operations = list(catalogue)
    results = {key: struct for operation in operations for key, struct in sorted(operation.results.items())}
    structs = [
        struct for operation in operations for struct in (*operation.request_structs, operation.answer_struct)
    ] + [*results.values(), *(page.answer for page in pages if page.answer is not None)]
    schemas, components = _schemas(structs)
    references = dict(zip(structs, schemas, strict=True))
    components["Activity"]["properties"]["result"] = {
        "type": "object",
        "description": "One member, once the activity is completed",
        "properties": {key: references[struct] for key, struct in results.items()},
    }
    document: dict[str, Any] = _in_ecma_patterns(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Keystead",
                "version": "v1",
                "description": DESCRIPTION,
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "paths": {
                **{operation.path: {"post": _post(operation, references)} for operation in operations},
                **{page.path: {"get": _get(page, references)} for page in pages},
            },
            "components": {
                "schemas": {**components, "Error": _ERROR},
                "parameters": {"ClientVersion": _CLIENT_VERSION},
                "responses": {str(status): _refusal(text) for status, text in _REFUSALS.items()},
                "securitySchemes": _STAMPS,
            },
            "security": [{"ApiKeyStamp": []}, {"PasskeyStamp": []}],
        }
    )
    return document


def _schemas(structs: list[type[msgspec.Struct]]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """A reference to the schema of each struct, and the schemas by name.

    The answer GetUserResponse is called GetUserAnswer here: generators such as oapi-codegen give the name
    GetUserResponse to what the operation get_user returns in their language.
    """
    references, components = msgspec.json.schema_components(
        structs, ref_template="#/components/schemas/{name}", schema_hook=lambda _: {"type": "object"}
    )
    return _with_answers(references), {
        _answer_name(name): _with_answers(schema) for name, schema in components.items()
    }


def _with_answers(schema: Any) -> Any:
    """The schema with the names of answers in its references."""
    if isinstance(schema, dict):
        return {key: _answer_name(part) if key == "$ref" else _with_answers(part) for key, part in schema.items()}
    return type(schema)(map(_with_answers, schema)) if isinstance(schema, (list, tuple)) else schema


def _answer_name(name: str) -> str:
    return re.sub("Response$", "Answer", name)


def _post(operation: Operation, references: dict[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    if operation.activity_types:
        request: dict[str, Any] = {
            "oneOf": [
                _submission(activity_type, references[intent])
                for activity_type, intent in zip(operation.activity_types, operation.request_structs, strict=True)
            ]
        }
        example = example_submission(operation.activity_types[0], operation.request_structs[0])
    else:
        (request_struct,) = operation.request_structs
        request, example = references[request_struct], example_of(request_struct)
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.module.rpartition(".")[2]],
        "parameters": [{"$ref": "#/components/parameters/ClientVersion"}],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": request, "example": example}},
        },
        "responses": {
            "200": {"description": "Answered", "content": _json(references[operation.answer_struct])},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in _REFUSALS},
        },
    }


def _get(page: OpenPage, references: dict[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    answer = {"type": "object"} if page.answer is None else references[page.answer]
    refusals = {"503": {"$ref": "#/components/responses/503"}} if page.needs_signer else {}
    return {
        "operationId": page.name,
        "summary": page.summary,
        "tags": ["server"],
        "security": [],
        "responses": {"200": {"description": "Answered", "content": _json(answer)}, **refusals},
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


def _in_ecma_patterns(value: Any) -> Any:
    r"""The document with its patterns as ECMA-262 writes them: the end of the text is $, in Python \Z."""
    if isinstance(value, dict):
        return {
            key: part.replace(r"\Z", "$") if key == "pattern" and isinstance(part, str) else _in_ecma_patterns(part)
            for key, part in value.items()
        }
    return [_in_ecma_patterns(item) for item in value] if isinstance(value, list) else value


_REFUSALS = {
    400: "The request is malformed, or what it asks for breaks a rule of the organization",
    401: "There is no valid stamp, or its key is not known in the organization that the request names",
    403: "The stamp is valid, but its user may not do this; `details` say which policies decided",
    404: "Something that the request names does not exist",
    408: "The body did not arrive in time",
    409: "The record exists already; or the organization changed meanwhile, and the same request may be sent again",
    413: "The body is too large",
    429: "A limit is reached; with `Retry-After` if it is a rate",
    500: "A defect of the server; the message names the request",
    501: "A part of the public schema that this version does not answer; the message says what to use instead",
    503: "A part of the server does not answer; nothing was changed, and the same request may be sent again",
}
"""The meaning of each HTTP status of a refusal."""


def _refusal(text: str) -> dict[str, Any]:
    return {"description": text, "content": _json({"$ref": "#/components/schemas/Error"})}


_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "gRPC status code"},
        "message": {"type": "string", "description": "What was wrong, in which field, and what would be right"},
        "details": {"type": "array", "items": {"type": "object"}},
        "turnkeyErrorCode": {"type": "string"},
    },
    "required": ["code", "message", "details"],
    "example": {
        "code": 3,
        "message": "invalid request body: missing field `organizationId`",
        "details": [
            {
                "@type": "type.googleapis.com/errors.v1.TurnkeyErrorDetail",
                "turnkeyErrorCode": "REQUEST_INVALID",
            }
        ],
        "turnkeyErrorCode": "REQUEST_INVALID",
    },
}

_CLIENT_VERSION: dict[str, Any] = {
    "name": "X-Client-Version",
    "in": "header",
    "required": True,
    "description": "Name of the client. With this header, answers have the form that the schemas here describe.",
    "schema": {"type": "string", "default": "generated-client"},
}

_STAMPS: dict[str, Any] = {
    "ApiKeyStamp": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Stamp",
        "description": "Signature over the body by an API key: see the description of this document.",
    },
    "PasskeyStamp": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Stamp-WebAuthn",
        "description": "Assertion over the body by a passkey: see the description of this document.",
    },
}
