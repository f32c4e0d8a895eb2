"""A folder that winokit trained, as the model `hf:FOLDER`.

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
    """Load a trained folder under the formalization stored in it."""
    settings = HfSettings.of(spec)
    return FineTuned(str(spec), settings, open_network(settings))


class FineTuned:
    """A fine-tuned model in memory, which scores the candidates of problems."""

    kind = "any"
    can: frozenset[type] = frozenset({Choose})

    def __init__(self, spec: str, settings: HfSettings, network: Network) -> None:
        self.spec = spec
        self.settings = as_loaded(settings, network.encoder)
        self.network: Any = network
        self.formalization = network.formalization.spec
        """Spec of the formalization under which it was trained and is asked."""

    def close(self) -> None:
        """Free the memory of the weights. The model cannot answer afterwards."""
        self.network = LetGo(self.spec)
        free_memory()

    @cached_property
    def fingerprint(self) -> str:
        """Text that changes with weights, tokenizer, precision, formalization or rivals."""
        rivals = rivals_name(self.network.formalization)
        return f"{fingerprint(self.settings)} {self.formalization} {rivals}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Yield the index of each request and the scores of its candidates.

        Problems that cannot be read come first, with the reason in place of scores. Then the longest texts come first.
        """
        formalization = self.network.formalization
        problem_cases = cases(map(problem_of, requests), formalization)
        encoded = encode(problem_cases, formalization, self.network.reader)
        for index, case in enumerate(encoded):
            if isinstance(case, str):
                yield index, Scores(None, case)
        for index, numbers in self.network.numbers(encoded, self.settings.budget):
            scores = formalization.definition.decide(problem_cases[index], numbers, formalization.switches)
            if isinstance(scores, str):
                yield index, Scores(None, scores)
            else:
                yield index, Scores(scores)


def problem_of(request: Request) -> Problem:
    """Return the problem that a request asks about, with its answer hidden."""
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
