"""The steps of every write, from a decoded submission to its commit. `lifecycle` has their order.

Here: the steps, one module each, and the interfaces that they need from outside (`ports`, `signer_port`, `store`,
`context`). Not here: what an operation does (`operations`), the rules of authorization (`policies`), HTTP
(`server`), the database (`storage`).
"""
