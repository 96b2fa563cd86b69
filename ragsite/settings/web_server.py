"""The web server: nginx, and the proxies in front of it (ragsite.run.web)."""

from ipaddress import ip_network

from .env import env

# Networks (CIDR) of proxies whose X-Forwarded-For is trusted.
RAG_TRUSTED_PROXIES = [str(ip_network(network)) for network in env.list("RAG_TRUSTED_PROXIES", default=[])]
# nginx: its program, and how many requests of one client address it has in progress (ragsite.run.web).
RAG_NGINX = env.str("RAG_NGINX", default="")
RAG_MAX_REQUESTS_PER_ADDRESS = env.int("RAG_MAX_REQUESTS_PER_ADDRESS", default=100)
# When the web server is asked to stop: for how long it still accepts requests while its health checks fail, and how
# long requests in progress may then take.
RAG_DRAIN_SECONDS = env.int("RAG_DRAIN_SECONDS", default=0)
RAG_STOP_SECONDS = env.int("RAG_STOP_SECONDS", default=5)
