"""The IDLs of Solana programs: every member that one may have, in the dialects that are read.

Dialects: Anchor before 0.30, Anchor since 0.30 (specification 0.1.0), Shank. Each member is declared once, with its
meaning. A text with any other member is refused by its name, because it could change how an instruction is laid
out. Not here: which types can be read (`layouts`), which instruction some data names (`interfaces`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import IDL_DISCRIMINATOR_BYTES_MAX
from keystead.chains.interface_text import InterfaceName, invalid_interface, read_json

WHAT: Final = "a Solana IDL"

Byte = Annotated[int, Meta(ge=0, le=255)]
Ignored: TypeAlias = Any
"""A member that is known, and that changes nothing about the data and the accounts of an instruction."""
NotRead: TypeAlias = Any
"""A member that is known, and that is not read: an instruction whose arguments need it refuses the IDL."""


class _DeclaredMembers(
    msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """An object of an IDL. It is refused if it has a member that is not declared."""


class IdlTypeExpression(_DeclaredMembers, frozen=True, gc=False):
    """A type that is not a plain word. Exactly one member is there."""

    vec: str | IdlTypeExpression | UnsetType = UNSET
    option: str | IdlTypeExpression | UnsetType = UNSET
    coption: str | IdlTypeExpression | UnsetType = UNSET
    array: tuple[str | IdlTypeExpression, int | IdlGenericLength] | UnsetType = UNSET
    defined: str | IdlDefined | UnsetType = UNSET
    generic: str | UnsetType = UNSET
    # Of Shank, and of Anchor before 0.30.
    tuple_: NotRead = msgspec.field(default=UNSET, name="tuple")
    hash_map: NotRead = UNSET
    b_tree_map: NotRead = msgspec.field(default=UNSET, name="bTreeMap")
    hash_set: NotRead = UNSET
    b_tree_set: NotRead = msgspec.field(default=UNSET, name="bTreeSet")
    fixed_size_option: NotRead = UNSET
    generic_len_array: NotRead = UNSET
    defined_with_type_args: NotRead = UNSET


TypeText: TypeAlias = str | IdlTypeExpression


class IdlGenericLength(_DeclaredMembers, frozen=True, gc=False):
    """The length of an array that a generic constant gives."""

    generic: str


class IdlGenericArgument(_DeclaredMembers, frozen=True, gc=False):
    """A type or a constant for a parameter of a definition."""

    kind: Literal["type", "const"]
    type: str | IdlTypeExpression | UnsetType = UNSET
    value: str | UnsetType = UNSET


class IdlDefined(_DeclaredMembers, frozen=True, gc=False):
    """A type that `types` defines, since Anchor 0.30; before, its name alone."""

    name: InterfaceName
    generics: tuple[IdlGenericArgument, ...] = ()


class IdlField(_DeclaredMembers, frozen=True, gc=False):
    """An argument. `attrs`: words of Shank about a field of an account."""

    name: InterfaceName
    type: str | IdlTypeExpression
    docs: Ignored = None
    attrs: Ignored = None


class IdlMember(IdlTypeExpression, frozen=True, gc=False):
    """A member of a structure or variant: with a name and a type, or, if it has no name, the type itself."""

    name: InterfaceName | UnsetType = UNSET
    type: str | IdlTypeExpression | UnsetType = UNSET
    docs: Ignored = None
    attrs: Ignored = None


class IdlVariant(_DeclaredMembers, frozen=True, gc=False):
    name: InterfaceName
    fields: tuple[str | IdlMember, ...] | None = None


class IdlTypeBody(_DeclaredMembers, frozen=True, gc=False):
    """`fields`: of a struct. `variants`: of an enum, whose number is one byte. `value`, `alias`: the target of an
    alias, before Anchor 0.30 and since."""

    kind: Literal["struct", "enum", "alias", "type"]
    fields: tuple[str | IdlMember, ...] | UnsetType | None = UNSET
    variants: tuple[IdlVariant, ...] | UnsetType = UNSET
    value: str | IdlTypeExpression | UnsetType = UNSET
    alias: str | IdlTypeExpression | UnsetType = UNSET


class IdlGeneric(_DeclaredMembers, frozen=True, gc=False):
    """A parameter of a definition: a type, or a constant that lengths of arrays name. `type`: that of the
    constant."""

    kind: Literal["type", "const"]
    name: InterfaceName
    type: Ignored = None


class IdlType(_DeclaredMembers, frozen=True, gc=False):
    """A definition. `serialization`: the layout, if it is not Borsh. `repr`: the layout in the memory of the
    program. `generics`: before Anchor 0.30, the names of the parameters alone. `pod_sentinel`: Shank's, for
    `fixedSizeOption`."""

    name: InterfaceName
    type: IdlTypeBody
    serialization: Any = "borsh"
    generics: tuple[IdlGeneric | str, ...] = ()
    repr: Ignored = None
    pod_sentinel: Ignored = None
    docs: Ignored = None


class IdlAccount(_DeclaredMembers, frozen=True, gc=False):
    """An account of an instruction; with `accounts`, a group of them. An optional account may be absent."""

    name: InterfaceName
    accounts: tuple[IdlAccount, ...] | UnsetType = UNSET
    is_optional: bool = False
    optional: bool = False
    # What the program demands of an account, and how clients find it.
    is_mut: Ignored = None
    is_signer: Ignored = None
    is_optional_signer: Ignored = None
    writable: Ignored = None
    signer: Ignored = None
    address: Ignored = None
    pda: Ignored = None
    relations: Ignored = None
    docs: Ignored = None
    desc: Ignored = None


class IdlDiscriminant(_DeclaredMembers, frozen=True, gc=False):
    """Shank's discriminator: the number of the instruction, as an integer of this type."""

    type: Literal["u8", "u16", "u32", "u64"]
    value: Annotated[int, Meta(ge=0)]

    @property
    def size(self) -> int:
        return int(self.type[1:]) // 8


