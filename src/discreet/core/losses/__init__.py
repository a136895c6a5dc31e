"""The loss classes, one family a file. Import them from discreet.core.loss."""
