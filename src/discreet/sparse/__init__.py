"""The sparse vector technique: many questions, few positive answers."""
