"""The running product under faults and abuse: what it answers meanwhile, and what is stored afterwards
(docs/reliability.md).

Real processes on services of their own, called over HTTP on loopback. Nothing of the product is replaced. Only the two
models behind HTTP belong to the tests, so that they can be made to hang.
"""
