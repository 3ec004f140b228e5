"""The bounds of `stamps` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

API_KEY_STAMP_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "An API key's stamp has a public key, a scheme and a signature, far fewer."),
    ]
] = 4096
ATTESTED_STAMP_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "An ID token may have 16,384 characters, and base64url adds a third."),
    ]
] = 24_576
PASSKEY_STAMP_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "The members of the longest assertion, in base64url."),
    ]
] = 12288
AUTHENTICATOR_DATA_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Extensions of browsers add little to the 37 bytes of an assertion."),
    ]
] = 2048
SIGNATURE_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "An RSA signature of 4,096 bits has half of that."),
    ]
] = 1024
CHALLENGE_CHARACTERS_MAX: Final[Annotated[int, Bound("characters", "A challenge is a digest.")]] = 256
CLIENT_DATA_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "Twice the bytes of client data, in base64url."),
    ]
] = 8192
ATTESTATION_OBJECT_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "Certificates of an attestation make it long."),
    ]
] = 65536
HOST_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "RFC 1035; each parent domain of a host is hashed."),
    ]
] = 253
CERTIFICATES_MAX: Final[Annotated[int, Bound("certificates", "A chain of an attestation has two or three.")]] = 8
CERTIFICATE_RSA_BITS_MAX: Final[
    Annotated[
        int,
        Bound("bits", "Verifying with a larger key takes milliseconds."),
    ]
] = 4096
CERTIFICATE_RSA_EXPONENT_BITS_MAX: Final[
    Annotated[
        int,
        Bound("bits", "Verifying with a larger exponent takes milliseconds."),
    ]
] = 32
CBOR_NESTING_MAX: Final[
    Annotated[
        int,
        Bound("levels", "CTAP2 allows four levels; extensions of browsers may add some."),
    ]
] = 16
CLIENT_DATA_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Client data has a challenge, an origin and a type."),
    ]
] = 4096
CREDENTIAL_ID_BYTES_MAX: Final[Annotated[int, Bound("bytes", "WebAuthn Level 3, section 4.")]] = 1_023
COSE_KEY_BYTES_MAX: Final[Annotated[int, Bound("bytes", "An RSA key of 4,096 bits has half of that.")]] = 1024
PASSKEY_RSA_BITS_MIN: Final[Annotated[int, Bound("bits", "Shorter keys can be factored.")]] = 2048
PASSKEY_RSA_BITS_MAX: Final[Annotated[int, Bound("bits", "Verifying with a larger key takes milliseconds.")]] = 4096
