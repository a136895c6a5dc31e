from hypothesis import settings

# Machines under load are slow now and then; a slow example is not a wrong one.
# The same examples every time, so that no change is judged by luck; `make soak` explores with others.
settings.register_profile("discreet", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("discreet")
