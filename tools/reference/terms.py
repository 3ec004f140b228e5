"""The page of the terms of the code: each class, function and module that newcomers meet, by the first sentence of
its docstring. Not here: terms without one object, and those of the API (docs/glossary.md)."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from keystead.api.catalogue import Catalogue
from keystead.api.errors import ServiceError
from keystead.api.rendering import answer
from keystead.chains import facts
from keystead.chains.movements import Movement
from keystead.organizations.attached_rows import AttachedRow, VersionedRow
from keystead.organizations.kinds.credential_registrations import Registration
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.limits import Limit
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import Version
from keystead.organizations.principals import Principal
from keystead.organizations.record_map import RecordMap
from keystead.organizations.velocity.counters import VelocityCounter
from keystead.pipeline.activity import Proof
from keystead.pipeline.context import ContextSource
from keystead.pipeline.decide import existing_activity
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.execute import execute
from keystead.pipeline.execution import Output
from keystead.pipeline.lifecycle import Lifecycle
from keystead.pipeline.organization_writer import OrganizationWriter
from keystead.pipeline.store import Commit, CommitResult, LockedOrganization
from keystead.pipeline.submission import Submission
from keystead.policies.authorize import Decision, authorize
from keystead.policies.language import namespaces, three_valued
from keystead.policies.language.evaluation_context import Unknown
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.policy_set import PolicySet
from keystead.primitives.share import Share
from keystead.primitives.unreadable import Unreadable
from keystead.server.installation.bootstrap import bootstrap
from keystead.server.installation.recovery import recover
from keystead.signer.local import LocalSigner
from keystead.storage.group_commit import GroupCommit
from keystead.storage.rows import Rows

ROOT = Path(__file__).parents[2]

WHAT = """\
The terms of the code, and the class, function or module that each is. The [glossary](../glossary.md) has the terms
of the API, and those that have no object of their own."""

TERMS: Sequence[tuple[str, Any]] = (
    ("attached row", AttachedRow),
    ("authorize", authorize),
    ("basis", DecisionBasis),
    ("bootstrap", bootstrap),
    ("catalogue", Catalogue),
    ("commit", Commit),
    ("commit result", CommitResult),
    ("context", ContextSource),
    ("decision", Decision),
    ("execution", execute),
    ("fact", facts),
    ("group commit", GroupCommit),
    ("idempotency", existing_activity),
    ("keyword", namespaces),
    ("limit", Limit),
    ("lookup", Lookup),
    ("movement", Movement),
    ("organization lock", LockedOrganization),
    ("outcome", EvaluationOutcome),
    ("output", Output),
    ("pipeline", Lifecycle),
    ("policy set", PolicySet),
    ("principal", Principal),
    ("proof", Proof),
    ("record kind", RecordMap),
    ("recovery by the operator", recover),
    ("refusal", ServiceError),
    ("registration", Registration),
    ("rendering", answer),
    ("rows", Rows),
    ("seal", Sealed),
    ("share", Share),
    ("signer", LocalSigner),
    ("submission", Submission),
    ("three-valued logic", three_valued),
    ("unknown", Unknown),
    ("unreadable", Unreadable),
    ("velocity counter", VelocityCounter),
    ("version", Version),
    ("versioned row", VersionedRow),
    ("writer of an organization", OrganizationWriter),
)


def terms_page(mark: str) -> str:
    """The text of the page. `mark`: its first line."""
    lines = [mark, "# Terms of the code", "", WHAT, "", "| term | where | meaning |", "|---|---|---|"]
    for term, meant in TERMS:
        name = meant.__name__.rpartition(".")[2]
        path = Path(inspect.getsourcefile(meant) or "").relative_to(ROOT).as_posix()
        shown = name if isinstance(meant, ModuleType) else f"`{name}`"
        lines.append(f"| {term} | [{shown}](../../{path}) | {_first_sentence(meant)} |")
    return "\n".join(lines) + "\n"


def _first_sentence(meant: Any) -> str:
    text = " ".join((inspect.getdoc(meant) or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].removesuffix(".") + "."
