"""Naturalness: accuracy by how likely the model itself finds the text of a problem.

Surprisal is -log p(solved text) / words, or characters if there are no spaces between words. The probability is by the
chain rule for a causal model, and a pseudo-likelihood for a masked one. The latter reads a text once for each of its
tokens, so it is computed only if this protocol is named.
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
    """Ask a model for the surprisal per word of each solved text.

    It is by problem id. `by_name` is whether a user named the protocol. Empty if the model cannot give a surprisal.
    """
    texts = solved_texts(dataset)
    requests: dict[str, Request]
    if model.kind == "any":  # a coin, which answers any request and has no surprisal
        return {}
    if Continuation in model.can:
        requests = {key: Continuation("", text) for key, text in texts.items()}
    elif by_name and PseudoLikelihood in model.can:
        requests = {key: PseudoLikelihood(text, 0, len(text)) for key, text in texts.items()}
    else:
        return {}
    answers = answer_all(model, requests.values(), cache)
    split_of = {problem.id: language_of(problem.language).split for problem in dataset}
    surprisals = {}
    for key, request in requests.items():
        answer = answers[request]
        if not isinstance(answer, Refusal):
            words = split_of[key](texts[key])
            surprisals[key] = -total(answer) / max(len(words), 1)
    return surprisals


@protocol(asks=surprisal)
def naturalness(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy on the likeliest, middle and unlikeliest texts, and their gap.

    They are thirds of the problems by surprisal, the likeliest with the lowest. Without surprisals there are no rows,
    and all problems are recorded as left out.
    """
    surprisals = sheet.asked.get("naturalness")
    if not surprisals:
        reason = "no surprisal: it needs a causal model, or a masked one and --protocol naturalness"
        sheet.leave_out("naturalness", "all", reason, len(sheet.dataset))
        return
    everything = sheet.answers()
    has_surprisal = flags(name in surprisals for name in everything.ids)
    answers = everything.subset(has_surprisal)
    values = [surprisals[name] for name in answers.ids]
    thirds = np.array_split(np.argsort(values, kind="stable"), 3)
    for name, rows in zip(("likely", "middling", "unlikely"), thirds, strict=True):
        yield from sheet.accuracy("naturalness", name, answers.subset(rows))
    ends = np.concatenate([thirds[0], thirds[-1]])
    is_likely = np.arange(len(ends)) < len(thirds[0])
    gap_name = ("naturalness", "all", "likely_minus_unlikely")
    yield from sheet.gap(gap_name, answers.subset(ends), is_likely)
    row_name = ("naturalness", "all", "surprisal_per_word")
    n = answers.problem_count
    yield from sheet.judge.mean(row_name, values, answers.units, n=n)
