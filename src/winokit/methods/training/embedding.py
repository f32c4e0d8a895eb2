"""Features for AFLite from a fine-tuned encoder, as Sakaguchi et al. (2019) made them.

They fine-tune on 6,000 of 50,000 problems (5,000 to train on, 1,000 to choose on), discard these, and embed the rest:
a model that has seen none of the problems that it judges. A problem is read as in training, once with each option, and
the features are the states of the first tokens side by side (`concat`) or their difference; `single` is the state of
the text with its blank, which training never showed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput, check_known
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.cases import cases
from winokit.methods.formalizations.inputs import SENTENCES, Encoded, InputOption, InputRow, encode
from winokit.methods.formalizations.network import Network, open_network
from winokit.methods.scoring.features import FeatureKind
from winokit.methods.training.data import TrainingData, hold_out
from winokit.methods.training.finetune import TrainOutcome, finetune, folder_settings
from winokit.methods.training.settings import TrainSettings
from winokit.models.reading import read
from winokit.problem import Dataset, Problem
from winokit.progress import Progress

Matrix = NDArray[np.float32]
POOLINGS = ("first", "mean")
CHOSEN_ON = 6
"""One in so many of the held-out problems chooses the weights."""
FORMALIZATION = "mc-sent?style=winogrande"


@dataclass(frozen=True)
class SentenceParts:
    """A dataset in three parts: training, dev, and the rest, which is embedded."""

    rest: Dataset
    train: Dataset
    dev: Dataset

    @classmethod
    def of(cls, dataset: Dataset, count: int, seed: int = 0) -> "SentenceParts":
        """Hold out about `count` problems, five in six of them to train on.

        Twins stay together.
        """
        dev = round(count / CHOSEN_ON)
        if not dev:
            raise BadInput(f"{count} problems to fine-tune on: expected {CHOSEN_ON} or more, one in six to choose on")
        rest, held_out = hold_out(dataset, count, seed)
        train, chosen_on = hold_out(held_out, dev, seed)
        return cls(rest, train, chosen_on)

    @property
    def held_out(self) -> list[str]:
        """Ids of the problems that the model has seen."""
        return [problem.id for problem in (*self.train, *self.dev)]


def finetuned_features(
    parts: SentenceParts,
    out: Path,
    model: str = "builtin",
    settings: TrainSettings | None = None,
    *,
    features: str = "concat",
    pooling: str = "first",
    device: str | None = None,
    progress: Progress | None = None,
) -> tuple[Matrix, TrainOutcome]:
    """Fine-tune on the held-out parts, save the model in `out`, and embed the rest.

    The same call goes on where it was killed.

    Returns
    -------
    One row per problem of the rest, and the run that made the encoder.
    """
    settings = settings or TrainSettings(FORMALIZATION)
    _check_features(parts.rest, Formalization.parse(settings.formalization), features, pooling)
    outcome = finetune(TrainingData(parts.train, parts.dev), out, model, settings, device=device, progress=progress)
    network = open_network(folder_settings(out, device))
    return embedded(parts.rest, network, features, pooling, progress), outcome


def embedded(
    dataset: Dataset,
    network: Network,
    features: str = "concat",
    pooling: str = "first",
    progress: Progress | None = None,
) -> Matrix:
    """One row per problem, in the dataset's order."""
    _check_features(dataset, network.formalization, features, pooling)
    if features == "single":
        sentences = [problem.sentence for problem in dataset]
        readings = read(network.reader.tokenizer, sentences, network.reader.longest)
        rows = [InputRow(tuple(reading.ids), len(reading.ids)) for reading in readings]
        texts = [Encoded((row,), (InputOption(0),)) for row in rows]
        return states(network, texts, pooling, progress)[:, 0]
    encoded = encode(cases(dataset, network.formalization), network.formalization, network.reader)
    examples = [example for example in encoded if not isinstance(example, str)]
    both = states(network, examples, pooling, progress)
    if features == "difference":
        return both[:, 0] - both[:, 1]
    return both.reshape(len(dataset), -1)


def states(network: Network, examples: Sequence[Encoded], pooling: str, progress: Progress | None = None) -> Matrix:
    """Last hidden states, of shape (examples, options, width).

    A state is that of the first token, or the mean over all tokens of the text.
    """
    body: Any = network.encoder.base_model
    options = len(examples[0].options)
    table = np.zeros((len(examples), options, network.encoder.config.hidden_size), np.float32)

    def pooled(batch: Batch) -> Matrix:
        hidden = body(**batch.texts).last_hidden_state.float()
        weights = batch.attention.unsqueeze(-1)
        if pooling == "first":
            rows = hidden[:, 0]
        else:
            rows = (hidden * weights).sum(1) / weights.sum(1)
        states: Matrix = rows[batch.row].cpu().numpy()
        return states.reshape(batch.cases, options, -1)

    for done, (index, state) in enumerate(network.each(pooled, examples), 1):
        table[index] = state
        if progress:
            progress(done, len(examples))
    return table


def _check_features(dataset: Dataset, formalization: Formalization, features: str, pooling: str) -> None:
    """Refuse problems and settings that do not give features, before training starts.

    Each problem needs two options whose texts differ, or a blank for `single`.
    """
    check_known("kind of features", features, get_args(FeatureKind))
    check_known("pooling of a fine-tuned model", pooling, POOLINGS)
    if features == "single":
        whole_problem = next((problem for problem in dataset if problem.is_whole), None)
        if whole_problem is not None:
            raise BadInput(f"single features need a blank, and problem {whole_problem.id} has none: use concat")
        return
    odd_problem = next((problem for problem in dataset if not _has_two_options(problem)), None)
    if odd_problem is not None:
        view = "binary" if odd_problem.query is None else "choice"
        raise BadInput(f"{features} features need two candidates, and problem {odd_problem.id} has not: --as {view}")
    if formalization.definition.input is not SENTENCES:
        raise BadInput(
            f"{formalization.name} reads the same text whichever option: choose mc-sent, or --features single"
        )


def _has_two_options(problem: Problem) -> bool:
    """Whether a problem offers two candidates, and is no yes/no question."""
    return len(problem.candidates) == 2 and problem.query is None
