"""A model whose copies sit on the machines of a Ray cluster, and answer requests a shard at a time.

To everyone else it is a model: the planner asks it once, and answers land in the driver's cache as shards come back,
so that a run resumes as on one machine. A shard goes to whichever copy is free. One that is lost, with its process or
its machine, costs the shard it was at: that is asked again elsewhere, in smaller and smaller pieces, so that a text
which kills whoever reads it is found by its third victim. Copies start as machines come and have room, and not before.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from typing import Any

from winokit.errors import BadInput, WinokitError
from winokit.methods.cluster import ClusterSettings, started
from winokit.models.base import Answer, Model, Request, parameters_of
from winokit.models.ensemble import EnsembleModel, members_of
from winokit.models.registry import Spec, load_model
from winokit.progress import tell

SHARDS_EACH = 4
SMALLEST = 32
LARGEST = 256
"""A copy's share of all requests is cut into so many shards, of so many requests at least and at most."""
TRIES = 3
PIECES = 16
"""A shard whose copy died is cut into so many pieces: 256 texts are one by one at the third try."""
SERVED = ("chat", "completions")
FACTS = ("spec", "kind", "can", "fingerprint", "notes", "plan", "formalization")
"""What is known here of a model that is loaded elsewhere."""
PATIENCE = 2.0
GB = 10**9
"""Seconds until it is looked again whether machines have come; bytes."""


def load_on(model: str | Spec | Model, cluster: ClusterSettings, *, in_turns: bool = False) -> Model:
    """The model where the engine has it: loaded here, or as copies on a Ray cluster.

    A model behind a server is asked from here in any case. The members of an ensemble take turns on the cluster.
    """
    if cluster.engine == "local" or isinstance(model, ClusterModel):
        return load_model(model)
    place = partial(load_on, cluster=cluster, in_turns=True)
    if isinstance(model, EnsembleModel):
        return EnsembleModel(model.spec, [place(member) for member in model.members], model.combine)
    spec = Spec.parse(model) if isinstance(model, str) else model
    if isinstance(spec, Spec) and spec.prefix in SERVED:
        tell([f"{spec}: a server, queried from this machine, not from the cluster"])
        return load_model(spec)
    if isinstance(spec, Spec) and spec.prefix == "ensemble":
        members = [place(member) for member in members_of(spec)]
        return EnsembleModel(str(spec), members, spec.options.get("combine", "probability"))
    return ClusterModel(spec, cluster, in_turns=in_turns)


class ModelCopy:
    """One copy of a model in a process of its own."""

    def __init__(self, model: Spec | Model, threads: int) -> None:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # what torch and onnxruntime go by
        self._given = model
        self._model: Model | None = None

    def answer(self, requests: Sequence[Request]) -> tuple[list[tuple[int, Answer]], dict[str, Any]] | str:
        """The answers, and what is known of the model by now; or in a line why not, since not every error can travel.

        It is loaded when it is first asked, be it for nothing.
        """
        try:
            self._model = model = self._model or load_model(self._given)
            answers = list(model.answer(requests)) if requests else []
        except WinokitError as error:
            return str(error)
        facts = {name: getattr(model, name) for name in FACTS if hasattr(model, name)}
        return answers, facts | {"parameter_count": parameters_of(model)}


