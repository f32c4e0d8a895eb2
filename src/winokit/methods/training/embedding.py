"""Features for AFLite from a fine-tuned encoder, as Sakaguchi et al. (2019) made them.

They fine-tune on 6,000 of 50,000 problems (5,000 to train on, 1,000 to choose on), discard these, and embed the rest
with a model that has seen none of it. A problem is read as in training, once with each option. The features are the
states of the first tokens side by side (`concat`) or their difference. `single` is the state of the text with its
blank, which the model never saw in training.
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
"""One in this many held-out problems is in the dev set, which chooses the weights."""
FORMALIZATION = "mc-sent?style=winogrande"


@dataclass(frozen=True)
class SentenceParts:
    """A dataset in three parts: to embed, to train on, and to choose weights on."""

    rest: Dataset
    """The problems to embed."""
    train: Dataset
    dev: Dataset

    @classmethod
    def of(cls, dataset: Dataset, count: int, seed: int = 0) -> "SentenceParts":
        """Hold out about `count` problems, five in six of them to train on.

        Twins stay together. Raises BadInput if `count` is too small.
        """
        dev_count = round(count / CHOSEN_ON)
        if not dev_count:
            raise BadInput(f"{count} problems to fine-tune on: expected {CHOSEN_ON} or more, one in six to choose on")
        embedded_problems, held_out = hold_out(dataset, count, seed)
        train, dev = hold_out(held_out, dev_count, seed)
        return cls(embedded_problems, train, dev)

    @property
    def held_out(self) -> list[str]:
        """Ids of the problems that the model has seen in training."""
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
    """Fine-tune a model on two parts of a dataset, and embed the third with it.

    The model is saved in `out`. The same call continues a run that was killed. `features` and `pooling` are as in
    `embedded`, and `device` None is the best available one.

    Returns
    -------
    A matrix with one row per problem of `parts.rest`, and the outcome of the fine-tuning.
    """
    settings = settings or TrainSettings(FORMALIZATION)
    formalization = Formalization.parse(settings.formalization)
    _check_features(parts.rest, formalization, features, pooling)
    data = TrainingData(parts.train, parts.dev)
    outcome = finetune(data, out, model, settings, device=device, progress=progress)
    network = open_network(folder_settings(out, device))
    matrix = embedded(parts.rest, network, features, pooling, progress)
    return matrix, outcome


def embedded(
    dataset: Dataset,
    network: Network,
    features: str = "concat",
    pooling: str = "first",
    progress: Progress | None = None,
) -> Matrix:
    """Embed problems with a fine-tuned network, one row per problem in their order.

    `features` is `concat`, `difference` (first option minus second) or `single`, which reads the text with its blank.
    `pooling` is `first` (the state of the first token) or `mean` (over all tokens).
    """
    formalization = network.formalization
    _check_features(dataset, formalization, features, pooling)
    if features == "single":
        sentences = [problem.sentence for problem in dataset]
        readings = read(network.reader.tokenizer, sentences, network.reader.longest)
        rows = [InputRow(tuple(reading.ids), len(reading.ids)) for reading in readings]
        texts = [Encoded((row,), (InputOption(0),)) for row in rows]
        return states(network, texts, pooling, progress)[:, 0]
    problem_cases = cases(dataset, formalization)
    encoded = encode(problem_cases, formalization, network.reader)
    examples = [example for example in encoded if not isinstance(example, str)]
    option_states = states(network, examples, pooling, progress)
    if features == "difference":
        return option_states[:, 0] - option_states[:, 1]
    return option_states.reshape(len(dataset), -1)


def states(network: Network, examples: Sequence[Encoded], pooling: str, progress: Progress | None = None) -> Matrix:
    """Return the last hidden state of each option, of shape (examples, options, width).

    It is the state of the first token, or with `pooling="mean"` the mean over all tokens. All examples have the same
    number of options.
    """
    body: Any = network.encoder.base_model
    option_count = len(examples[0].options)
    width = network.encoder.config.hidden_size
    table = np.zeros((len(examples), option_count, width), np.float32)

    def pool_states(batch: Batch) -> Matrix:
        """Return the states of a batch, by example and option."""
        hidden = body(**batch.texts).last_hidden_state.float()
        weights = batch.attention.unsqueeze(-1)
        if pooling == "first":
            rows = hidden[:, 0]
        else:
            rows = (hidden * weights).sum(1) / weights.sum(1)
        states: Matrix = rows[batch.row].cpu().numpy()
        return states.reshape(batch.cases, option_count, -1)

    for done, (index, state) in enumerate(network.each(pool_states, examples), 1):
        table[index] = state
        if progress:
            progress(done, len(examples))
    return table


def _check_features(dataset: Dataset, formalization: Formalization, features: str, pooling: str) -> None:
    """Raise BadInput for problems or settings that do not give features.

    This is checked before training. Each problem needs two options whose texts differ, or a blank for `single`.
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
    """Whether a problem has two candidates, and is no yes/no judgement."""
    return len(problem.candidates) == 2 and problem.query is None
