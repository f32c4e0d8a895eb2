"""Trichelair et al. (2018), Tables 2 and 3: WSC273 with the candidates switched, and by associativity.

Where a model abstains the accuracy is the expected one, as in the paper. Switched sentences are the authors': with
their capitals mended, and beside that as released, which lower-cases most names, and a language model minds.

    python runs/trichelair_tables.py --model hf:DIR --model ensemble:hf:DIR+ngram:FILE --model hunter:INDEX
"""

from __future__ import annotations

from collections.abc import Sequence

from common import Options, Outcome, judged, named, percent, predicted, row, rows_of, run, short, table

from winokit.drawing.protocols import CITATIONS
from winokit.methods.metrics.accuracy import expected_accuracy
from winokit.methods.metrics.consistency import consistency
from winokit.methods.transforms.switch import switch
from winokit.problem import Dataset, Problem
from winokit.stages.audit.published import published

SWITCHING = ("all", "unswitched", "switched", "consistency", "switched, as released", "consistency, as released")
ASSOCIATION = ("associative", "the rest")
PRINTED = {
    ("accuracy", "all", "accuracy"): "all",
    ("switching", "switchable", "accuracy"): "unswitched",
    ("switching", "switchable", "switched_accuracy"): "switched, as released",
    ("switching", "switchable", "consistency"): "consistency, as released",
    ("association", "associative", "accuracy"): "associative",
    ("association", "non_associative", "accuracy"): "the rest",
}


def experiment(options: Options) -> Outcome:
    """Both tables, the paper's rows first."""
    wsc = options.wsc273()
    facts = [fact for fact in published("wsc273") if fact.source is CITATIONS["TRICHELAIR"]]
    values: dict[str, dict[str, float]] = {f"{fact.system}, paper": {} for fact in facts}
    for fact in facts:
        values[f"{fact.system}, paper"][PRINTED[fact.protocol, fact.subset, fact.metric]] = fact.value
    rows = []
    for spec in options.models:
        found = judged(wsc, spec, options, protocols=("accuracy", "association", "luck"))
        chosen = {one.id: one.prediction for one in found.predictions}
        shares = measured(wsc, chosen, spec, options)
        values[short(spec)] = {name: value for name, (value, _) in shares.items()}
        rows += rows_of(found)
        rows += [row(wsc.card.name, spec, "tables", "expected", name, *share) for name, share in shares.items()]
    tables = [
        table(["model", *names], [(who, *(percent(some.get(name)) for name in names)) for who, some in values.items()])
        for names in (SWITCHING, ASSOCIATION)
    ]
    return Outcome(tables, rows)


def measured(wsc: Dataset, chosen: dict[str, int | None], spec: str, options: Options) -> dict[str, tuple[float, int]]:
    """Every column of both tables, with the number of problems."""
    found = {"all": expected(wsc, chosen)}
    for style, suffix in (("paper", ", as released"), ("mended", "")):
        tried = (switch(problem, style=style) for problem in wsc if problem.labels["switchable"])
        switched = named(wsc, f"switched, {style}", tried)
        after = {one.id: one.prediction for one in predicted(switched, spec, options)}
        before = [problem for problem in wsc if problem.id in after]
        pairs = [(chosen[problem.id], after[problem.id]) for problem in before]
        found.setdefault("unswitched", expected(before, chosen))
        found[f"switched{suffix}"] = expected(switched, after)
        kept = consistency([one for one, _ in pairs], [other for _, other in pairs])
        found[f"consistency{suffix}"] = kept, len(pairs)
    for name, wanted in zip(ASSOCIATION, (True, False), strict=True):
        found[name] = expected([problem for problem in wsc if problem.labels["associative"] is wanted], chosen)
    return found


def expected(problems: Sequence[Problem], chosen: dict[str, int | None]) -> tuple[float, int]:
    """Accuracy with abstentions as coins, and the number of problems."""
    choices = [chosen[str(problem.provenance.get("of") or problem.id)] for problem in problems]
    answers = [problem.answer or 0 for problem in problems]
    return expected_accuracy(choices, answers, [len(problem.candidates) for problem in problems]), len(answers)


if __name__ == "__main__":
    run(experiment, __doc__)
