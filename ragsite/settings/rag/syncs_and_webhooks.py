"""Pull sync and webhooks: what they may connect to, and how much a sync lists."""

from ragsite.settings.env import env

# Hosts, addresses and networks (10.0.0.0/8) in private ranges that webhooks may use. Organisations enter the addresses
# of webhooks, so this setting is separate from RAG_ALLOWED_PRIVATE_HOSTS.
RAG_WEBHOOK_PRIVATE_HOSTS = env.list("RAG_WEBHOOK_PRIVATE_HOSTS", default=[])

# The same for the buckets and websites of pull syncs, by the slug of the organisation that may enter them, or "*" for
# all: {"acme": ["files.internal"]}.
RAG_SYNC_PRIVATE_HOSTS = env.lists_by_organization("RAG_SYNC_PRIVATE_HOSTS")
# Folders on this server from which an organisation may fetch documents: {"acme": ["/srv/acme"]}.
RAG_SYNC_FOLDERS = env.lists_by_organization("RAG_SYNC_FOLDERS")
# File systems of fsspec, by a name that people choose: {"archive": {"url": "sftp://files.example.com/export",
# "options": {"username": …, "password": …}, "organizations": ["acme"]}}.
RAG_SYNC_FILE_SYSTEMS = env.json("RAG_SYNC_FILE_SYSTEMS", default={})
# The maximum number of items that one sync lists.
RAG_SYNC_MAX_ITEMS = 100_000
