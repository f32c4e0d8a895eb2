"""Measure how much attackers learn of a hidden test from its gradings: `python benchmarks/ladder.py`.

A *guesser* sends in random answers, twins opposite, and lets them vote by the scores that are shown (Blum and Hardt's
boosting attack). A *booster* knows half of the pairs for certain, which lifts it over the lowest score, and does the
same with the other half. A *reader* knows as much, turns one pair of the other half at a time, and keeps what raises
the score. A *solver* knows half, or 85 %, sends in guesses of the rest, and solves for these by ridge regression, with
the noise of a step for its penalty: what is not shown is left out, and not taken for a score. Each asks under one name,
up to what a name may; under a new name every time, up to the budget of the test; and as often again where exact scores
are shown. Printed is the share of right pairs, among those that the attacker did not know: 0.5 is what guessing gets.

Last, a public board of two entries that differ in pairs the attacker knows, as many as serve it best, and in one that
it does not: how often "distinguishable" tells that one, with the margin that the secret draws and without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winokit.methods.metrics.judge_graded import lead_of
from winokit.stages.grade.ladder import MARGIN, LadderRules, rules_of, steps_of, to_step
from winokit.units import Units

NOTHING = 0.5
"""The score that an attacker assumes if none is shown."""
Signs = NDArray[np.float64]
Shown = Callable[[Signs], float | None]
"""The score of a submission that is shown for these outcomes (1 right, -1 wrong, for each pair), if any is."""
Attack = Callable[[Signs, Shown, int, np.random.Generator], float]


def ladder(rules: LadderRules, rng: np.random.Generator, *, one_name: bool) -> Shown:
    """Return a function that shows scores as a ladder does, rounded at random to a step.

    With `one_name`, only scores above the best so far are shown, otherwise None.
    """
    best = 0.0

    def shown(right: Signs) -> float | None:
        nonlocal best
        value = to_step(float((right > 0).mean()), rules.steps, rng.random())
        if value < rules.lowest or value <= best:
            return None
        best = value if one_name else 0.0
        return value

    return shown


def exact(right: Signs) -> float:
    """Share of pairs that are right, which a board without a ladder would show."""
    return float((right > 0).mean())


def guesser(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    """Attack by random answers that vote by their scores, and return the share of pairs it has right."""
    return _collect_votes(truth, 0, ask, budget, rng)


def booster(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    """Attack like `guesser` with half of the pairs known, and return the share of the other half it has right."""
    return _collect_votes(truth, len(truth) // 2, ask, budget, rng)


def _collect_votes(truth: Signs, known_count: int, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    """Send in random answers beside the known pairs, and return the share of the others that their vote has right."""
    guesses = []
    values = []
    for _ in range(budget):
        guess = rng.choice([-1.0, 1.0], len(truth))
        guess[:known_count] = truth[:known_count]
        value = ask(guess * truth)
        guesses.append(guess)
        values.append(NOTHING if value is None else value)
    weights = np.array(values) - np.mean(values)
    tie_breakers = rng.normal(size=len(truth)) * 1e-9
    votes = weights @ np.array(guesses) + tie_breakers
    return exact((np.sign(votes) * truth)[known_count:])


def reader(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    """Attack by changing one unknown pair after the other, and keep what raises the score.

    Half of the pairs are known. Returns the share of the others that it has right.
    """
    known_count = len(truth) // 2
    guess = rng.choice([-1.0, 1.0], len(truth) - known_count)
    answers = np.concatenate([truth[:known_count], guess])
    best = ask(answers * truth) or NOTHING
    for pair in range(known_count, min(known_count + budget - 1, len(truth))):
        changed = answers.copy()
        changed[pair] *= -1
        value = ask(changed * truth) or NOTHING
        if value > best:
            answers = changed
            best = value
    return exact((answers * truth)[known_count:])


def solver(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator, share: float) -> float:
    """Attack by ridge regression on the scores that are shown, with a share of the pairs known.

    Returns the share of the others that it has right.
    """
    known_count = round(share * len(truth))
    unknown = truth[known_count:]
    guesses = []
    scores = []
    for guess in rng.choice([-1.0, 1.0], (budget, len(unknown))):
        score = ask(np.concatenate([np.ones(known_count), guess * unknown]))
        if score is not None:
            guesses.append(guess)
            scores.append(score)
    if not scores:
        return exact(rng.choice([-1.0, 1.0], len(unknown)))
    design = np.array(guesses) / (2 * len(truth))
    surplus = np.array(scores) - (known_count + len(unknown) / 2) / len(truth)
    # A coin rounds to a step with a standard deviation of up to half of it; answers are ±1 beforehand.
    noise = (1 / (2.4 * steps_of(2 * len(truth)))) ** 2
    covariance = design @ design.T + noise * np.eye(len(scores))
    answers = design.T @ np.linalg.solve(covariance, surplus)
    return exact(np.sign(answers) * unknown)


ATTACKS: dict[str, Attack] = {
    "guesser": guesser,
    "booster": booster,
    "reader": reader,
    "solver, half": partial(solver, share=0.5),
    "solver, 85 %": partial(solver, share=0.85),
}


def main() -> None:
    """Print a table of attacks, and the lines on a board of two."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--pairs", type=int, nargs="+", default=[16, 32, 192, 884])
    parser.add_argument("--quick", action="store_true", help="5 runs on 16 pairs")
    options = parser.parse_args()
    if options.quick:
        options.runs = 5
        options.pairs = [16]
    heading = "".join(f"{name:>16}" for name in ("one name", "new names", "exact scores"))
    print(f"{'pairs':>6} {'budget':>6} {'step':>6} {'lowest':>7}  {'attacker':12}{heading}")
    for pairs in options.pairs:
        rules = rules_of(2 * pairs, pairs)
        for name, attack in ATTACKS.items():
            cells = "".join(_run_attack(attack, pairs, rules, kind, options.runs) for kind in ("one", "new", "exact"))
            facts = f"{pairs:6} {rules.budget:6} {1 / rules.steps:6.1%} {rules.lowest:7.1%}"
            print(f"{facts}  {name:12}{cells}")
    for pairs in options.pairs:
        with_margin = read_off_a_board(pairs, draws=41)
        without = read_off_a_board(pairs, draws=1)
        print(
            f"{pairs:6} pairs, a board of two tells an unknown one: {with_margin:.3f}; without a margin {without:.3f}"
        )


