"""Learning a rule of a finite class from private labelled examples, by one exact choice."""
