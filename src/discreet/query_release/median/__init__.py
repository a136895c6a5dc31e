"""The median mechanism: questions answered by databases that still agree."""
