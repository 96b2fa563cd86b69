"""The running product under faults and abuse: what comes back meanwhile, and what is there afterwards
(docs/reliability.md).

Real processes on services of their own, asked over HTTP on loopback. Nothing of the product is replaced; only the two
models behind HTTP are ours, so that they can be made to hang.
"""
