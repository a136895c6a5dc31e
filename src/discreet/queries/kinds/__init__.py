"""The kinds of workloads, each with exact sensitivities and no dense matrix."""
