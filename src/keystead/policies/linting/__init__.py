"""Warnings for authors of policies (`warnings`), by static analysis of conditions (`condition_analysis`). Pure.

Not here: the errors of an expression that does not compile (`policies.language.type_checker`,
`policies.language.grammar`)."""
