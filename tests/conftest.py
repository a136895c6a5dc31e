import os
import sys

from hypothesis import HealthCheck, settings

# Compiled once for all workers and for the hundred processes that tests start, whatever the environment says:
# most of the start of a process would be compiling what the one before it compiled.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Machines under load are slow now and then; a slow example is not a wrong one.
# The same examples every time, so that no change is judged by luck; `make soak` explores with others.
_SLOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("discreet", **_SLOW, print_blob=True, derandomize=True)
settings.register_profile("explore", **_SLOW, print_blob=True)
settings.load_profile("discreet")
