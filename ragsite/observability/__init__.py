"""What every layer may report about its own work: durations and failures, never texts."""
