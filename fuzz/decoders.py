"""Mutated transactions, typed data, interfaces, expressions and stamps, in this process.

What must hold: a decoder refuses with a typed error or reads; what it reads, an independent reader reads alike. The
slowest input of each decoder is reported. Here: the decoders and this loop. Not here: mutating (`mutating`);
well-formed random inputs, which are the property tests' (`properties`).
"""

from __future__ import annotations

import gc
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import rlp
from rlp.exceptions import DecodingError
from solders.transaction import VersionedTransaction

from fuzz.findings import Findings
from fuzz.mutating import mutated_bytes, mutated_json
from keystead.api.enums import TransactionType
from keystead.api.errors import ServiceError
from keystead.chains.ethereum.interfaces import ContractAbi
from keystead.chains.ethereum.typed_data import parse_typed_data
from keystead.chains.login_messages import InvalidLogin, verified_login
from keystead.chains.parsers import parse_transaction
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.transaction import Party
from keystead.policies.language.grammar import parse
from keystead.policies.language.syntax import ExpressionRefused
from keystead.stamps.api_key import read_stamp
from keystead.stamps.attestation import verify_attestation
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.signing import generate_api_key
from keystead.stamps.webauthn import read_assertion
from tests.chains.ethereum.test_typed_data import CAPTURED, PERMIT, independent_digest
from tests.chains.signing_vectors import PROGRAM_INTERFACES, TRANSACTIONS, account
from tests.chains.tron.independent import read as read_tron
from tests.support.login_wallets import login_message, new_wallet
from tests.support.organization_fixtures import ERC20_TRANSFER, IDL
from tests.support.passkeys import SoftPasskey

_SIGNER = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"


@dataclass
class Decoder:
    """`read` raises ServiceError where it refuses, AssertionError where an independent reader differs."""

    name: str
    seeds: list[bytes]
    read: Callable[[bytes], None]
    is_json: bool = False
    slowest_s: float = 0.0


def _transactions(kind: TransactionType, reads_alike: Callable[[bytes], bool]) -> list[Decoder]:
    def reader(party: Party) -> Callable[[bytes], None]:
        def read(data: bytes) -> None:
            parsed = parse_transaction(kind, data, party)
            parsed.describe({})
            assert reads_alike(data), "an independent reader refuses what was read"

        return read

    decoders: dict[str, Decoder] = {}
    for vector in TRANSACTIONS[kind.value]:
        address = vector.get("signWith", _SIGNER)
        party = account(address)[1]
        decoder = decoders.setdefault(address, Decoder(f"{kind.value} {address[:10]}", [], reader(party)))
        text = vector["unsignedTransaction"]
        decoder.seeds.append(bytes.fromhex(text.removeprefix("0x")))
    return list(decoders.values())


def _rlp_reads(data: bytes) -> bool:
    payload = data if data[0] >= 0xC0 else data[1:]
    try:
        return bool(rlp.encode(rlp.decode(payload)) == payload)
    except DecodingError:
        return False


def _solders_reads(data: bytes) -> bool:
    try:
        VersionedTransaction.from_bytes(data)
    except ValueError:
        return False
    return True


_DOMAIN = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}


def _typed_data(data: bytes) -> None:
    text = data.decode()
    ours = parse_typed_data(text, "payload").digest
    document = json.loads(text)
    declared = document["types"].get("EIP712Domain", ())
    if any(_DOMAIN.get(member["name"]) != member["type"] for member in declared):
        return  # the independent library takes these members to have the types of EIP-712, whatever is declared
    try:
        theirs = independent_digest(document)
    except Exception:  # noqa: BLE001  # it has many ways to refuse what we read
        return
    assert ours == theirs, "the independent library computes another digest"


def _text(check: Callable[[str], object]) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        check(data.decode())

    return read


def _passkey() -> Decoder:
    """Attestation objects in an otherwise valid registration."""
    params = SoftPasskey().params()
    attestation = params["attestation"]

    def read(data: bytes) -> None:
        verify_attestation(
            params["challenge"],
            attestation["credentialId"],
            attestation["clientDataJson"],
            encode_base64url(data),
        )

    return Decoder("passkey", [decode_base64url(attestation["attestationObject"])], read)


