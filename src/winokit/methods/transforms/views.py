"""The same problems in another form: `--as binary`, `--as choice`, `--as judgements`.

PDP's 60 problems with up to five candidates are the 80 binary ones that the papers count; SuperGLUE-WSC's yes/no
judgements about one pronoun are one problem with the queried spans as candidates, and the other way round.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from winokit.problem import NO_BLANK, Dataset, Problem, grouped


def binary(dataset: Dataset) -> Dataset:
    """One problem for each right candidate and distractor, in the candidates' order; binary problems stay."""
    hidden = [problem for problem in dataset if len(problem.candidates) > 2 and problem.answer is None]
    notes = [f"{len(hidden)} problems have no answer to set against each distractor; left out"] if hidden else []
    return dataset.with_problems((made for problem in dataset for made in _pairs(problem)), notes)


def _pairs(problem: Problem) -> Iterable[Problem]:
    if len(problem.candidates) == 2:
        yield problem
    elif problem.answer is not None:
        for index, candidate in enumerate(problem.candidates):
            if index < problem.answer:
                yield problem.replace(candidates=(candidate, problem.right), answer=1)
            elif index > problem.answer:
                yield problem.replace(candidates=(problem.right, candidate), answer=0)


def siblings(dataset: Iterable[Problem]) -> Iterable[list[Problem]]:
    """Judgements about the same pronoun of the same sentence, together; problems with candidates by themselves."""
    together = grouped(((p.before, p.pronoun, p.after, p.id if p.query is None else None), p) for p in dataset)
    return together.values()


def choice(dataset: Dataset) -> Dataset:
    """Merge the judgements of one sentence and pronoun; what cannot be merged is counted in the notes by its reason."""
    made: list[Problem] = []
    refused: Counter[str] = Counter()
    for rows in siblings(dataset):
        merged = rows[0] if rows[0].query is None else _merged(rows)
        if isinstance(merged, Problem):
            made.append(merged)
        else:
            refused[merged] += len(rows)
    return dataset.with_problems(made, [f"{count} judgements not merged: {why}" for why, count in refused.items()])


def _merged(rows: Sequence[Problem]) -> Problem | str:
    """One problem from judgements about one pronoun, or why not."""
    verdicts: dict[str, set[int | None]] = defaultdict(set)
    spelled: dict[str, str] = {}
    for row in rows:
        key = (row.query or "").casefold()
        spelled.setdefault(key, row.query or "")
        verdicts[key].add(row.answer)
    if any(len(answers) > 1 for answers in verdicts.values()):
        return "the same span is judged both yes and no"
    if len(verdicts) < 2:
        return "only one span is asked about"
    labelled = [answers.pop() for answers in verdicts.values()]
    right = [index for index, answer in enumerate(labelled) if answer == 1]
    if len(right) > 1:
        return "more than one span is right"
    if not right and None not in labelled:
        return "no span is right"
    labels = {key: value for key, value in rows[0].labels.items() if key != "span1_index"}
    return rows[0].replace(
        candidates=tuple(spelled.values()), answer=right[0] if right else None, query=None, labels=labels
    )


def judgements(dataset: Dataset) -> Dataset:
    """One yes/no problem for each candidate of each problem; judgements stay as they are, whole texts have none."""
    whole = sum(problem.is_whole for problem in dataset)
    made = (
        problem
        if problem.query is not None
        else problem.replace(
            candidates=("no", "yes"),
            query=candidate,
            answer=None if problem.answer is None else int(index == problem.answer),
            group=None,
        )
        for problem in dataset
        if not problem.is_whole
        for index, candidate in enumerate(problem.candidates if problem.query is None else [""])
    )
    return dataset.with_problems(made, [f"{whole:,} not judged: {NO_BLANK}"] if whole else [])


VIEWS = {"binary": binary, "choice": choice, "judgements": judgements}