class IdlInstruction(_DeclaredMembers, frozen=True, gc=False):
    """`discriminator`: since Anchor 0.30. `legacy_optional_accounts_strategy`: Shank's; absent accounts are left
    out, so that the following ones move up. `default_optional_accounts`: Shank's; they are not left out."""

    name: InterfaceName
    accounts: tuple[IdlAccount, ...]
    args: tuple[IdlField, ...]
    discriminator: Annotated[tuple[Byte, ...], Meta(max_length=IDL_DISCRIMINATOR_BYTES_MAX)] | None = None
    discriminant: IdlDiscriminant | None = None
    legacy_optional_accounts_strategy: bool | None = None
    default_optional_accounts: bool | None = None
    returns: Ignored = None
    docs: Ignored = None


class IdlMetadata(_DeclaredMembers, frozen=True, gc=False):
    """`spec`: the specification, since Anchor 0.30. `origin`: what wrote the IDL."""

    spec: Literal["0.1.0"] | None = None
    origin: Literal["anchor", "shank"] | None = None
    name: Ignored = None
    version: Ignored = None
    description: Ignored = None
    repository: Ignored = None
    dependencies: Ignored = None
    contact: Ignored = None
    deployments: Ignored = None
    address: Ignored = None
    binary_version: Ignored = None
    lib_version: Ignored = None
    codama: Ignored = None


class Idl(_DeclaredMembers, frozen=True, gc=False):
    """An IDL. `types` must be present, even if it is empty. `state`: further instructions, before Anchor 0.25."""

    instructions: tuple[IdlInstruction, ...]
    types: tuple[IdlType, ...]
    metadata: IdlMetadata | None = None
    state: None = None
    name: Ignored = None
    version: Ignored = None
    docs: Ignored = None
    address: Ignored = None
    # The data of accounts, events, errors and constants.
    accounts: Ignored = None
    events: Ignored = None
    errors: Ignored = None
    constants: Ignored = None


_IDL = msgspec.json.Decoder(Idl)


class _Root(msgspec.Struct):
    kind: Literal["rootNode"]


def read_idl(text: str) -> Idl:
    """An IDL all of whose members are known. Raises InvalidRequest, naming the member."""
    try:
        idl: Idl = read_json(_IDL, text, WHAT)
    except InvalidRequest:
        if _is_codama(text):
            raise refused("a root node of Codama is not read: upload the IDL of Anchor or Shank") from None
        raise
    return idl


def refused(why: str) -> InvalidRequest:
    """The refusal of an IDL."""
    return invalid_interface(WHAT, why)


def _is_codama(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=_Root)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return False
    return True
