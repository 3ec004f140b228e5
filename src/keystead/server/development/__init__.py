"""The developer's controls of `keystead dev`, below /dev/v1: clock, faults, snapshots and more, one module each.

`development` connects them to a service, `application` answers at their paths. No other server has them.
"""
