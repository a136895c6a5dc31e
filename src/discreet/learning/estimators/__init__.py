"""Faces of the learners for scikit-learn: fit, predict, score, pipelines and clones."""
