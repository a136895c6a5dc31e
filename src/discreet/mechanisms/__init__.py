"""One-shot mechanisms: noise, response, selection."""
