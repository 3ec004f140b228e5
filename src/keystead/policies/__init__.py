"""The policy engine: from the text of policies to a decision about an activity. Pure.

`language` has the way from a text to an expression. `policy_set` holds the compiled policies of an organization,
`authorize` decides by them. `linting` warns authors, `testing` runs their test cases. Not here: where the values of
a request come from (`pipeline.authorization`, `operations`)."""
