"""A model whose copies sit on the machines of a Ray cluster, and answer requests a shard at a time.

To everyone else it is a model: the planner asks it once, and answers land in the driver's cache as shards come back,
so that a run resumes as on one machine. A shard goes to whichever copy is free. One that is lost, with its process or
its machine, costs the shard it was at: that is asked again elsewhere, in smaller and smaller pieces, so that a text
which kills whoever reads it is found by its third victim. Copies start as machines come and have room, and not before.
"""

from __future__ import annotations

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
from winokit.models.base import Answer, Model, Request
from winokit.models.ensemble import EnsembleModel, members_of
from winokit.models.registry import Spec, load_model
from winokit.progress import tell

SMALLEST, LARGEST = 32, 256
"""Requests that a copy is handed at a time: fewer are not worth a copy of their own, more wait for the slowest."""
SHARDS_EACH = 4
"""Between these bounds a copy's share of all requests is cut into so many."""
TRIES = 3
PIECES = 16
"""Into so many a shard is cut when its copy died: 256 texts are one by one at the third try."""
GB = 10**9
SERVED = ("chat", "completions")
"""Models behind a server, which no machine of ours can share in."""
PATIENCE = 2.0
"""Seconds until it is looked again whether machines have come."""


def load_on(model: str | Spec | Model, cluster: ClusterSettings, *, in_turns: bool = False) -> Model:
    """The model where the engine has it: loaded here, or as copies on a Ray cluster.

    A model behind a server is asked from here in any case. The members of an ensemble take turns (`in_turns`): each
    leaves the cluster to the next when it has answered.
    """
    if cluster.engine == "local" or isinstance(model, ClusterModel):
        return load_model(model)
    place = partial(load_on, cluster=cluster, in_turns=True)
    if isinstance(model, EnsembleModel):
        return EnsembleModel(model.spec, [place(member) for member in model.members], model.combine)
    spec = Spec.parse(model) if isinstance(model, str) else model
    if isinstance(spec, Spec) and spec.prefix in SERVED:
        tell([f"{spec}: a server, asked from here and not from the cluster"])
        return load_model(spec)
    if isinstance(spec, Spec) and spec.prefix == "ensemble":
        members = [place(member) for member in members_of(spec)]
        return EnsembleModel(str(spec), members, spec.options.get("combine", "probability"))
    return ClusterModel(spec, cluster, in_turns=in_turns)


@dataclass(frozen=True)
class ModelFacts:
    """What a copy says of the model: all that is known of it here."""

    spec: str
    kind: str
    can: frozenset[type]
    fingerprint: str
    notes: tuple[str, ...]
    plan: str
    formalization: str | None

    @classmethod
    def of(cls, model: Model) -> ModelFacts:
        """Those of a model that is loaded."""
        more = (getattr(model, "notes", ()), getattr(model, "plan", ""), getattr(model, "formalization", None))
        return cls(model.spec, model.kind, model.can, model.fingerprint, *more)


class ModelCopy:
    """One copy of a model in a process of its own. What it refuses it says in a line: not every error can travel."""

    def load(self, model: str | Spec | Model, threads: int) -> ModelFacts | str:
        """Load the model."""
        os.environ["OMP_NUM_THREADS"] = str(threads)  # what torch and onnxruntime go by
        try:
            self._model = load_model(model)
            return ModelFacts.of(self._model)
        except WinokitError as error:
            return str(error)

    def answer(self, requests: Sequence[Request]) -> tuple[list[tuple[int, Answer]], ModelFacts] | str:
        """The answers of a shard, and the facts: a model may have learned something to tell."""
        try:
            return list(self._model.answer(requests)), ModelFacts.of(self._model)
        except WinokitError as error:
            return str(error)


@dataclass(frozen=True)
class LostCopy:
    """That a copy has died before it answered, and why."""

    why: str


