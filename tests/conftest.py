from hypothesis import HealthCheck, settings

# Machines under load are slow now and then; a slow example is not a wrong one.
# The same examples every time, so that no change is judged by luck; `make soak` explores with others.
_SLOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("discreet", **_SLOW, print_blob=True, derandomize=True)
settings.register_profile("explore", **_SLOW, print_blob=True)
settings.load_profile("discreet")
