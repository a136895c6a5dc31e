"""The errors of JAX-Privacy's buffered Toeplitz matrices: `python jax_matrices.py steps`.

Prints one JSON object: the sensitivity of the encoder times the largest norm of a row of the decoder (what
noise of deviation 1 becomes), and times the root of the mean of their squares; the number of buffers, and the
seconds of CPU that the search took.
"""

from __future__ import annotations

import json
import math
import sys
import time

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from jax_privacy.matrix_factorization import buffered_toeplitz  # noqa: E402 - after the width of floats is set


def main() -> None:
    steps = int(sys.argv[1])
    began = time.process_time()
    found = buffered_toeplitz.optimize(n=steps)
    seconds = time.process_time() - began
    factor = math.sqrt(float(buffered_toeplitz.max_loss(found, steps)))
    # Rows of the decoder are the first entries of one another: their squared norms are running sums.
    inverse = np.asarray(found.inverse().toeplitz_coefs(steps), dtype=np.float64)
    squares = np.cumsum(np.cumsum(inverse) ** 2)
    typical = math.sqrt(float(buffered_toeplitz.sensitivity_squared(found, steps)) * float(squares.mean()))
    print(
        json.dumps(
            {"factor": factor, "typical": typical, "buffers": len(found.buf_decay), "seconds": seconds}
        )
    )


if __name__ == "__main__":
    main()
