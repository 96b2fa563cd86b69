"""Several hosts under load (docs/reliability.md): namespaces with the product's processes, PostgreSQL and a proxy.

Nothing of the product is mocked or hooked. Processes are killed and hosts are cut off from outside.
"""
