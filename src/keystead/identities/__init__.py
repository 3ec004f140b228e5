"""ID tokens of OpenID Connect issuers: which identity they prove, and where the issuers' keys come from.

`issuers` implements `pipeline.ports.Identities`. Not here: what an identity may do, and where it is kept.
"""
