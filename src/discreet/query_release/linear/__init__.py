"""Linear measurements with noise fixed beforehand: marginals, trees, intervals."""
