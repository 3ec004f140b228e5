"""HTTP: from the sockets of a process to answers, with the settings, logs, metrics, start and stop of a server.

`run` serves in one process, `workers` in several. `connection` reads requests and writes answers; `application`
finds the answer; `service` holds the parts that answer. Not here: the operations (`operations`), the steps of a
write (`pipeline`), the database (`storage`), the commands (`cli`).
"""
