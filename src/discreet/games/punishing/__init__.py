"""Truth without payments: now and then everybody is held to the own report."""
