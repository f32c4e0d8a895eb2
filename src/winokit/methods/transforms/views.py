"""The same problems in other forms: `--as binary`, `--as choice`, `--as judgements`.

PDP's 60 problems with up to five candidates become the 80 binary ones that the papers count. SuperGLUE-WSC's yes/no
judgements about one pronoun become one problem whose candidates are the queried spans, and the other way round.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from winokit.problem import NO_BLANK, Dataset, Problem, grouped


def binary(dataset: Dataset) -> Dataset:
    """Return a problem with two candidates for each wrong candidate.

    The candidates are this one and the right one. The two keep their order. Problems with two candidates stay as they
    are. Problems with more candidates and a hidden answer are left out, and a note has their number.
    """
    hidden_count = sum(len(problem.candidates) > 2 and problem.answer is None for problem in dataset)
    notes = []
    if hidden_count:
        notes.append(f"{hidden_count} problems have no answer to set against each distractor; left out")
    pairs = chain.from_iterable(map(_make_pairs, dataset))
    return dataset.with_problems(pairs, notes)


def _make_pairs(problem: Problem) -> Iterable[Problem]:
    """Yield a two-candidate problem for each wrong candidate."""
    if len(problem.candidates) == 2:
        yield problem
    elif problem.answer is not None:
        for index, candidate in enumerate(problem.candidates):
            if index < problem.answer:
                yield problem.replace(candidates=(candidate, problem.right), answer=1)
            elif index > problem.answer:
                yield problem.replace(candidates=(problem.right, candidate), answer=0)


def siblings(dataset: Iterable[Problem]) -> Iterable[list[Problem]]:
    """Group yes/no judgements about the same pronoun of a sentence.

    A problem with candidates is in a list by itself.
    """
    keyed_problems = []
    for problem in dataset:
        distinct_id = problem.id if problem.query is None else None
        key = (problem.before, problem.pronoun, problem.after, distinct_id)
        keyed_problems.append((key, problem))
    return grouped(keyed_problems).values()


def choice(dataset: Dataset) -> Dataset:
    """Merge the yes/no judgements about each pronoun into one problem with candidates.

    Problems with candidates stay as they are. Judgements that cannot be merged are left out, and notes have their
    number by reason.
    """
    choices: list[Problem] = []
    refused: Counter[str] = Counter()
    for rows in siblings(dataset):
        is_choice = rows[0].query is None
        merged = rows[0] if is_choice else _merge_judgements(rows)
        if isinstance(merged, Problem):
            choices.append(merged)
        else:
            refused[merged] += len(rows)
    notes = [f"{count} judgements not merged: {reason}" for reason, count in refused.items()]
    return dataset.with_problems(choices, notes)


def _merge_judgements(rows: Sequence[Problem]) -> Problem | str:
    """Merge judgements about one pronoun, or return the reason why not."""
    answers_by_span: dict[str, set[int | None]] = defaultdict(set)
    spellings: dict[str, str] = {}
    for row in rows:
        span = (row.query or "").casefold()
        spellings.setdefault(span, row.query or "")
        answers_by_span[span].add(row.answer)
    if any(len(answers) > 1 for answers in answers_by_span.values()):
        return "the same span is judged both yes and no"
    if len(answers_by_span) < 2:
        return "only one span is asked about"
    verdicts = [answers.pop() for answers in answers_by_span.values()]
    right_indices = [index for index, verdict in enumerate(verdicts) if verdict == 1]
    if len(right_indices) > 1:
        return "more than one span is right"
    if not right_indices and None not in verdicts:
        return "no span is right"
    first = rows[0]
    labels = {key: value for key, value in first.labels.items() if key != "span1_index"}
    answer = right_indices[0] if right_indices else None
    return first.replace(candidates=tuple(spellings.values()), answer=answer, query=None, labels=labels)


def judgements(dataset: Dataset) -> Dataset:
    """Return a yes/no judgement for each candidate of each problem.

    Judgements stay as they are. Problems whose candidates are whole texts are left out, and a note has their number.
    """
    whole_count = sum(problem.is_whole for problem in dataset)
    notes = [f"{whole_count:,} not judged: {NO_BLANK}"] if whole_count else []
    with_blank = (problem for problem in dataset if not problem.is_whole)
    judgement_problems = chain.from_iterable(map(_make_judgements, with_blank))
    return dataset.with_problems(judgement_problems, notes)


def _make_judgements(problem: Problem) -> Iterable[Problem]:
    """Yield a yes/no judgement for each candidate, or the judgement itself."""
    if problem.query is not None:
        yield problem
        return
    for index, candidate in enumerate(problem.candidates):
        answer = None if problem.answer is None else int(index == problem.answer)
        yield problem.replace(candidates=("no", "yes"), query=candidate, answer=answer, group=None)


VIEWS = {"binary": binary, "choice": choice, "judgements": judgements}
