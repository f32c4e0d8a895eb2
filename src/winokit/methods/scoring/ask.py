"""Ask the problem as a question, for models that follow instructions.

Chat models get lettered options in both orders, and a candidate's score is its mean over the two: a preference for
"A" cancels out. Where a server gives no log-probabilities the parsed answer counts 1; two answers that contradict
each other are a tie, and a refusal, an unreadable answer or an unfinished thought in both is an abstention. Other
models (seq2seq, causal) score the candidates themselves as answers, by summed log-probability, in one order: nothing is
lettered there. `ask?order=given` and `ask?order=reversed` list the candidates in one order only.
"""

from collections.abc import Sequence

import numpy as np

from winokit.errors import check_known
from winokit.methods.scoring.base import Abstain, Scoring, Setting
from winokit.methods.scoring.prompts import LETTERED, OPEN, WHOLE_LETTERED, WHOLE_OPEN, PromptTemplate
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Answer, Ask, Reply, Request
from winokit.models.thoughts import UNFINISHED, answer_in
from winokit.problem import Problem

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BOTH = "both"
GIVEN = "given"
REVERSED = "reversed"
ORDERS = (BOTH, GIVEN, REVERSED)
"""Orders in which candidates are listed, for `?order=`."""


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Make the questions about a problem.

    One with lettered options for each order of candidates, or a single one without letters.
    """
    is_reversed = _get_order(setting) == REVERSED
    if problem.query is not None:
        return (Ask(open_question(problem, setting.prompt, is_reversed=is_reversed), ("no", "yes")),)
    if not _is_lettered(problem, setting):
        question = open_question(problem, setting.prompt, is_reversed=is_reversed)
        return (Ask(_write_examples(setting, lettered=False) + question, problem.candidates),)
    examples = _write_examples(setting, lettered=True)
    letters = tuple(LETTERS[: len(problem.candidates)])
    requests: list[Request] = []
    for order in _list_orders(problem, setting):
        listed = [problem.candidates[index] for index in order]
        question = lettered_question(problem, listed, setting.prompt)
        aliases = tuple((candidate,) for candidate in listed)
        requests.append(Ask(examples + question, letters, aliases))
    return tuple(requests)


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Score of each candidate: its mean over the orders of candidates.

    It is the mean log-probability of its letter (of the candidate itself where nothing is lettered), or of votes if
    some reply has no log-probabilities. A reply that cannot be read is left out of the mean. Raises Abstain if none
    can be read.
    """
    count = len(problem.candidates)
    replies = list(map(_check_reply, answers))
    readable: list[tuple[tuple[int, ...], Reply]] = []
    for order, reply in zip(_list_orders(problem, setting), replies, strict=True):
        if reply.logprobs is not None or reply.choice is not None:
            readable.append((order, reply))
    if not readable:
        raise Abstain(_explain_silence(replies))
    # Log-probabilities and votes have different scales: where one order has no log-probabilities, both vote.
    by_vote = any(reply.logprobs is None for _, reply in readable)
    by_candidate: list[list[float]] = [[] for _ in range(count)]
    for order, reply in readable:
        values = _count_votes(reply, count) if by_vote else reply.logprobs or ()
        for index in range(count):
            by_candidate[index].append(values[order.index(index)])
    return tuple(float(np.mean(values)) for values in by_candidate)


def _explain_silence(replies: Sequence[Reply]) -> str:
    """Say why no reply can be read, and quote the replies.

    A thought that was cut off is not quoted.
    """
    reason = next((reply.why for reply in replies if reply.why), "no readable answer")
    if reason == UNFINISHED:
        return reason
    text = " / ".join(answer_in(reply.text) or reply.text for reply in replies)
    return f"{reason}: {text[:200]!r}" if text else reason


def _count_votes(reply: Reply, count: int) -> Sequence[float]:
    """1 for the option that a reply chooses, 0 for the others.

    A reply with log-probabilities chooses the likeliest. `count` is the number of options.
    """
    chosen = reply.choice if reply.logprobs is None else int(np.argmax(reply.logprobs))
    return [float(index == chosen) for index in range(count)]


def _check_reply(answer: Answer) -> Reply:
    """Return an answer that must be a reply, or raise TypeError."""
    if not isinstance(answer, Reply):
        raise TypeError(f"expected a reply, found {type(answer).__name__}")
    return answer


