"""Tasks, a solver and a scorer for Inspect: `inspect eval winokit/wsc273`.

Inspect imports this module by its entry point; nothing of winokit does, so that Inspect is no dependency. Each dataset
that has a name (`winokit datasets`) is a task, and `winokit/data` takes any DATA:

    inspect eval winokit/data -T data=mine.jsonl --model …

A problem is asked about as `winokit score` asks a chat model without log-probabilities: in both orders, with the same
words, and the replies are read in the same way. The choices in the log are therefore those of a direct run.
"""

import string
from collections.abc import Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    metric,
    scorer,
    stderr,
    value_to_float,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from winokit.data.known import dataset_names
from winokit.data.loading import load
from winokit.data.predictions.documents import documents, parse_document, slug
from winokit.errors import BadInput, WinokitError
from winokit.methods.metrics.groups import group_accuracy as share_of_groups
from winokit.methods.scoring.ask import ASK
from winokit.methods.scoring.base import Abstain, Setting
from winokit.models.base import Ask, Reply
from winokit.models.chat import reply
from winokit.models.chat_client import Completion
from winokit.problem import ORIGINAL, Problem
from winokit.results import decide
from winokit.stages.convert.tasks import CLUSTER, cluster_documents, variants_of

SETTING = Setting(kind="chat")
CONFIG = GenerateConfig(temperature=0.0, max_tokens=512)
"""Settings of generation as in a direct run. The user of Inspect may replace them."""
SCORES = "winokit_scores"
WHY = "winokit_why"
"""Keys of the store, for the scores and for the reason of an abstention: the solver sets one, the scorer reads it."""
LABELS_ONLY = ("trichelair",)
"""Datasets that have only labels of another dataset's problems, and so no task."""
LEFT_OUT = ("contexts", "continuation", "filled")
"""Fields of a document that are not in the metadata of a sample."""


@metric
def group_accuracy() -> Metric:
    """Metric of Inspect: share of groups that are right as a whole.

    Only complete groups count. NaN if there are none.
    """
    as_number = value_to_float()

    def measure(scores: list[SampleScore]) -> float:
        is_right = [as_number(sample_score.score.value) == 1 for sample_score in scores]
        groups = []
        sizes: dict[str, int] = {}
        for sample_score in scores:
            metadata = sample_score.sample_metadata or {}
            group = metadata.get("group")
            groups.append(group)
            if group:
                sizes[str(group)] = int(metadata["group_size"])
        try:
            return share_of_groups(is_right, groups, sizes)
        except BadInput:  # no group is complete
            return float("nan")

    return measure


def clustered_metrics() -> list[Metric]:
    """Metrics of a task: accuracy over units, and group accuracy.

    Accuracy has a standard error and an interval. Earlier versions of Inspect have no interval.
    """
    metrics = [accuracy(), stderr(cluster=CLUSTER), group_accuracy()]
    try:
        from inspect_ai.scorer import ci
    except ImportError:  # earlier versions
        return metrics
    return [*metrics, ci(cluster=CLUSTER)]


@solver
def both_orders() -> Solver:
    """Solver that asks about a problem in both orders of its candidates.

    It stores a score per candidate for the scorer, or the reason of an abstention.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        problem = problem_of(state)
        replies = []
        for ask in ASK.ask(problem, SETTING):
            assert isinstance(ask, Ask)
            state.output = await get_model().generate([ChatMessageUser(content=ask.prompt)])
            replies.append(read_output(ask, state.output))
        try:
            state.store.set(SCORES, list(ASK.judge(problem, SETTING, replies)))
        except Abstain as abstention:
            state.store.set(WHY, str(abstention))
        return state

    return solve


@scorer(metrics=clustered_metrics())
def chosen() -> Scorer:
    """Scorer that compares the candidate with the highest score to the answer.

    A tie is no answer.
    """

    async def score(state: TaskState, target: Target) -> Score:
        scores: Sequence[float] | None = state.store.get(SCORES)
        if scores is None:
            return Score(value=NOANSWER, explanation=state.store.get(WHY))
        choice, reason = decide(scores)
        if choice is None:
            return Score(value=NOANSWER, explanation=reason, metadata={"scores": scores})
        letter = string.ascii_uppercase[choice]
        value = CORRECT if letter == target.text else INCORRECT
        return Score(value=value, answer=letter, explanation=state.output.completion, metadata={"scores": scores})

    return score


def problem_of(state: TaskState) -> Problem:
    """Read the problem of a sample from its metadata.

    Raises BadInput if it is not one of winokit's.
    """
    document = parse_document(state.metadata)
    if document is None or document.problem is None:
        raise BadInput(
            f"sample {state.sample_id}: no problem of winokit's; the solver and the scorer are for its tasks"
        )
    return document.problem


def read_output(ask: Ask, output: ModelOutput) -> Reply:
    """Read the reply to a question from a model's output.

    It is read as the response of a chat server is.
    """
    stop_reason = output.stop_reason
    completion = Completion(
        output.completion,
        refused=stop_reason == "content_filter",
        cut=stop_reason in ("max_tokens", "model_length"),
        ended=stop_reason == "stop",
    )
    return reply(ask, completion)


def make_task(data: str, variant: str = ORIGINAL) -> Task:
    """Make the task of a dataset, or of a variant of it.

    What winokit refuses raises an error that Inspect shows in one line.
    """
    try:
        dataset = load(data)
        problems = variants_of(dataset, variant)
        rows = documents(problems, variant, name=dataset.card.name)
        samples = [make_sample(document) for document in cluster_documents(rows, problems)]
        if not samples:
            raise BadInput(f"{data}: no problem of variant {variant} has an answer")
    except WinokitError as error:
        raise prerequisite_error(error) from None
    task_name = slug(data)
    if variant != ORIGINAL:
        task_name = f"{task_name}_{slug(variant)}"
    return Task(
        dataset=MemoryDataset(samples, name=dataset.card.name),
        solver=both_orders(),
        scorer=chosen(),
        config=CONFIG,
        name=task_name,
    )


def prerequisite_error(error: WinokitError) -> Exception:
    """Convert an error to one that Inspect shows in one line.

    It is returned as it is if this version of Inspect has no such error.
    """
    try:
        from inspect_ai._util.error import PrerequisiteError
    except ImportError:
        return error
    shown: Exception = PrerequisiteError(f"winokit: {error}")
    return shown


def make_sample(document: dict[str, Any]) -> Sample:
    """Make the sample of a document, with its fields as metadata.

    A document describes one problem.
    """
    text_with_blank = f"{document.get('before', '')}_{document.get('after', '')}"
    metadata = {key: value for key, value in document.items() if key not in LEFT_OUT}
    return Sample(
        id=document["id"],
        input=document.get("text") or text_with_blank,
        choices=document.get("texts") or document["candidates"],
        target=string.ascii_uppercase[document["answer"]],
        metadata=metadata,
    )


@task
def data(data: str, variant: str = ORIGINAL) -> Task:
    """Any DATA that winokit reads: a file, FORMAT:file, or a name."""
    return make_task(data, variant)


def name_task(name: str) -> None:
    """Register a task for the dataset of this name.

    The task has the name as an identifier.
    """

    def dataset_task(variant: str = ORIGINAL) -> Task:
        return make_task(name, variant)

    task(name=slug(name))(dataset_task)


for dataset_name in dataset_names():
    if dataset_name.partition("/")[0] not in LABELS_ONLY:
        name_task(dataset_name)