def _login_messages() -> Decoder:
    """Messages that the wallet signed, whatever they say."""
    wallet, session_key, now_ms = new_wallet("Solana"), generate_api_key().public_key, 1_790_000_000_000

    def read(data: bytes) -> None:
        text = data.decode()
        try:
            login = verified_login(text, wallet.sign(text), None, now_ms)
        except InvalidLogin:
            return
        lines = text.split("\n")
        assert lines[0].startswith(f"{login.wallet.domain} wants you to sign in"), "the domain is not what it says"
        assert (lines[1], login.wallet.address) == (wallet.address, wallet.address), "another wallet than signed it"
        assert lines[-1] == f"- urn:turnkey:session-key:{login.session_public_key}", "another key than it names"

    return Decoder("login message", [login_message(wallet, session_key, now_ms).encode()], read)


def decoders() -> list[Decoder]:
    typed = [json.dumps(PERMIT).encode(), *(one["parameters"]["payload"].encode() for one in CAPTURED.values())]
    idls = [IDL.encode(), *(json.dumps(idl).encode() for idl in PROGRAM_INTERFACES["idls"].values())]
    expressions = [
        b"activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2' && eth.tx.value < 1000",
        b"approvers.filter(u, u.tags.contains('ops')).count() >= 2 || approvers.any(u, u.id in ['a', 'b'])",
        b"!(eth.tx.chain_id == 1) && solana.tx.spl_transfers.all(t, t.amount <= 5 && t.to != '')",
    ]
    stamp = b"eyJwdWJsaWNLZXkiOiIwMiIsInNjaGVtZSI6IlNJR05BVFVSRV9TQ0hFTUVfVEtfQVBJX1AyNTYiLCJzaWduYXR1cmUiOiIzMCJ9"
    assertion = json.dumps(
        dict.fromkeys(("credentialId", "clientDataJson", "authenticatorData", "signature"), "AAAA")
    ).encode()
    return [
        *_transactions(TransactionType.ETHEREUM, _rlp_reads),
        *_transactions(TransactionType.TEMPO, _rlp_reads),
        *_transactions(TransactionType.SOLANA, _solders_reads),
        *_transactions(TransactionType.BITCOIN, lambda _: True),
        *_transactions(TransactionType.TRON, lambda data: read_tron("raw", data) is not None),
        Decoder("typed data", typed, _typed_data, is_json=True),
        Decoder("contract interface", [ERC20_TRANSFER.encode()], _text(ContractAbi.read), is_json=True),
        Decoder("program interface", idls, _text(ProgramIdl.read), is_json=True),
        Decoder("policy expression", expressions, _text(parse)),
        Decoder("stamp", [stamp], lambda data: _text(read_stamp)(data)),
        _passkey(),
        _login_messages(),
        Decoder("assertion", [assertion], lambda data: _text(read_assertion)(data), is_json=True),
    ]


def fuzz_decoders(findings: Findings, chance: random.Random, *, until: float, limit: int) -> list[Decoder]:
    """Run until `until` (`time.monotonic`), with at most `limit` inputs. Returns the decoders and their slowest
    inputs."""
    every = decoders()
    while findings.tried < limit and time.monotonic() < until:
        decoder = chance.choice(every)
        seed = chance.choice(decoder.seeds)
        if decoder.is_json and chance.random() < 0.8:
            data = json.dumps(mutated_json(json.loads(seed), chance)).encode()
        else:
            data = mutated_bytes(seed, chance)
        findings.tried += 1
        # A garbage collection takes 50 ms, by the number of objects of this process, whatever the input is.
        gc.disable()
        begun = time.process_time()
        try:
            decoder.read(data)
        except (ServiceError, ExpressionRefused, UnicodeDecodeError):
            pass
        except Exception as error:  # noqa: BLE001  # any other error is a finding
            findings.add(f"{decoder.name}: {error!r}"[:200], data)
        decoder.slowest_s = max(decoder.slowest_s, time.process_time() - begun)
        gc.enable()
    return every
