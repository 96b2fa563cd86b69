"""Models of golden questions, quality runs and calibrations."""
