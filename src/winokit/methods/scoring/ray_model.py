"""Run copies of a model on the machines of a Ray cluster.

They answer requests a shard at a time.

To everyone else it is a model: the planner asks it once, and answers land in the driver's cache as shards come back,
so that a run resumes as on one machine. A shard goes to whichever copy is free. One that is lost, with its process or
its machine, costs the shard it was at: that is asked again elsewhere, in smaller and smaller pieces, so that a text
which kills whoever reads it is found by its third victim. Copies start as machines come and have room, and not before.
"""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
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
"""Attributes of a model that its copies report."""
PATIENCE = 2.0
GB = 10**9
"""Seconds until it is looked again whether machines have come; bytes."""


def load_on(model: str | Spec | Model, cluster: ClusterSettings, *, in_turns: bool = False) -> Model:
    """Load a model here, or as copies on a Ray cluster.

    A model behind a server is always asked from this machine. The members of an ensemble take turns on the cluster,
    which `in_turns` says.
    """
    if cluster.engine == "local" or isinstance(model, ClusterModel):
        return load_model(model)
    load_member = partial(load_on, cluster=cluster, in_turns=True)
    if isinstance(model, EnsembleModel):
        return EnsembleModel(model.spec, [load_member(member) for member in model.members], model.combine)
    spec = Spec.parse(model) if isinstance(model, str) else model
    if isinstance(spec, Spec) and spec.prefix in SERVED:
        tell([f"{spec}: a server, queried from this machine, not from the cluster"])
        return load_model(spec)
    if isinstance(spec, Spec) and spec.prefix == "ensemble":
        members = [load_member(member) for member in members_of(spec)]
        return EnsembleModel(str(spec), members, spec.options.get("combine", "probability"))
    return ClusterModel(spec, cluster, in_turns=in_turns)


