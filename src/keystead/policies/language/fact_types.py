"""From the facts that a chain declares (`chains.facts`) to types of the policy language.

Not here: which facts there are (`namespaces`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints, is_typeddict

from keystead.chains.facts import FactForm
from keystead.policies.language.types import ListOf, MapOf, Scalar, StructOf, Type
from keystead.primitives.unreadable import Unreadable

_OF_FORM: Final[Mapping[FactForm, Scalar]] = {
    FactForm.HEX: Scalar.HEX,
    FactForm.ADDRESS: Scalar.ADDRESS,
    FactForm.NUMERAL: Scalar.NUMERAL,
    FactForm.ARGUMENT: Scalar.DYNAMIC,
}
_OF_CLASS: Final[Mapping[type, Scalar]] = {bool: Scalar.BOOL, int: Scalar.INT, str: Scalar.STRING}


def type_of_fact(declared: Any) -> Type:
    """The type of a fact by its declaration. The type does not say whether it may be Unreadable."""
    if is_typeddict(declared):
        fields = get_type_hints(declared, include_extras=True)
        return StructOf({name: type_of_fact(field) for name, field in fields.items()})
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return _OF_FORM[arguments[1]]
    if origin in (UnionType, Union):
        (readable,) = [argument for argument in arguments if argument is not Unreadable]
        return type_of_fact(readable)
    if origin is list:
        return ListOf(type_of_fact(*arguments))
    if origin is dict:
        return MapOf(type_of_fact(arguments[1]))
    return _OF_CLASS[declared]
