"""Bodies of requests and responses: reads them within limits, and writes JSON and cells of CSV files."""
