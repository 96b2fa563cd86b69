"""The state of the installation: health checks, metrics, measurements, the page Operations; demo data."""