def read_off_a_board(pairs: int, draws: int) -> float:
    """Share of boards that tell an unknown pair, with the number of known pairs that serves the attacker best.

    `draws` is the number of margins tried, evenly spaced. One draw means no margin.
    """
    units = Units(np.repeat(np.arange(pairs), 2))
    margins = np.linspace(0, MARGIN / steps_of(2 * pairs), draws)

    def distinguished(ahead: int, *, is_right: bool) -> float:
        first = np.ones(2 * pairs)
        second = np.ones(2 * pairs)
        second[: 2 * ahead] = 0
        wrong = second if is_right else first
        wrong[2 * ahead : 2 * ahead + 2] = 0
        p_values = np.array([lead_of(first, second, units, margin).p for margin in margins])
        return float(np.mean(p_values < 0.05))

    gaps = []
    for ahead in range(4, min(pairs // 2, 40)):
        gaps.append(distinguished(ahead, is_right=True) - distinguished(ahead, is_right=False))
    return 0.5 + max(gaps) / 2


def _run_attack(attack: Attack, pairs: int, rules: LadderRules, kind: str, runs: int) -> str:
    """Run an attack many times, and write the mean share of right pairs with its standard error.

    `kind` is "one" (name), "new" (names) or "exact" (scores).
    """
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(runs):
        ask = exact if kind == "exact" else ladder(rules, rng, one_name=kind == "one")
        budget = rules.per_name if kind == "one" else rules.budget
        shares.append(attack(rng.choice([-1.0, 1.0], pairs), ask, budget, rng))
    return f"{np.mean(shares):9.3f} ±{np.std(shares) / np.sqrt(runs):.3f}"


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
