"""The pages of what policies can name: kinds of activities with their parameters, and keywords with their types.

Not here: the rules (`keystead.policies`), the explanations (docs/policies.md)."""

from __future__ import annotations

from keystead.operations.policies.policy_checking import paths_of
from keystead.policies.language.namespaces import KEYWORDS, PARAMS
from keystead.policies.resources import GOVERNED_KINDS

KINDS = """\
The values of `activity.resource` and `activity.action`, and the kinds that they group
([policies](../policies.md)). What only the root quorum may do has the resource ORGANIZATION and the action UPDATE,
for MFA policies and for scopes of session profiles. SIGN includes signatures by wallet accounts."""

PARAMETERS = """\
`activity.params` holds these parameters and no others. They are the same for every version of a kind: an older
version is converted to the current one first. `session_profile_id` is "" if it is left out."""

FIELDS = """\
Everything that expressions may name, with its type; `activity` is on the [page of kinds](policy-kinds.md). `[]`
stands for an item of a list, or for a value of a map.
[Policies](../policies.md#keywords-of-condition-what-is-asked-for) says what fills each keyword."""


def kinds_page(mark: str) -> str:
    """The text of the page. `mark`: its first line."""
    lines = [mark, "# Kinds of activities in policies", "", KINDS, ""]
    lines += ["| resource | action | kinds |", "|---|---|---|"]
    named: dict[tuple[str, str], list[str]] = {}
    for kind, attributes in GOVERNED_KINDS.items():
        named.setdefault((attributes.resource, attributes.action), []).append(kind)
    lines += [
        f"| {resource} | {action} | {', '.join(named[resource, action])} |" for resource, action in sorted(named)
    ]
    lines += ["", "## activity.params", "", PARAMETERS, "", "| kind | parameters |", "|---|---|"]
    lines += [f"| {kind} | {', '.join(f'`{name}`' for name in fields)} |" for kind, fields in PARAMS.items()]
    return "\n".join(lines) + "\n"


def keywords_page(mark: str) -> str:
    """The text of the page. `mark`: its first line."""
    lines = [mark, "# Keywords of policies", "", FIELDS]
    for clause, keywords in KEYWORDS.items():
        for name, kind in keywords.items():
            if name != "activity":
                lines += ["", f"## {name}, in {clause}", "", "| field | type |", "|---|---|"]
                lines += [f"| `{each.path}` | {each.type} |" for each in paths_of(clause, name, kind)]
    return "\n".join(lines) + "\n"
