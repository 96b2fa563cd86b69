"""Base classes of admin pages: what their user may see and change."""
