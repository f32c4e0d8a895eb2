"""Measure how well scoring spreads over 1, 2 and 4 workers of one core each on a Ray cluster of this machine.

    python benchmarks/cluster.py [--quick]

Two models: the built-in one, which keeps a core busy, and one that only waits (a GPU elsewhere would look like that
from here). The first cannot gain from more workers than there are cores; the second shows what sharding, sending and
keeping answers cost. Efficiency is (time of one worker) / (workers x time), from copies that are loaded, in one run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

import ray
from ray.cluster_utils import Cluster

import winokit
from winokit.methods.cluster import ClusterSettings
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.scoring.ray_model import ClusterModel, load_on
from winokit.models.base import Answer, Continuation, Fill, Piece, Request

WORKERS = (1, 2, 4)


class Waiting:
    """A model that waits: so long for each request, and does nothing."""

    spec, kind, can, fingerprint = "waiting", "causal", frozenset({Continuation}), "waiting"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        time.sleep(self.seconds * len(requests))
        yield from ((index, (Piece(0, 1, -1.0),)) for index in range(len(requests)))


def texts(count: int) -> list[Fill]:
    """Make blanks to fill from the bundled twins, each with another text."""
    problems = winokit.load("open")
    pairs = [(problem, name) for problem in problems for name in problem.candidates]
    return [
        Fill(f"{number}. {problem.before}", name, problem.after)
        for number, (problem, name) in ((n, pairs[n % len(pairs)]) for n in range(count))
    ]


def seconds(model: ClusterModel, requests: Sequence[Request], workers: int) -> float:
    """Seconds that loaded copies of a model take, with answers kept in a cache."""
    while len(model._free) < workers:
        answer_all(model, requests[: 32 * workers], Cache())
    begun = time.perf_counter()
    answer_all(model, requests, Cache())
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the texts, and 1 and 2 workers only")
    quick = parser.parse_args().quick
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    part = 4 if quick else 1
    jobs = {
        "waiting 4 ms": (Waiting(0.004), [Continuation("a", f"text {number}") for number in range(4096 // part)]),
        "builtin": ("builtin", texts(1024 // part)),
    }
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    ray.init(address=made.address, logging_level="ERROR", log_to_driver=False)
    alone: dict[str, float] = {}
    for workers in WORKERS[: 2 if quick else None]:
        while len(made.worker_nodes) < workers:
            made.add_node(num_cpus=1)
        for name, (spec, requests) in jobs.items():
            model = load_on(spec, ClusterSettings(engine="ray", cores_each=1))
            took = seconds(model, requests, workers)
            model.close()
            alone.setdefault(name, took)
            faster = alone[name] / took
            line = f"{len(requests):,} requests in {took:.1f} s, {faster:.2f} times as fast"
            print(f"{name:14} {workers} workers: {line}, efficiency {faster / workers:.0%}", flush=True)
    ray.shutdown()
    made.shutdown()


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