@dataclass(frozen=True)
class Shard:
    """Requests that one copy answers, by their places among all."""

    places: range
    tries: int = 0

    def pieces(self) -> "list[Shard]":
        """The same requests in smaller shards, tried once more."""
        size = max(1, len(self.places) // PIECES)
        return [Shard(self.places[at : at + size], self.tries + 1) for at in range(0, len(self.places), size)]


class ClusterModel:
    """A model on a Ray cluster, known as soon as its first copy is loaded."""

    spec: str
    kind: str
    can: frozenset[type]
    fingerprint: str

    def __init__(self, model: Spec | Model, cluster: ClusterSettings, *, in_turns: bool = False) -> None:
        self._ray = started(cluster.address, "scoring on Ray")
        self._cluster = cluster
        self._in_turns = in_turns
        self._name = str(model) if isinstance(model, Spec) else model.spec
        self._bytes = int((cluster.memory_each or 0) * GB) or 2 * weight_bytes(model)
        try:
            self._model = self._ray.put(model)
        except TypeError:
            raise BadInput(f"{self._name}: cannot be sent to other machines; name the model by its SPEC") from None
        self._free: list[Any] = []
        self._busy: dict[Any, tuple[Any, Shard]] = {}
        """Copies by what will tell that they are done, with the shard they are at: an empty one while they load."""
        self._died_loading = 0
        list(self.answer(()))  # a first copy tells what the model is

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests shard by shard, in the order in which copies are done with them."""
        size = min(max(len(requests) // (SHARDS_EACH * self._placing()[1]), SMALLEST), LARGEST)
        waiting = deque(Shard(range(len(requests))[at : at + size]) for at in range(0, len(requests), size))
        try:
            while waiting or any(shard.places for _, shard in self._busy.values()) or not self._known:
                self._start_copies(len(waiting) if self._known else 1)
                while waiting and self._free:
                    self._hand_out(self._free.pop(), waiting.popleft(), requests)
                # Now and then it is looked whether machines have come.
                for done in self._ray.wait([*self._busy], timeout=PATIENCE)[0]:
                    copy, shard = self._busy.pop(done)
                    answers = self._heard(done)
                    if isinstance(answers, list):
                        self._died_loading = 0
                        self._free.append(copy)
                        yield from ((shard.places[place], answer) for place, answer in answers)
                        continue
                    self._died_loading += not shard.places
                    if TRIES in (self._died_loading, shard.tries + 1):
                        texts = shorten(" and ".join(str(requests[place]) for place in shard.places), 300)
                        what = f"of {texts}" if texts else "while they were loaded"
                        raise BadInput(f"{self._name}: {TRIES} copies died {what} ({answers})")
                    waiting.extendleft(reversed(shard.pieces()))
        finally:
            for done in [done for done, (_, shard) in self._busy.items() if shard.places]:
                self._ray.kill(self._busy.pop(done)[0])  # nobody waits for its answers any more
            if self._in_turns:
                self.close()

    def close(self) -> None:
        """Let every copy go; whoever asks for more starts them again."""
        for copy in (*self._free, *(copy for copy, _ in self._busy.values())):
            self._ray.kill(copy)
        self._free = []
        self._busy = {}

    @property
    def _known(self) -> bool:
        return "fingerprint" in vars(self)

    def _placing(self) -> tuple[dict[str, int], int]:
        """What a copy takes of a machine, and for how many there is room on all of them, were they empty."""
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        gpus = self._cluster.gpus_each
        cores = self._cluster.cores_each
        if gpus is None:
            gpus = int(any(machine.get("GPU") for machine in machines))
        if cores is None:
            cores = 1 if gpus else int(min((machine["CPU"] for machine in machines), default=1))
        share = {"CPU": cores, "GPU": gpus, "memory": 0 if gpus else self._bytes}
        needs = {name: need for name, need in share.items() if need}
        room = sum(int(min(machine.get(name, 0) // need for name, need in needs.items())) for machine in machines)
        if not room:
            raise BadInput(
                f"{self._name}: no machine of the cluster has room for a copy: cores {cores}, GPUs {gpus}, memory "
                f"{share['memory'] / GB:.1f} GB; see cores_each, gpus_each and memory_each in [cluster] of winokit.toml"
            )
        return share, room

    def _start_copies(self, shards: int) -> None:
        """Ask for copies, as many as there is room for and work; those there is no room for yet wait in Ray's queue."""
        share, room = self._placing()
        coming = len(self._free) + sum(not shard.places for _, shard in self._busy.values())
        for _ in range(min(room - len(self._free) - len(self._busy), shards - coming)):
            options = {"num_cpus": share["CPU"], "num_gpus": share["GPU"], "memory": share["memory"] or None}
            copy = self._ray.remote(**options)(ModelCopy).remote(self._model, share["CPU"])
            self._hand_out(copy, Shard(range(0)), ())

    def _hand_out(self, copy: Any, shard: Shard, requests: Sequence[Request]) -> None:
        self._busy[copy.answer.remote([requests[place] for place in shard.places])] = copy, shard

    def _heard(self, done: Any) -> list[tuple[int, Answer]] | str:
        """The answers of a copy, none from one that has loaded; or why it died. What it refuses is raised here."""
        try:
            said = self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            return next(iter(str(error).splitlines()), type(error).__name__)
        if isinstance(said, str):
            raise BadInput(said)
        answers: list[tuple[int, Answer]]
        answers, facts = said
        if self._known and self.fingerprint != facts["fingerprint"]:
            both = f"{self.fingerprint} and {facts['fingerprint']}"
            raise BadInput(f"{self._name}: is not the same on all machines of the cluster: {both}")
        vars(self).update(facts)
        return answers


def weight_bytes(model: Spec | Model) -> int:
    """The size of a model's files; zero where they are not here, or it has none."""
    if not isinstance(model, Spec) or not model.place:
        return 0
    place = Path(model.place).expanduser()
    if place.is_file():
        return place.stat().st_size
    if model.prefix == "hf" and not place.is_dir() and find_spec("huggingface_hub"):
        from huggingface_hub import try_to_load_from_cache

        with suppress(ValueError):  # no name that the hub could have
            place = Path(str(try_to_load_from_cache(model.place, "config.json"))).parent
    kinds = (model.options.get("gguf_file", "*.safetensors"), "*.bin")
    return next((size for kind in kinds if (size := sum(file.stat().st_size for file in place.glob(kind)))), 0)
