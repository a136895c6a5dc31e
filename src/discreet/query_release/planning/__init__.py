"""Which mechanism a workload and a budget call for, with predicted errors."""
