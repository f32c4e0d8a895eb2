"""What an attacker learns of a hidden test from its gradings, within the budget: `python benchmarks/ladder.py`.

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
"""What an attacker takes a score for that is not shown."""
Signs = NDArray[np.float64]
Shown = Callable[[Signs], float | None]
"""The score of a submission that is shown for these outcomes (1 right, -1 wrong, for each pair), if any is."""
Attack = Callable[[Signs, Shown, int, np.random.Generator], float]


def ladder(rules: LadderRules, rng: np.random.Generator, *, one_name: bool) -> Shown:
    """Scores at a step: under one name only where they are above the best so far."""
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
    """Scores as they are."""
    return float((right > 0).mean())


def guesser(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    """Random answers vote by the scores they get."""
    return _voted(truth, 0, ask, budget, rng)


def booster(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    """The same beside a half that is known."""
    return _voted(truth, len(truth) // 2, ask, budget, rng)


def _voted(truth: Signs, known: int, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    guesses, values = [], []
    for _ in range(budget):
        guess = rng.choice([-1.0, 1.0], len(truth))
        guess[:known] = truth[:known]
        value = ask(guess * truth)
        guesses.append(guess)
        values.append(NOTHING if value is None else value)
    votes = (np.array(values) - np.mean(values)) @ np.array(guesses) + rng.normal(size=len(truth)) * 1e-9
    return exact((np.sign(votes) * truth)[known:])


def reader(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator) -> float:
    """One unknown pair after the other is turned, and stays so if the score rises."""
    known = len(truth) // 2
    answers = np.concatenate([truth[:known], rng.choice([-1.0, 1.0], len(truth) - known)])
    best = ask(answers * truth) or NOTHING
    for pair in range(known, min(known + budget - 1, len(truth))):
        turned = answers.copy()
        turned[pair] *= -1
        value = ask(turned * truth) or NOTHING
        if value > best:
            answers, best = turned, value
    return exact((answers * truth)[known:])


def solver(truth: Signs, ask: Shown, budget: int, rng: np.random.Generator, share: float) -> float:
    """A share is known; guesses of the rest are solved for by ridge regression on the scores that are shown."""
    known = round(share * len(truth))
    rest = truth[known:]
    tries = rng.choice([-1.0, 1.0], (budget, len(rest)))
    asked = [(guess, ask(np.concatenate([np.ones(known), guess * rest]))) for guess in tries]
    shown = [(guess, value) for guess, value in asked if value is not None]
    if not shown:
        return exact(rng.choice([-1.0, 1.0], len(rest)))
    guesses = np.array([guess for guess, _ in shown]) / (2 * len(truth))
    scores = np.array([value for _, value in shown]) - (known + len(rest) / 2) / len(truth)
    # A coin rounds to a step with a standard deviation of up to half of it; answers are ±1 beforehand.
    noise = (1 / (2.4 * steps_of(2 * len(truth)))) ** 2
    answers = guesses.T @ np.linalg.solve(guesses @ guesses.T + noise * np.eye(len(shown)), scores)
    return exact(np.sign(answers) * rest)


ATTACKS: dict[str, Attack] = {
    "guesser": guesser,
    "booster": booster,
    "reader": reader,
    "solver, half": partial(solver, share=0.5),
    "solver, 85 %": partial(solver, share=0.85),
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--pairs", type=int, nargs="+", default=[16, 32, 192, 884])
    parser.add_argument("--quick", action="store_true", help="5 runs on 16 pairs")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.pairs = 5, [16]
    heading = "".join(f"{name:>16}" for name in ("one name", "new names", "exact scores"))
    print(f"{'pairs':>6} {'budget':>6} {'step':>6} {'lowest':>7}  {'attacker':12}{heading}")
    for pairs in options.pairs:
        rules = rules_of(2 * pairs, pairs)
        for name, attack in ATTACKS.items():
            cells = "".join(_cell(attack, pairs, rules, kind, options.runs) for kind in ("one", "new", "exact"))
            facts = f"{pairs:6} {rules.budget:6} {1 / rules.steps:6.1%} {rules.lowest:7.1%}"
            print(f"{facts}  {name:12}{cells}")
    for pairs in options.pairs:
        drawn, none = read_off_a_board(pairs, draws=41), read_off_a_board(pairs, draws=1)
        print(f"{pairs:6} pairs, a board of two tells an unknown one: {drawn:.3f}; without a margin {none:.3f}")


def read_off_a_board(pairs: int, draws: int) -> float:
    """How often the best choice of known pairs lets a board tell an unknown one; one draw is no margin."""
    units = Units(np.repeat(np.arange(pairs), 2))
    margins = np.linspace(0, MARGIN / steps_of(2 * pairs), draws)

    def distinguished(ahead: int, *, is_right: bool) -> float:
        first, second = np.ones(2 * pairs), np.ones(2 * pairs)
        second[: 2 * ahead] = 0
        (second if is_right else first)[2 * ahead : 2 * ahead + 2] = 0
        return float(np.mean([lead_of(first, second, units, margin).p < 0.05 for margin in margins]))

    known = range(4, min(pairs // 2, 40))
    gaps = (distinguished(ahead, is_right=True) - distinguished(ahead, is_right=False) for ahead in known)
    return 0.5 + max(gaps) / 2


def _cell(attack: Attack, pairs: int, rules: LadderRules, kind: str, runs: int) -> str:
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
