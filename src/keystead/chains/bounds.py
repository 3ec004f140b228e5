"""The bounds of `chains` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

PATH_DEPTH_MAX: Final[Annotated[int, Bound("segments", "BIP-32 serializes the depth of a key in one byte.")]] = 255
PATHS_SEGMENTS_MAX: Final[
    Annotated[
        int,
        Bound("segments", "Of all paths of one request: the signer derives one key for each segment."),
    ]
] = 10_000
IDL_NESTING_MAX: Final[
    Annotated[
        int,
        Bound("levels", "It bounds the stack of every walk over the expression of a type."),
    ]
] = 32
SOLANA_V1_SIGNERS_MAX: Final[Annotated[int, Bound("signers", "Of a transaction of version 1 (SIMD-0385).")]] = 12
SOLANA_V1_KEYS_MAX: Final[Annotated[int, Bound("keys", "Of a transaction of version 1 (SIMD-0385).")]] = 64
SOLANA_V1_INSTRUCTIONS_MAX: Final[
    Annotated[
        int,
        Bound("instructions", "Of a transaction of version 1 (SIMD-0385)."),
    ]
] = 64
IDL_DISCRIMINATOR_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Anchor uses 8 bytes, other frameworks 1 or 4."),
    ]
] = 64
IDL_INSTRUCTIONS_MAX: Final[Annotated[int, Bound("instructions", "Programs have at most some hundreds.")]] = 1_000
IDL_ACCOUNTS_MAX: Final[
    Annotated[
        int,
        Bound("accounts", "An instruction names its accounts with one byte each."),
    ]
] = 255
SOLANA_PACKET_BYTES_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "A legacy transaction or one of version 0 is a packet of the network: IPv6's minimum of 1,280 bytes "
            "without the headers.",
        ),
    ]
] = 1232
SOLANA_V1_BYTES_MAX: Final[Annotated[int, Bound("bytes", "Of a transaction of version 1 (SIMD-0385).")]] = 4096
SOLANA_VALUES_MAX: Final[
    Annotated[
        int,
        Bound(
            "values",
            "Values read from one transaction. Its size does not bound values without bytes, such as empty "
            "structs.",
        ),
    ]
] = 8_192
TRON_RAW_DATA_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "A node accepts 500 KiB of a transaction with its signature, which adds 71 bytes."),
    ]
] = 500 * 1024 - 71
LOGIN_MESSAGE_BYTES_MAX: Final[Annotated[int, Bound("bytes", "A wallet's login message has a few lines.")]] = 8_192
BUNDLE_MESSAGE_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "A mnemonic with the longest accepted passphrase needs about a third."),
    ]
] = 8_192
INTERFACE_NAME_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "A name is shown each time that a call has a value of it."),
    ]
] = 256
RLP_DEPTH_MAX: Final[Annotated[int, Bound("levels", "An access list inside a transaction makes four levels.")]] = 6
TYPED_DATA_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Reading and hashing it takes time for each byte."),
    ]
] = 131_072
TYPED_DATA_TYPES_MAX: Final[Annotated[int, Bound("types", "Wallets and contracts use a few.")]] = 100
TYPED_DATA_DELIMITERS_MAX: Final[
    Annotated[
        int,
        Bound(
            "commas and opening brackets",
            "Their number bounds the number of values, of any type: an empty structure takes three characters "
            "of text and one hash.",
        ),
    ]
] = 32_768
TYPED_DATA_TYPE_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound(
            "characters",
            "Of all types as they are hashed: the text of a struct repeats the structs that it refers to.",
        ),
    ]
] = 262_144
ETHEREUM_TRANSACTION_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Nodes accept at most 128 KiB for a transaction without its blobs."),
    ]
] = 131_072
ABI_ENTRIES_MAX: Final[
    Annotated[
        int,
        Bound("entries", "Functions, events and so on. Compiled contracts have at most some hundreds."),
    ]
] = 5_000
ABI_STATIC_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Of a value of a fixed size: calldata is never as long, so a larger type is of no use."),
    ]
] = 1_048_576
ABI_NESTING_MAX: Final[
    Annotated[
        int,
        Bound("levels", "It bounds the stack of every walk over tuples and arrays."),
    ]
] = 32
PAYLOAD_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "256 KiB in hex. Messages are far shorter, but transactions may be signed as bytes."),
    ]
] = 524_288
AUTHORIZATION_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "An authorization of EIP-7702 has three short members."),
    ]
] = 1_000
PSBT_BYTES_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "Previous transactions make PSBTs large. In hex, this many bytes fit a request of one MiB.",
        ),
    ]
] = 500_000
LEGACY_BYTES_HASHED_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "Before SegWit, the digest of each input is over the whole transaction. The 675 inputs that nodes "
            "relay need 19 MB.",
        ),
    ]
] = 32_000_000
REDEEM_SCRIPT_BYTES_MAX: Final[Annotated[int, Bound("bytes", "Nodes accept no longer one.")]] = 520
WITNESS_SCRIPT_BYTES_MAX: Final[Annotated[int, Bound("bytes", "Nodes accept no longer one.")]] = 10_000
PSBT_TRANSACTION_BYTES_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "Of the unsigned transaction: nodes relay at most 400,000 units of weight, four for each byte.",
        ),
    ]
] = 100_000

DOMAIN_CHARACTERS_MAX: Final[Annotated[int, Bound("characters", "Names of hosts are shorter (RFC 1035).")]] = 255
ADDRESS_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "Public keys in hex are the longest addresses."),
    ]
] = 130
BORSH_NESTING_MAX: Final[Annotated[int, Bound("levels", "It bounds the stack of every walk over a value.")]] = 32
TYPED_DATA_NESTING_MAX: Final[
    Annotated[
        int,
        Bound("levels", "It bounds the stack of every walk over a value."),
    ]
] = 32
SOLANA_ACCOUNTS_MAX: Final[
    Annotated[
        int,
        Bound("accounts", "A transaction names each account with one byte."),
    ]
] = 256
NONCE_MAX: Final[Annotated[int, Bound("transactions", "EIP-2681.")]] = 2**64 - 2
SATOSHIS_MAX: Final[Annotated[int, Bound("satoshis", "No more will exist.")]] = 21_000_000 * 100_000_000
SEGWIT_LETTERS_MAX: Final[Annotated[int, Bound("letters", "BIP-173.")]] = 90
