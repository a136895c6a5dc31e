"""Linear models with a link: logistic, support vector, robust linear and Poisson regression."""
