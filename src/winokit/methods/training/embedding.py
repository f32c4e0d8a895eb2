"""Features for AFLite from a fine-tuned encoder, as Sakaguchi et al. (2019) made them.

They fine-tune on 6,000 of 50,000 problems (5,000 to train on, 1,000 to choose on), discard these, and embed the rest:
a model that has seen none of the problems that it judges. A problem is read as in training, once with each option, and
the features are the states of the first tokens side by side (`concat`) or their difference; `single` is the state of
the text with its blank, which training never showed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from winokit.errors import BadInput, UnknownName
from winokit.methods.formalizations import Encoded, Formalization, Network, cases, encode, open_network
from winokit.methods.formalizations.inputs import SENTENCES, InputOption, InputRow
from winokit.methods.formalizations.network import BUDGET_ELSEWHERE, BUDGET_ON_CPU
from winokit.methods.scoring.features import FEATURES
from winokit.methods.training.data import TrainingData, hold_out
from winokit.methods.training.finetune import TrainOutcome, finetune
from winokit.methods.training.learner import Progress
from winokit.methods.training.settings import TrainSettings
from winokit.models.hf import HfSettings as ModelSettings
from winokit.models.hf import halving
from winokit.models.packing import packed
from winokit.models.reading import read
from winokit.models.registry import Spec
from winokit.problem import Dataset

Matrix = NDArray[np.float32]
POOLINGS = ("first", "mean")
CHOSEN_ON = 6
"""One in so many of the held-out problems chooses the weights."""
FORMALIZATION = "mc-sent?style=winogrande"


@dataclass(frozen=True)
class SentenceParts:
    """A dataset in three: to fine-tune on, to choose weights on, and the rest, which is embedded."""

    rest: Dataset
    train: Dataset
    dev: Dataset

    @classmethod
    def of(cls, dataset: Dataset, count: int, seed: int = 0) -> SentenceParts:
        """Hold about `count` problems out, five in six to train on; twins stay together."""
        dev = round(count / CHOSEN_ON)
        if not dev:
            raise BadInput(f"{count} problems to fine-tune on: {CHOSEN_ON} or more expected, one in six to choose on")
        rest, held = hold_out(dataset, count, seed)
        train, chosen_on = hold_out(held, dev, seed)
        return cls(rest, train, chosen_on)

    @property
    def held_out(self) -> list[str]:
        """The ids of what the model has seen."""
        return [problem.id for part in (self.train, self.dev) for problem in part]


@dataclass(frozen=True)
class Embedded:
    """Features of the rest, and the run that made the encoder."""

    rows: Matrix
    parts: SentenceParts
    outcome: TrainOutcome


@dataclass(frozen=True)
class EmbeddingKind:
    """Which states become features."""

    features: str = "concat"
    pooling: str = "first"

    def __post_init__(self) -> None:
        if self.features not in FEATURES:
            raise UnknownName("kind of features", self.features, FEATURES)
        if self.pooling not in POOLINGS:
            raise UnknownName("pooling of a fine-tuned model", self.pooling, POOLINGS)


def finetuned_features(
    parts: SentenceParts,
    out: Path,
    model: str = "builtin",
    settings: TrainSettings | None = None,
    kind: EmbeddingKind | None = None,
    *,
    device: str | None = None,
    progress: tuple[Progress | None, Progress | None] = (None, None),
) -> Embedded:
    """Fine-tune on the parts held out, leave the model in `out`, and embed the rest.

    `progress` is told of the training and of the embedding. The same call goes on where it was killed.
    """
    kind, settings = kind or EmbeddingKind(), settings or TrainSettings(FORMALIZATION)
    _check(parts.rest, kind)
    _check_reading(Formalization.parse(settings.formalization), kind)
    outcome = finetune(TrainingData(parts.train, parts.dev), out, model, settings, device=device, progress=progress[0])
    spec = Spec("hf", str(out), {} if device is None else {"device": device})
    return Embedded(embedded(parts.rest, open_network(ModelSettings.of(spec)), kind, progress[1]), parts, outcome)


def embedded(dataset: Dataset, network: Network, kind: EmbeddingKind, progress: Progress | None = None) -> Matrix:
    """One row a problem, in the dataset's order."""
    if kind.features == "single":
        return states(network, _blanks(dataset, network), kind.pooling, progress)[:, 0]
    _check_reading(network.formalization, kind)
    found = encode(cases(dataset, network.formalization), network.formalization, network.reader)
    both = states(network, [one for one in found if not isinstance(one, str)], kind.pooling, progress)
    return both[:, 0] - both[:, 1] if kind.features == "difference" else both.reshape(len(dataset), -1)


def states(network: Network, examples: Sequence[Encoded], pooling: str, progress: Progress | None = None) -> Matrix:
    """[example, option, width]: the first token's last state of each text, or the mean over its tokens."""
    body: Any = network.encoder.base_model
    budget = BUDGET_ON_CPU if network.device.type == "cpu" else BUDGET_ELSEWHERE
    options = len(examples[0].options)
    table = np.zeros((len(examples), options, network.encoder.config.hidden_size), np.float32)

    def pooled(some: Sequence[Encoded]) -> list[Matrix]:
        batch = network.collated(some).to(network.device)
        hidden = body(**batch.texts).last_hidden_state.float()
        weights = batch.attention.unsqueeze(-1)
        rows = hidden[:, 0] if pooling == "first" else (hidden * weights).sum(1) / weights.sum(1)
        found: Matrix = rows[batch.row].cpu().numpy()
        return list(found.reshape(len(some), options, -1))

    network.eval()
    done = 0
    for indices in packed([example.longest * len(example.rows) for example in examples], budget):
        with torch.inference_mode():
            table[indices] = halving(pooled, [examples[index] for index in indices])
        done += len(indices)
        if progress:
            progress(done, len(examples))
    return table


def _blanks(dataset: Dataset, network: Network) -> list[Encoded]:
    """Texts with their blanks, or pronouns, as they stand."""
    readings = read(network.reader.tokenizer, [problem.sentence for problem in dataset], network.reader.longest)
    return [Encoded((InputRow(tuple(one.ids), len(one.ids)),), (InputOption(0),)) for one in readings]


def _check_reading(formalization: Formalization, kind: EmbeddingKind) -> None:
    """Refuse a formalization for which the options of a problem are one text."""
    if kind.features != "single" and formalization.definition.input is not SENTENCES:
        raise BadInput(
            f"{formalization.name} reads the same text whichever option: choose mc-sent, or --features single"
        )


def _check(dataset: Dataset, kind: EmbeddingKind) -> None:
    """Refuse, before minutes of training, problems that have no two options to be put side by side."""
    odd = next((one for one in dataset if len(one.candidates) != 2 or one.query is not None), None)
    if odd is not None and kind.features != "single":
        view = "binary" if odd.query is None else "choice"
        raise BadInput(f"{kind.features} features need two candidates, and problem {odd.id} has not: --as {view}")
