"""ID tokens of OpenID Connect issuers: whom they prove, and where the issuers' keys come from.

`issuers` implements `activities.ports.Identities`. Not here: what an identity may do, and where it is kept.
"""