class ModelCopy:
    """One copy of a model, in a process of its own."""

    def __init__(self, model: Spec | Model, threads: int) -> None:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # what torch and onnxruntime go by
        self._given = model
        self._model: Model | None = None

    def answer(self, requests: Sequence[Request]) -> tuple[list[tuple[int, Answer]], dict[str, Any]] | str:
        """Answer requests, and return the answers with facts about the model.

        An error is returned as a text, because not every error can be sent between machines. The model is loaded at
        the first call, which may have no requests.
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
    """Requests that one copy answers, as indices among all.

    `tries` counts the copies that died on them.
    """

    places: range
    tries: int = 0

    def pieces(self) -> "list[Shard]":
        """Split into smaller shards, with one more try counted."""
        size = max(1, len(self.places) // PIECES)
        starts = range(0, len(self.places), size)
        return [Shard(self.places[start : start + size], self.tries + 1) for start in starts]


class ClusterModel:
    """A model whose copies run on a Ray cluster.

    Its attributes are known as soon as its first copy is loaded.
    """

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
        """Answer requests on the cluster, as copies finish them.

        Yields the index of a request and its answer.
        """
        waiting = self._cut_shards(len(requests))
        try:
            while waiting or self._is_answering() or not self._is_loaded:
                self._start_copies(len(waiting) if self._is_loaded else 1)
                while waiting and self._free:
                    self._send_shard(self._free.pop(), waiting.popleft(), requests)
                # Now and then it is looked whether machines have come.
                for done in self._ray.wait([*self._busy], timeout=PATIENCE)[0]:
                    copy, shard = self._busy.pop(done)
                    answers = self._receive_answers(done)
                    if isinstance(answers, list):
                        self._died_loading = 0
                        self._free.append(copy)
                        for place, answer in answers:
                            yield shard.places[place], answer
                        continue
                    self._count_death(shard, requests, reason=answers)
                    waiting.extendleft(reversed(shard.pieces()))
        finally:
            self._stop_answering()
            if self._in_turns:
                self.close()

    def _cut_shards(self, request_count: int) -> deque[Shard]:
        """Cut the indices of all requests into shards.

        Each shard has 32 to 256 requests, so that each copy gets several.
        """
        _, room = self._plan_copies()
        size = min(max(request_count // (SHARDS_EACH * room), SMALLEST), LARGEST)
        indices = range(request_count)
        return deque(Shard(indices[start : start + size]) for start in range(0, request_count, size))

    def _is_answering(self) -> bool:
        """Whether any copy has requests, and is not only being loaded."""
        return any(shard.places for _, shard in self._busy.values())

    def _stop_answering(self) -> None:
        """Stop the copies that are busy with requests."""
        for done, (copy, shard) in list(self._busy.items()):
            if shard.places:
                del self._busy[done]
                self._ray.kill(copy)

    def _count_death(self, shard: Shard, requests: Sequence[Request], reason: str) -> None:
        """Count a copy that died on a shard.

        Raises BadInput after three deaths while loading, or on one shard. `reason` is the error's text.
        """
        if not shard.places:
            self._died_loading += 1
        if TRIES in (self._died_loading, shard.tries + 1):
            texts = [str(requests[place]) for place in shard.places]
            what = f"of {shorten(' and '.join(texts), 300)}" if texts else "while they were loaded"
            raise BadInput(f"{self._name}: {TRIES} copies died {what} ({reason})")

    def close(self) -> None:
        """Stop all copies. Another request starts new ones."""
        busy_copies = [copy for copy, _ in self._busy.values()]
        for copy in (*self._free, *busy_copies):
            self._ray.kill(copy)
        self._free = []
        self._busy = {}

    @property
    def _is_loaded(self) -> bool:
        """Whether a first copy was loaded, so that the model is known."""
        return "fingerprint" in vars(self)

    def _plan_copies(self) -> tuple[dict[str, int], int]:
        """Resources of one copy, and how many copies the cluster can hold.

        All machines count as empty. Raises BadInput if there is no room for any.
        """
        machines = self._list_machines()
        gpus = self._cluster.gpus_each
        cores = self._cluster.cores_each
        if gpus is None:
            gpus = int(any(machine.get("GPU") for machine in machines))
        if cores is None:
            core_counts = [machine["CPU"] for machine in machines]
            cores = 1 if gpus else int(min(core_counts, default=1))
        share = {"CPU": cores, "GPU": gpus, "memory": 0 if gpus else self._bytes}
        room = sum(_count_room(machine, share) for machine in machines)
        if not room:
            raise BadInput(
                f"{self._name}: no machine of the cluster has room for a copy: cores {cores}, GPUs {gpus}, memory "
                f"{share['memory'] / GB:.1f} GB; see cores_each, gpus_each and memory_each in [cluster] of winokit.toml"
            )
        return share, room

    def _list_machines(self) -> list[dict[str, float]]:
        """Resources of each machine of the cluster that can run a copy."""
        resources = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return [machine for machine in resources if machine.get("CPU")]

    def _start_copies(self, shards: int) -> None:
        """Start as many copies as there is room and work for.

        `shards` is the number of shards that wait. Copies that find no room yet wait in Ray's queue.
        """
        share, room = self._plan_copies()
        loading = [shard for _, shard in self._busy.values() if not shard.places]
        room_left = room - len(self._free) - len(self._busy)
        wanted_count = shards - len(self._free) - len(loading)
        for _ in range(min(room_left, wanted_count)):
            options = {"num_cpus": share["CPU"], "num_gpus": share["GPU"], "memory": share["memory"] or None}
            copy = self._ray.remote(**options)(ModelCopy).remote(self._model, share["CPU"])
            self._send_shard(copy, Shard(range(0)), ())

    def _send_shard(self, copy: Any, shard: Shard, requests: Sequence[Request]) -> None:
        """Send a shard's requests to a copy, which is busy from then on."""
        shard_requests = [requests[place] for place in shard.places]
        done = copy.answer.remote(shard_requests)
        self._busy[done] = copy, shard

    def _receive_answers(self, done: Any) -> list[tuple[int, Answer]] | str:
        """Answers of a copy, or a text that says why it died.

        A copy that was only loaded has no answers. The copy's facts become attributes of this model. Raises BadInput
        for an error of the model, and if two copies are not of the same model.
        """
        try:
            outcome = self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            return next(iter(str(error).splitlines()), type(error).__name__)
        if isinstance(outcome, str):
            raise BadInput(outcome)
        answers: list[tuple[int, Answer]]
        answers, facts = outcome
        if self._is_loaded and self.fingerprint != facts["fingerprint"]:
            both = f"{self.fingerprint} and {facts['fingerprint']}"
            raise BadInput(f"{self._name}: is not the same on all machines of the cluster: {both}")
        vars(self).update(facts)
        return answers


def _count_room(machine: Mapping[str, float], share: Mapping[str, int]) -> int:
    """Number of copies for which a machine has room.

    `share` are the resources of one copy. Those of which it needs 0 are ignored.
    """
    return int(min(machine.get(name, 0) // need for name, need in share.items() if need))


def weight_bytes(model: Spec | Model) -> int:
    """Size of a model's files in bytes.

    0 if it has none on this machine.
    """
    if not isinstance(model, Spec) or not model.place:
        return 0
    path = Path(model.place).expanduser()
    if path.is_file():
        return path.stat().st_size
    if model.prefix == "hf" and not path.is_dir() and find_spec("huggingface_hub"):
        from huggingface_hub import try_to_load_from_cache

        with suppress(ValueError):  # no name that the hub could have
            path = Path(str(try_to_load_from_cache(model.place, "config.json"))).parent
    for pattern in (model.options.get("gguf_file", "*.safetensors"), "*.bin"):
        size = sum(file.stat().st_size for file in path.glob(pattern))
        if size:
            return size
    return 0
