from hypothesis import settings

# Machines under load are slow now and then; a slow example is not a wrong one.
settings.register_profile("discreet", deadline=None, print_blob=True)
settings.load_profile("discreet")
