"""A folder that winokit trained, as a model: `hf:FOLDER`. It judges whole problems, under its own formalization.

`hf:FOLDER?kind=masked` loads the same weights as a plain masked language model, where they have a language-modelling
head.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from winokit.errors import BadInput
from winokit.methods.formalizations.cases import cases, rivals_name
from winokit.methods.formalizations.inputs import encode
from winokit.methods.formalizations.network import Network, open_network
from winokit.models.base import Answer, Choose, LetGo, Request, Scores
from winokit.models.batching import free_memory
from winokit.models.hf import HfSettings, as_loaded, fingerprint
from winokit.models.registry import Spec
from winokit.problem import Problem


def load(spec: Spec) -> "FineTuned":
    """Load a trained folder under the formalization it remembers."""
    settings = HfSettings.of(spec)
    return FineTuned(str(spec), settings, open_network(settings))


class FineTuned:
    """A fine-tuned model, loaded."""

    kind = "any"
    can: frozenset[type] = frozenset({Choose})

    def __init__(self, spec: str, settings: HfSettings, network: Network) -> None:
        self.spec = spec
        self.settings = as_loaded(settings, network.encoder)
        self.network: Any = network
        self.formalization = network.formalization.spec
        """How it was trained, and how it is asked."""

    def close(self) -> None:
        """Let the weights go."""
        self.network = LetGo(self.spec)
        free_memory()

    @cached_property
    def fingerprint(self) -> str:
        """Weights, tokenizer, precision, formalization, and where rivals come from."""
        return f"{fingerprint(self.settings)} {self.formalization} {rivals_name(self.network.formalization)}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Scores of each problem's candidates, the longest texts first."""
        formalization = self.network.formalization
        asked = cases(map(problem_of, requests), formalization)
        encoded = encode(asked, formalization, self.network.reader)
        yield from ((index, Scores(None, why)) for index, why in enumerate(encoded) if isinstance(why, str))
        for index, numbers in self.network.numbers(encoded, self.settings.budget):
            scores = formalization.definition.decide(asked[index], numbers, formalization.switches)
            yield index, Scores(None, scores) if isinstance(scores, str) else Scores(scores)


def problem_of(request: Request) -> Problem:
    """The problem that a request asks about, its answer hidden."""
    if not isinstance(request, Choose):
        raise BadInput(f"a fine-tuned model judges whole problems; it cannot answer {type(request).__name__} requests")
    labels = dict(request.labels)
    return Problem(
        request.before,
        request.after,
        request.candidates,
        pronoun=request.pronoun,
        query=request.query,
        language=str(labels.pop("language", "en")),
        labels=labels,
    )