def _get_order(setting: Setting) -> str:
    """Order of candidates that the options ask for, one of ORDERS."""
    order = setting.options.get("order", BOTH)
    check_known("order for ?order=", order, ORDERS)
    return order


def _is_lettered(problem: Problem, setting: Setting) -> bool:
    """Whether candidates are listed with letters, of which a reply names one."""
    return problem.query is None and setting.kind in ("chat", "any")


def _list_orders(problem: Problem, setting: Setting) -> list[tuple[int, ...]]:
    """Order of candidates in each question, as tuples of indices."""
    as_given = tuple(range(len(problem.candidates)))
    if not _is_lettered(problem, setting):
        return [as_given]
    orders = {GIVEN: as_given, REVERSED: as_given[::-1]}
    order = _get_order(setting)
    return list(orders.values()) if order == BOTH else [orders[order]]


def lettered_question(problem: Problem, shown: Sequence[str], prompt: PromptTemplate | None = None) -> str:
    """Write a question with the candidates `shown` as lettered options.

    Without a `prompt` it has the usual wording.
    """
    prompt = _check_prompt(problem, prompt) or (WHOLE_LETTERED if problem.is_whole else LETTERED)
    prompt.require("options")
    letters = LETTERS[: len(shown)]
    lines = [f"{letter}. {candidate}" for letter, candidate in zip(letters, shown, strict=False)]
    question = _build_question(problem)
    return prompt.fill(**question, options="\n".join(lines), letters=_join_names(letters))


def open_question(problem: Problem, prompt: PromptTemplate | None = None, *, is_reversed: bool = False) -> str:
    """Write a question whose answer is a candidate, or yes or no.

    Without a `prompt` it has the usual wording, which lists no answers unless the problem is a choice of whole texts.
    `is_reversed` lists them in reverse order, where they are listed.
    """
    options = problem.candidates if problem.query is None else ("yes", "no")
    if is_reversed:
        options = options[::-1]
    prompt = _check_prompt(problem, prompt) or (WHOLE_OPEN if problem.is_whole else OPEN)
    return prompt.fill(**_build_question(problem), options="\n".join(options), letters=_join_names(options))


def _check_prompt(problem: Problem, prompt: PromptTemplate | None) -> PromptTemplate | None:
    """Return a user's template after checking that it shows the problem.

    The template needs a place for the sentence, or for the options if these are whole texts.
    """
    if prompt is not None:
        prompt.require("options" if problem.is_whole else "sentence")
    return prompt


def _join_names(names: Sequence[str]) -> str:
    """Join names as in "A, B or C"."""
    return " or ".join((", ".join(names[:-1]), names[-1]))


def _build_question(problem: Problem) -> dict[str, str]:
    """Write the sentence and the question about it, as template values.

    If the problem has a pronoun, asterisks mark it and the question is what it refers to. Otherwise the question is
    what fills the blank. Whole texts have an empty sentence, and the question is which of them is acceptable.
    """
    if problem.is_whole:
        return {"sentence": "", "question": "Which of these texts is the most acceptable?"}
    if problem.pronoun is None:
        return {"sentence": problem.text.strip(), "question": "Which of these fills the blank (_)?"}
    if problem.query is not None:
        question = f"Does *{problem.pronoun}* refer to {problem.query!r}? Answer yes or no."
    else:
        question = f"What does the marked word *{problem.pronoun}* refer to?"
    sentence = f"{problem.before}*{problem.pronoun}*{problem.after}"
    return {"sentence": sentence.strip(), "question": question}


def _write_examples(setting: Setting, *, lettered: bool) -> str:
    """Write solved questions to put before the question.

    Empty without shots.
    """
    parts = []
    for shot in setting.shots:
        right = shot.answer or 0
        if lettered:
            question = lettered_question(shot, shot.candidates, setting.prompt)
            answer = LETTERS[right]
        else:
            question = open_question(shot, setting.prompt)
            answer = substitute(shot, shot.candidates[right]).candidate
        space = "" if question[-1:].isspace() else " "
        parts.append(f"{question}{space}{answer}\n\n")
    return "".join(parts)


ASK = Scoring(
    "ask",
    "a question in both candidate orders (chat), or with the candidates as answers; ?order=given, ?order=reversed",
    (Ask,),
    ask,
    judge,
    takes_shots=True,
    takes_prompt=True,
    substitutes=False,
    both_orders=True,
    options=("order",),
)
