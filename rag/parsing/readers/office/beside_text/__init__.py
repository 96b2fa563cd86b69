"""What is beside the running text of Office files: boxes, notes, charts and diagrams."""
