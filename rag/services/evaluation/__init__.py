"""Quality of search and answers: golden and unanswered questions, settings side by side, ratings, calibration."""
