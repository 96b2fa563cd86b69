"""Models of golden questions, quality runs, unanswered questions and calibrations."""
