"""Published client libraries that customers use, against the real server."""
