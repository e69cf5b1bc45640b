"""The small arrays that the twelve kernels of every start-up script work on: float32 and int32."""

import numpy as np

N = 1024
SIDE = 32
WINDOW = 4
A, DT, STIFFNESS, RADIUS, C = 2.0, 0.01, 100.0, 0.6, 0.2
GRAVITY = (0.0, -9.81, 0.0)

_rng = np.random.default_rng(9)


def scalars() -> np.ndarray:
    """Values in [0.1, 1.1), shape ``(N,)``."""
    return _rng.random(N, dtype=np.float32) + np.float32(0.1)


def vectors() -> np.ndarray:
    """Components in [0.1, 1.1), shape ``(N, 3)``."""
    return _rng.random((N, 3), dtype=np.float32) + np.float32(0.1)


X, Y, REST, P, V = scalars(), scalars(), scalars(), vectors(), vectors()
M = _rng.random((N, 3, 3), dtype=np.float32)
HEIGHT = _rng.random((SIDE, SIDE), dtype=np.float32)
ENDS = np.stack([np.arange(N), (np.arange(N) + 1) % N], axis=1).astype(np.int32).reshape(-1)
