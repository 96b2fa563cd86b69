"""Bodies of requests and responses: reads them within limits, and writes JSON."""
