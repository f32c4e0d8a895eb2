"""Asking: the problem as a question, for models that follow instructions.

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
    """Lettered questions in the orders that are asked for, or one open question."""
    is_reversed = _order_of(setting) == REVERSED
    if problem.query is not None:
        return (Ask(open_question(problem, setting.prompt, is_reversed=is_reversed), ("no", "yes")),)
    if not _is_lettered(problem, setting):
        question = open_question(problem, setting.prompt, is_reversed=is_reversed)
        return (Ask(_examples(setting, lettered=False) + question, problem.candidates),)
    examples = _examples(setting, lettered=True)
    count = len(problem.candidates)
    questions = []
    for order in _orders(problem, setting):
        shown = [problem.candidates[index] for index in order]
        questions.append((shown, lettered_question(problem, shown, setting.prompt)))
    return tuple(
        Ask(examples + question, tuple(LETTERS[:count]), tuple((option,) for option in shown))
        for shown, question in questions
    )


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Mean over the orders of each candidate's log-probability, or of the answers that name it."""
    count = len(problem.candidates)
    replies = [(order, _reply(answer)) for order, answer in zip(_orders(problem, setting), answers, strict=True)]
    readable = [(order, reply) for order, reply in replies if reply.logprobs is not None or reply.choice is not None]
    if not readable:
        why = next((reply.why for _, reply in replies if reply.why), "no readable answer")
        said = "" if why == UNFINISHED else " / ".join(answer_in(reply.text) or reply.text for _, reply in replies)
        raise Abstain(f"{why}: {said[:200]!r}" if said else why)
    # Log-probabilities and votes have different scales: where one order has no log-probabilities, both vote.
    by_vote = any(reply.logprobs is None for _, reply in readable)
    values = [(order, _votes(reply, count) if by_vote else list(reply.logprobs or ())) for order, reply in readable]
    return tuple(float(np.mean([given[order.index(index)] for order, given in values])) for index in range(count))


def _votes(reply: Reply, count: int) -> list[float]:
    """1 for the option chosen, 0 for the others."""
    chosen = reply.choice if reply.logprobs is None else int(np.argmax(reply.logprobs))
    return [float(index == chosen) for index in range(count)]


def _reply(answer: Answer) -> Reply:
    if not isinstance(answer, Reply):
        raise TypeError(f"expected a reply, found {type(answer).__name__}")
    return answer


def _order_of(setting: Setting) -> str:
    """The order that is asked for, one of ORDERS."""
    order = setting.options.get("order", BOTH)
    check_known("order for ?order=", order, ORDERS)
    return order


def _is_lettered(problem: Problem, setting: Setting) -> bool:
    """Whether the candidates are listed by letters, and a reply names one."""
    return problem.query is None and setting.kind in ("chat", "any")


def _orders(problem: Problem, setting: Setting) -> list[tuple[int, ...]]:
    """The order of the candidates in each question that is asked."""
    as_given = tuple(range(len(problem.candidates)))
    if not _is_lettered(problem, setting):
        return [as_given]
    orders = {GIVEN: as_given, REVERSED: as_given[::-1]}
    order = _order_of(setting)
    return list(orders.values()) if order == BOTH else [orders[order]]


def lettered_question(problem: Problem, shown: Sequence[str], prompt: PromptTemplate | None = None) -> str:
    """The question with lettered options."""
    prompt = _checked(problem, prompt) or (WHOLE_LETTERED if problem.is_whole else LETTERED)
    prompt.require("options")
    options = "\n".join(f"{letter}. {candidate}" for letter, candidate in zip(LETTERS, shown, strict=False))
    return prompt.fill(**_question(problem), options=options, letters=_or(LETTERS[: len(shown)]))


def open_question(problem: Problem, prompt: PromptTemplate | None = None, *, is_reversed: bool = False) -> str:
    """The question without letters."""
    options = problem.candidates if problem.query is None else ("yes", "no")
    if is_reversed:
        options = options[::-1]
    prompt = _checked(problem, prompt) or (WHOLE_OPEN if problem.is_whole else OPEN)
    return prompt.fill(**_question(problem), options="\n".join(options), letters=_or(options))


def _checked(problem: Problem, prompt: PromptTemplate | None) -> PromptTemplate | None:
    """A user's template, which must have the text in it: whole texts stand among the options."""
    if prompt is not None:
        prompt.require("options" if problem.is_whole else "sentence")
    return prompt


def _or(names: Sequence[str]) -> str:
    """Names to choose from, as in "A, B or C"."""
    return " or ".join((", ".join(names[:-1]), names[-1]))


def _question(problem: Problem) -> dict[str, str]:
    """The sentence and what is asked of it; asterisks tell its pronoun from another of the same letters."""
    if problem.is_whole:
        return {"sentence": "", "question": "Which of these texts is the most acceptable?"}
    if problem.pronoun is None:
        return {"sentence": problem.text.strip(), "question": "Which of these fills the blank (_)?"}
    if problem.query is not None:
        question = f"Does *{problem.pronoun}* refer to {problem.query!r}? Answer yes or no."
    else:
        question = f"What does the marked word *{problem.pronoun}* refer to?"
    return {"sentence": f"{problem.before}*{problem.pronoun}*{problem.after}".strip(), "question": question}


def _examples(setting: Setting, *, lettered: bool) -> str:
    """Solved questions to go before, with alternating right letters as the order of candidates has them."""
    parts = []
    for shot in setting.shots:
        right = shot.answer or 0
        prompt = setting.prompt
        question = lettered_question(shot, shot.candidates, prompt) if lettered else open_question(shot, prompt)
        answer = LETTERS[right] if lettered else substitute(shot, shot.candidates[right]).candidate
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
