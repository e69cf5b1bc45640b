"""`StartWarning`: what starts inside of each other, and what a solver makes of it."""


class StartWarning(UserWarning):
    """Particles that start so close to each other, or to a wall, that pressure throws them apart, or contact does not
    see them."""
