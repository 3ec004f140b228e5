"""ID tokens of OpenID Connect issuers: the identity that they prove, and the issuers' keys.

`issuers` implements `pipeline.ports.Identities`. Not here: what an identity may do, and where it is stored.
"""