@dataclass(frozen=True)
class Shard:
    """Requests that one copy answers, by their places among all."""

    places: range
    tries: int = 0

    def pieces(self) -> list[Shard]:
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
        self._ray, self._cluster, self._in_turns = started(cluster.address, "scoring on Ray"), cluster, in_turns
        self._name = str(model) if isinstance(model, Spec) else model.spec
        self._bytes = int((cluster.memory_each or 0) * GB) or 2 * weight_bytes(model)
        try:
            self._model = self._ray.put(model)
        except TypeError:
            raise BadInput(f"{self._name}: cannot be sent to other machines; name the model by its SPEC") from None
        self._loading: dict[Any, Any] = {}
        """Copies by what will tell that they are loaded; some wait for room."""
        self._free: list[Any] = []
        self._busy: dict[Any, tuple[Any, Shard]] = {}
        self._died_loading = 0
        while "fingerprint" not in vars(self):
            self._start_copies(1)
            self._take_in(self._first_ready())
        if in_turns:
            self.close()

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests shard by shard, in the order in which copies are done with them."""
        size = min(max(len(requests) // (SHARDS_EACH * self._placing()[1]), SMALLEST), LARGEST)
        waiting = deque(Shard(range(len(requests))[at : at + size]) for at in range(0, len(requests), size))
        try:
            while waiting or self._busy:
                self._start_copies(len(waiting))
                while waiting and self._free:
                    copy, shard = self._free.pop(), waiting.popleft()
                    self._busy[copy.answer.remote([requests[place] for place in shard.places])] = copy, shard
                ready = self._first_ready()
                if ready not in self._busy:
                    self._take_in(ready)
                    continue
                copy, shard = self._busy.pop(ready)
                said = self._said(ready)
                if isinstance(said, LostCopy):
                    if shard.tries + 1 == TRIES:
                        raise BadInput(f"{self._name}: {TRIES} copies died of {_shown(requests, shard)} ({said.why})")
                    waiting.extendleft(reversed(shard.pieces()))
                    continue
                self._free.append(copy)
                answers, facts = said
                self._learn(facts)
                yield from ((shard.places[place], answer) for place, answer in answers)
        finally:
            for copy, _ in self._busy.values():  # somebody has stopped us, and nobody waits for them
                self._ray.kill(copy)
            self._busy = {}
            if self._in_turns:
                self.close()

    def close(self) -> None:
        """Let every copy go; whoever asks for more starts them anew."""
        for copy in (*self._free, *self._loading.values()):
            self._ray.kill(copy)
        self._free, self._loading = [], {}

    def _placing(self) -> tuple[dict[str, int], int]:
        """What a copy takes of a machine, and for how many there is room on all of them, were they empty."""
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        asked, has_gpus = self._cluster, any(machine.get("GPU") for machine in machines)
        gpus = int(has_gpus) if asked.gpus_each is None else asked.gpus_each
        cores = asked.cores_each or (1 if gpus else int(min((machine["CPU"] for machine in machines), default=1)))
        share = {"CPU": cores, "GPU": gpus, "memory": 0 if gpus else self._bytes}
        needs = {name: need for name, need in share.items() if need}
        room = sum(int(min(machine.get(name, 0) // need for name, need in needs.items())) for machine in machines)
        if not room:
            raise BadInput(
                f"{self._name}: no machine of the cluster has what a copy takes: cores {cores}, GPUs {gpus}, memory "
                f"{share['memory'] / GB:.1f} GB; see --cores-each, --gpus-each and --memory-each"
            )
        return share, room

    def _start_copies(self, shards: int) -> None:
        """Ask for copies, as many as there is room for and work; those there is no room for yet wait in Ray's queue."""
        share, room = self._placing()
        coming = len(self._free) + len(self._loading)
        for _ in range(min(room - coming - len(self._busy), shards - coming)):
            options = {"num_cpus": share["CPU"], "num_gpus": share["GPU"], "memory": share["memory"] or None}
            copy = self._ray.remote(**options)(ModelCopy).remote()
            self._loading[copy.load.remote(self._model, share["CPU"])] = copy

    def _first_ready(self) -> Any:
        """What comes next of all that is under way; None where nothing comes for a while."""
        ready, _ = self._ray.wait([*self._busy, *self._loading], num_returns=1, timeout=PATIENCE)
        return next(iter(ready), None)

    def _take_in(self, ready: Any) -> None:
        """Count a copy that is loaded among the free."""
        if ready is None:
            return
        copy, said = self._loading.pop(ready), self._said(ready)
        if isinstance(said, LostCopy):
            self._died_loading += 1
            if self._died_loading == TRIES:
                raise BadInput(f"{self._name}: {TRIES} copies died while they were loaded ({said.why})")
            return
        self._died_loading = 0
        self._learn(said)
        self._free.append(copy)

    def _said(self, ready: Any) -> Any:
        """What a copy says, or that it is lost; what it refuses is raised here."""
        try:
            said = self._ray.get(ready)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            return LostCopy(next(iter(str(error).splitlines()), type(error).__name__))
        if isinstance(said, str):
            raise BadInput(said)
        return said

    def _learn(self, facts: ModelFacts) -> None:
        known = vars(self).get("fingerprint", facts.fingerprint)
        if known != facts.fingerprint:
            raise BadInput(f"{self._name}: differs between machines of the cluster: {known}, and {facts.fingerprint}")
        vars(self).update(vars(facts))


def weight_bytes(model: Spec | Model) -> int:
    """The size of a model's files; nought where they are not here, or it has none."""
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


def _shown(requests: Sequence[Request], shard: Shard) -> str:
    """The first of a shard's requests, and how many more there are."""
    first, more = shorten(str(requests[shard.places[0]]), 200), len(shard.places) - 1
    return first + (f" and {more} more" if more else "")
