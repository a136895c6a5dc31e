"""Statistical queries: means of functions with a stated tolerance, from reports or from a trusted curator."""
