"""Naturalness: are problems in likely English easier? Correctness against per-word surprisal under the model itself.

Surprisal is -log p(solved text) / words (characters, where there are no spaces between words): by the chain rule for a
causal model, as a pseudo-likelihood for a masked one. The latter reads a text once for each of its tokens, so that it
is computed only when this protocol is asked for by name.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from winokit.methods.scoring.base import total
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.transforms.substitute import solved_texts
from winokit.models.base import Continuation, Model, PseudoLikelihood, Refusal, Request
from winokit.problem import Dataset
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags
from winokit.text.language import language_of


def surprisal(dataset: Dataset, model: Model, cache: Cache, by_name: bool) -> Mapping[str, float]:
    """Surprisal per word of each solved text, by problem id.

    Empty if the model cannot give it.
    """
    texts = solved_texts(dataset)
    requests: dict[str, Request]
    if model.kind == "any":  # neither causal nor masked: a coin answers whatever it is asked, and has no surprisal
        return {}
    if Continuation in model.can:
        requests = {key: Continuation("", text) for key, text in texts.items()}
    elif by_name and PseudoLikelihood in model.can:
        requests = {key: PseudoLikelihood(text, 0, len(text)) for key, text in texts.items()}
    else:
        return {}
    answers = answer_all(model, requests.values(), cache)
    split = {problem.id: language_of(problem.language).split for problem in dataset}
    return {
        key: -total(answers[request]) / max(len(split[key](texts[key])), 1)
        for key, request in requests.items()
        if not isinstance(answers[request], Refusal)
    }


@protocol(asks=surprisal)
def naturalness(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy on the likeliest, middling and unlikeliest third of the texts, and the gap between the ends."""
    surprisals = sheet.asked.get("naturalness")
    if not surprisals:
        reason = "no surprisal: it needs a causal model, or a masked one and --protocol naturalness"
        sheet.leave_out("naturalness", "all", reason, len(sheet.dataset))
        return
    answers = sheet.answers()
    answers = answers.subset(flags(name in surprisals for name in answers.ids))
    values = [surprisals[name] for name in answers.ids]
    thirds = np.array_split(np.argsort(values, kind="stable"), 3)
    for name, rows in zip(("likely", "middling", "unlikely"), thirds, strict=True):
        yield from sheet.accuracy("naturalness", name, answers.subset(rows))
    ends = np.concatenate([thirds[0], thirds[-1]])
    is_likely = np.arange(len(ends)) < len(thirds[0])
    yield from sheet.gap(("naturalness", "all", "likely_minus_unlikely"), answers.subset(ends), is_likely)
    row_name = ("naturalness", "all", "surprisal_per_word")
    n = answers.problem_count
    yield from sheet.judge.mean(row_name, values, answers.units, n=n)
