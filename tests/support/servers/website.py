"""A website on loopback with sitemaps, conditional requests and redirects."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Response:
    """What the website answers for a path."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Website:
    """Attributes: `pages`: path → response; `requests`: path and headers of each request, in order."""

    def __init__(self) -> None:
        self.pages: dict[str, Response] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append((self.path, dict(self.headers)))
                page = site.pages.get(self.path, Response(status=404))
                etag = page.headers.get("ETag")
                is_unchanged = etag is not None and self.headers.get("If-None-Match") == etag
                self.send_response(304 if is_unchanged else page.status)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if not is_unchanged:
                    self.wfile.write(page.body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def set_page(self, path: str, text: str, **headers: str) -> None:
        body = f"<html><head><title>{path}</title></head><body><main><p>{text}</p></main></body></html>".encode()
        self.pages[path] = Response(body, headers={"Content-Type": "text/html; charset=utf-8", **headers})

    def sitemap(self, **modified: str) -> bytes:
        """A sitemap of pages by name, each with its `lastmod`; empty for none."""
        return self.sitemap_of([(f"{self.address}/{name}", value) for name, value in modified.items()])

    def sitemap_of(self, urls: list[tuple[str, str]]) -> bytes:
        entries = (
            f"<url><loc>{url}</loc>{f'<lastmod>{value}</lastmod>' if value else ''}</url>" for url, value in urls
        )
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(entries)}</urlset>'.encode()

    def index_of(self, *paths: str) -> bytes:
        entries = "".join(f"<sitemap><loc>{self.address}{path}</loc></sitemap>" for path in paths)
        return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'.encode()

    def requested(self) -> list[str]:
        """The requested paths since the last call."""
        paths = [path for path, _ in self.requests]
        self.requests.clear()
        return paths

    @contextmanager
    def running(self) -> Iterator["Website"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
