"""Frequency oracles of other libraries: `python local_oracles.py library people values runs`.

Prints one JSON object a line: oracle, epsilon, people times the mean squared error of a frequency, and the
CPU microseconds a person that encoding, adding up and estimating took.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

EPSILONS = (0.5, 1.0, 2.0, 4.0)


def draw_values(people: int, values: int, seed: int) -> Any:
    weights = 1 / np.arange(1, values + 1) ** 1.2
    return np.random.default_rng(seed).choice(values, people, p=weights / weights.sum())  # noqa: TID251


def pure_ldp(epsilon: float, values: int) -> Any:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def same(x: int) -> int:
        return x

    hadamard = HadamardResponseServer(epsilon, values, index_mapper=same)
    pairs = {
        "direct-response": (DEClient(epsilon, values, same), DEServer(epsilon, values, same)),
        "symmetric-unary": (
            UEClient(epsilon, values, index_mapper=same),
            UEServer(epsilon, values, index_mapper=same),
        ),
        "optimised-unary": (
            UEClient(epsilon, values, use_oue=True, index_mapper=same),
            UEServer(epsilon, values, use_oue=True, index_mapper=same),
        ),
        "hadamard-response": (
            HadamardResponseClient(epsilon, values, hadamard.get_hash_funcs(), index_mapper=same),
            hadamard,
        ),
        "local-hashing": (
            LHClient(epsilon, values, use_olh=True, index_mapper=same),
            LHServer(epsilon, values, use_olh=True, index_mapper=same),
        ),
    }

    def run(client: Any, server: Any, data: Any) -> Any:
        for value in data:
            server.aggregate(client.privatise(int(value)))
        return np.array([server.estimate(v, suppress_warnings=True) for v in range(values)]) / len(data)

    return {name: lambda data, pair=pair: run(*pair, data) for name, pair in pairs.items()}


def multi_freq_ldpy(epsilon: float, values: int) -> Any:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return {
        "direct-response": lambda data: GRR_Aggregator_MI(
            [GRR_Client(int(v), values, epsilon) for v in data], values, epsilon
        ),
        "optimised-unary": lambda data: UE_Aggregator_MI(
            [UE_Client(int(v), values, epsilon, True) for v in data], epsilon, True
        ),
        "symmetric-unary": lambda data: UE_Aggregator_MI(
            [UE_Client(int(v), values, epsilon, False) for v in data], epsilon, False
        ),
        "subset-selection": lambda data: SS_Aggregator_MI(
            [SS_Client(int(v), values, epsilon) for v in data], values, epsilon
        ),
    }


def main() -> None:
    library, people, values, runs = sys.argv[1], *map(int, sys.argv[2:5])
    for epsilon in EPSILONS:
        make = pure_ldp if library == "pure-ldp" else multi_freq_ldpy
        for name in make(epsilon, values):
            errors, seconds = [], 0.0
            make(epsilon, values)[name](draw_values(20, values, 0))  # compiled before it is timed
            count = people // 5 if name == "local-hashing" else people
            for seed in range(runs):
                data = draw_values(count, values, seed)
                run = make(epsilon, values)[name]
                began = time.process_time()
                found = np.asarray(run(data), dtype=float)
                seconds += time.process_time() - began
                errors.append(((found - np.bincount(data, minlength=values) / count) ** 2).mean())
            shown = {
                "oracle": name,
                "epsilon": epsilon,
                "square": count * float(np.mean(errors)),
                "microseconds": seconds / (runs * count) * 1e6,
            }
            print(json.dumps(shown), flush=True)


if __name__ == "__main__":
    main()
