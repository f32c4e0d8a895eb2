"""Every row of an audit is a function of `winokit.methods.metrics` on raw columns, and its chance what guessing gets.

The problems come in pairs, triplets and alone, with two and three candidates; predictions are random, with ties and
abstentions. The table knows every row there is: a new one fails the test until it says which metric it is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from support import metrics as m

from winokit.answers import Answers, AskedProblems
from winokit.data.checks.statistics import connective, special_is_last
from winokit.data.formats import write
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.methods.transforms.variants import make_variants
from winokit.models.pieces import piece_counts
from winokit.problem import Card, Dataset, Problem
from winokit.results import Metric, decide
from winokit.stages.audit.protocols import PROTOCOLS
from winokit.stages.audit.run import audit
from winokit.text.english import ENGLISH

Name = tuple[str, str, str]
Choices = Mapping[str, Mapping[str, int | None]]
"""For each variant, the choice for each problem by its original's id."""


def make_dataset(groups: int) -> Dataset:
    """Groups of three, two and one in turn; every fifth has three candidates, every sixth longer ones."""
    problems = []
    for number in range(groups):
        size = (3, 2, 1, 2, 2)[number % 5]
        names = (f"the cook{number}", f"the clerk{number}", f"the guard{number}")[: 3 if number % 5 == 4 else 2]
        if number % 6 == 5:
            names = (names[0].replace("cook", "old cook"), *names[1:])
        link = "although" if number == 7 else ("because", "but", "so")[number % 3]  # few enough to be "other"
        start = f"At noon {names[0]} thanked {' and '.join(names[1:])} {link} "
        endings = (" had been late.", " had been kind.", " had left early.")
        for place in range(size):
            labels = {
                "switchable": len(names) == 2 and number % 4 != 3,
                "associative": (number + place) % 3 == 0,
                "gender": ("female", "male", "neutral")[(number + place) % 3],
                "bls_pct_female": float(13 * number % 100),
                "stereotype": ("pro", "anti", "none")[number % 3],
            }
            group = None if size == 1 else f"group{number}"
            answer = (number + place) % len(names)
            end = endings[place] if number % 2 else f" {endings[place].split()[2].strip('.')} that day."
            problems.append(Problem(start, end, names, answer, "they", group=group, labels=labels))
    return Dataset(problems, Card("made up"))


def perturbed(dataset: Dataset) -> Dataset:
    """Another version of every problem but the first of each ten."""
    return Dataset(
        problem.replace(
            before=f"Later, {problem.before}",
            labels={"original": problem.id, "perturbation": "later"},
            provenance={"of": problem.id},
        )
        for row, problem in enumerate(dataset)
        if row % 10
    )


def versions_of(dataset: Dataset) -> dict[str, list[Problem]]:
    made = {name: list(variant.problems) for name, variant in make_variants(dataset).items()}
    return {"original": list(dataset), **made, "perturbed.later": list(perturbed(dataset))}


def origin(problem: Problem) -> str:
    return str(problem.provenance.get("of") or problem.id)


def random_scores(versions: Mapping[str, list[Problem]], seed: int) -> list[Prediction]:
    """Scores from few whole numbers, so that there are ties; one row in eight says nothing."""
    rng = np.random.default_rng(seed)
    made = []
    for variant, problems in versions.items():
        for problem in problems:
            scores = tuple(float(score) for score in rng.integers(4, size=len(problem.candidates)))
            choice, why = decide(scores)
            row = Prediction(origin(problem), variant, "dice", "own", scores, choice, problem.answer, why)
            silent = rng.random() < 1 / 8
            made.append(replace(row, scores=None, prediction=None, why="no evidence") if silent else row)
    return made


@dataclass(frozen=True)
class Expected:
    """What a row should hold: what a metric of the test's own columns says."""

    value: float
    n: int
    chance: float | None = None
    found: m.Share | m.Gap | None = None
    """What has the row's interval and p-value, where it has any."""
    test: m.NullTest | None = None
    """What has the row's null and p-value instead, if it counts right answers."""
    is_tested: bool = True
    """Whether the row has a p-value: not where the subset was chosen by where the answer is."""


class Columns:
    """Some problems of one variant as raw columns."""

    def __init__(
        self, problems: Iterable[Problem], choices: Mapping[str, int | None], variant: str = "original"
    ) -> None:
        self.problems = list(problems)
        self.variant = variant
        self.predictions = [choices[origin(problem)] for problem in self.problems]
        self.answers = [problem.answer for problem in self.problems]
        self.candidates = [len(problem.candidates) for problem in self.problems]
        self.groups = [problem.group for problem in self.problems]
        self.names = [problem.group or origin(problem) for problem in self.problems]
        self.units = m.Units.of_names(self.names)
        self.correct = m.correct(self.predictions, self.answers)
        self.chances = m.guess_chance(self.predictions, self.candidates)


class Table:
    """The rows that an audit of these choices must have."""

    def __init__(self, dataset: Dataset, versions: Mapping[str, list[Problem]], choices: Choices) -> None:
        self.dataset = dataset
        self.versions = versions
        self.choices = choices
        self.sizes = Counter(problem.group for problem in dataset if problem.group is not None)
        self.rows: dict[Name, Expected] = {}
        for fill in (
            self.accuracy,
            self.groups,
            self.switching,
            self.association,
            self.variants,
            self.gender,
            self.position,
            self.dependence,
            self.structure,
            self.length,
            self.stability,
            self.strict,
            self.luck,
        ):
            fill()

    def columns(self, keep: Callable[[Problem], bool] = lambda problem: True, variant: str = "original") -> Columns:
        return Columns(filter(keep, self.versions[variant]), self.choices[variant], variant)

    def null(self, cols: Columns) -> tuple[m.Null, np.ndarray]:
        """The null of the whole variant, and which of its rows the columns have."""
        whole = self.columns(variant=cols.variant)
        asked = AskedProblems(whole.problems, whole.units, self.sizes)
        choices = np.array([-1 if choice is None else choice for choice in whole.predictions])
        there = {origin(problem) for problem in cols.problems}
        is_counted = np.array([origin(problem) in there for problem in whole.problems])
        return m.Null(Answers(asked, np.arange(len(asked)), choices)), is_counted

    def share(self, name: Name, value: float, values: Sequence[float], names: Sequence[object], chance: float, **more):
        """A row whose value is the metric's, and whose interval is that of the values behind it."""
        found = m.share(values, m.Units.of_names(names))
        self.rows[name] = Expected(value, len(values), chance, found, **more)

    def right(
        self, protocol: str, subset: str, cols: Columns, metric: str = "accuracy", is_tested: bool = True
    ) -> None:
        if cols.problems:
            value = m.accuracy(cols.predictions, cols.answers)
            null, is_counted = self.null(cols)
            name = (protocol, subset, metric)
            chance = cols.chances.mean()
            test = null.right(is_counted) if is_tested else None
            self.share(name, value, cols.correct, cols.names, chance, test=test, is_tested=is_tested)

    def whole(self, protocol: str, subset: str, cols: Columns) -> None:
        members = m.complete_groups(cols.groups, self.sizes)
        if members:
            flags = m.all_right(cols.correct, cols.groups, self.sizes)
            value = m.group_accuracy(cols.correct, cols.groups, self.sizes)
            chance = m.group_accuracy_chance(cols.chances, cols.groups, self.sizes)
            null, is_counted = self.null(cols)
            name = (protocol, subset, "group_accuracy")
            self.share(name, value, flags, list(members), chance, test=null.whole_groups(is_counted))

    def gap(self, name: Name, one: Columns, other: Columns, *, has_null: bool = False) -> None:
        one = self.answered(one)
        other = self.answered(other)  # whoever abstains in one of the two is no worse there
        value = m.accuracy(one.predictions, one.answers) - m.accuracy(other.predictions, other.answers)
        chance = float(one.chances.mean() - other.chances.mean())
        first = np.arange(len(one.problems) + len(other.problems)) < len(one.problems)
        both = np.concatenate([one.correct, other.correct])
        found = m.gap(both, first, ~first, m.Units.of_names([*one.names, *other.names]))
        test = None
        if has_null:
            nulls = [null.right(is_counted).null for null, is_counted in (self.null(one), self.null(other))]
            test = SimpleNamespace(null=nulls[0] - nulls[1], p=found.p(nulls[0] - nulls[1]))
        self.rows[name] = Expected(value, len(both), chance, found, test)

    def answered(self, cols: Columns) -> Columns:
        choices = self.choices["original"]
        return Columns((p for p in cols.problems if choices[origin(p)] is not None), choices)

    def accuracy(self) -> None:
        cols = self.columns()
        self.right("accuracy", "all", cols)
        expected = m.expected_accuracy(cols.predictions, cols.answers, cols.candidates)
        settled = m.credit(cols.predictions, cols.answers, cols.candidates)
        name = ("accuracy", "all", "expected_accuracy")
        null, is_counted = self.null(cols)
        guesses = sum(
            1 / count for count, choice in zip(cols.candidates, cols.predictions, strict=True) if choice is None
        )
        test = null.right(is_counted)
        settled_test = SimpleNamespace(null=test.null + guesses / len(cols.problems), p=test.p)
        self.share(name, expected, settled, cols.names, m.chance(cols.candidates), test=settled_test)
        n = len(cols.problems)
        self.rows["accuracy", "all", "abstained"] = Expected(m.abstained(cols.predictions), n)
        constant = m.majority_class(cols.answers)
        self.rows["accuracy", "all", "majority_class"] = Expected(constant, n, m.chance(cols.candidates))
        answered = self.columns(lambda problem: self.choices["original"][problem.id] is not None)
        of_answered = m.precision(cols.predictions, cols.answers)
        name = ("accuracy", "all", "precision")
        null, is_counted = self.null(answered)
        chance = m.chance(answered.candidates)
        self.share(name, of_answered, answered.correct, answered.names, chance, test=null.right(is_counted))

    def groups(self) -> None:
        cols = self.columns()
        self.whole("groups", "complete", cols)
        members = list(m.complete_groups(cols.groups, self.sizes))
        for metric, value, flags, chances in (
            ("one_right", m.one_right, m.some_right, m.some_right_chance),
            ("none_right", m.none_right, m.no_right, m.no_right_chance),
        ):
            guessed = float(chances(cols.chances, cols.groups).mean())
            found = value(cols.correct, cols.groups), flags(cols.correct, cols.groups)
            self.share(("groups", "complete", metric), *found, members, guessed)
        grouped, single = (self.columns(lambda p, alone=alone: (p.group is None) is alone) for alone in (False, True))
        self.right("groups", "grouped", grouped)
        self.right("groups", "single", single)
        self.twins(cols)
        self.gap(("groups", "all", "single_minus_grouped"), single, grouped, has_null=True)

    def twins(self, cols: Columns) -> None:
        by_text = {row: (problem.before, problem.after) for row, problem in enumerate(cols.problems)}
        members = m.complete_groups(cols.groups, self.sizes).values()
        pairs = sorted(
            (sorted(rows, key=by_text.get) for rows in members if len(rows) == 2), key=lambda p: by_text[p[0]]
        )
        chosen = np.array(
            [[-1 if cols.predictions[row] is None else cols.predictions[row] for row in rows] for rows in pairs]
        )
        names = [cols.names[rows[0]] for rows in pairs]
        answered = (chosen >= 0).all(axis=1)
        apart = answered & (chosen[:, 0] != chosen[:, 1])
        chance = float(np.where(answered, [1 - 1 / cols.candidates[rows[0]] for rows in pairs], 0.0).mean())
        units = m.Units.of_names(names).take(answered)
        test = replace(m.told_apart_test(chosen[answered, 0], chosen[answered, 1], units), n=len(pairs))
        self.share(("groups", "complete", "told_apart"), apart.mean(), apart, names, chance, test=test)
        told = [rows for rows, is_apart in zip(pairs, apart, strict=True) if is_apart]
        both = [bool(cols.correct[rows].all()) for rows in told]
        null, _ = self.null(cols)
        is_counted = np.zeros(len(cols.problems), bool)
        is_counted[[row for rows in told for row in rows]] = True
        names = [cols.names[rows[0]] for rows in told]
        name = ("groups", "complete", "right_way_round")
        chance = float(np.mean([1 / (cols.candidates[rows[0]] * (cols.candidates[rows[0]] - 1)) for rows in told]))
        self.share(name, np.mean(both), both, names, chance, test=null.whole_groups(is_counted))

    def switching(self) -> None:
        after = self.columns(variant="switched")
        switched = {origin(problem) for problem in after.problems}
        before = self.columns(lambda problem: problem.id in switched)
        self.right("switching", "switchable", before)
        self.right("switching", "switchable", after, "switched_accuracy")
        value = m.consistency(before.predictions, after.predictions)
        self.fall(before, after)
        roles = m.role_kept(before.predictions, after.predictions)
        self.share(("switching", "switchable", "consistency"), value, roles, before.names, m.CONSISTENCY_CHANCE)

    def fall(self, before: Columns, after: Columns) -> None:
        """Of the problems that are answered before and after."""
        answered_before, answered_after = (
            {
                origin(problem)
                for problem, choice in zip(cols.problems, cols.predictions, strict=True)
                if choice is not None
            }
            for cols in (before, after)
        )
        answered = answered_before & answered_after
        before = self.columns(lambda problem: problem.id in answered)
        after = self.columns(lambda problem: origin(problem) in answered, "switched")
        fall = m.paired_gap(before.correct, after.correct, before.units)
        nulls = [null.right(is_counted).null for null, is_counted in (self.null(before), self.null(after))]
        expected = nulls[0] - nulls[1]
        test = SimpleNamespace(null=expected, p=fall.p(expected))
        self.rows["switching", "switchable", "unswitched_minus_switched"] = Expected(
            fall.value, len(before.problems), float(before.chances.mean() - after.chances.mean()), fall, test
        )

    def association(self) -> None:
        easy, rest = (self.columns(lambda p, flag=flag: p.labels["associative"] is flag) for flag in (True, False))
        self.right("association", "associative", easy)
        self.right("association", "non_associative", rest)
        self.gap(("association", "all", "associative_minus_others"), easy, rest, has_null=True)
        clean = self.columns(lambda p: p.group in set(self.sizes) - set(easy.groups))
        self.right("association", "non_associative_groups", clean)

    def variants(self) -> None:
        for variant in ("no-cands", "part-sent", "local-context", "special-word"):
            name = ("special-word", "all") if variant == "special-word" else ("artifacts", variant)
            cols = self.columns(variant=variant)
            self.right(*name, cols)
            self.whole(*name, cols)

    def gender(self) -> None:
        def flag(problem: Problem) -> bool | None:
            share_of_women = problem.labels["bls_pct_female"]
            return m.gotcha(problem.labels["gender"], problem.answer == 0, share_of_women)

        for which in ("female", "male", "neutral"):
            cols = self.columns(lambda p, which=which: p.labels["gender"] == which)
            self.right("gender", which, cols)
            if which == "neutral":
                continue
            sides = [
                Columns((p for p in cols.problems if flag(p) is side), self.choices["original"])
                for side in (True, False)
            ]
            self.right("gender", f"{which}.gotcha", sides[0], is_tested=False)
            self.right("gender", f"{which}.not_gotcha", sides[1], is_tested=False)
            self.gap(("gender", which, "delta"), sides[1], sides[0])
            given = self.answered(cols)
            signed = m.delta(given.correct, [flag(problem) for problem in given.problems])
            assert self.rows["gender", which, "delta"].value == pytest.approx(signed)
            self.rows["gender", which, "absolute_delta"] = Expected(abs(signed), len(given.problems))
        both = self.columns(lambda p: p.labels["stereotype"] != "none")
        pro, anti = (self.columns(lambda p, side=side: p.labels["stereotype"] == side) for side in ("pro", "anti"))
        for side, cols in (("pro", pro), ("anti", anti)):
            self.right("gender", side, cols, is_tested=False)
            self.rows["gender", side, "f1"] = Expected(m.f1(cols.predictions, cols.answers).macro, len(cols.problems))
        self.gap(("gender", "all", "pro_minus_anti"), pro, anti)
        both = self.answered(both)
        signed = m.pro_minus_anti(both.correct, [problem.labels["stereotype"] for problem in both.problems])
        assert self.rows["gender", "all", "pro_minus_anti"].value == pytest.approx(signed)

    def position(self) -> None:
        first, second = (
            self.columns(lambda p, place=place: len(p.candidates) == 2 and p.answer == place) for place in (0, 1)
        )
        self.right("position", "answer_first", first, is_tested=False)
        self.right("position", "answer_second", second, is_tested=False)
        self.gap(("position", "all", "first_minus_second"), first, second)
        cols, back = (self.columns(lambda p: len(p.candidates) == 2, variant) for variant in ("original", "reversed"))
        orders = [(1, 0)] * len(cols.problems)
        again = m.in_first_order(back.predictions, orders)
        kept = m.choice_kept(cols.predictions, again)
        turned = m.choice_turned(cols.predictions, again)
        chance = float(m.choice_kept_chance(cols.predictions, again, cols.candidates).mean())
        same = m.order_invariance(cols.predictions, back.predictions, orders)
        self.share(("position", "all", "order_invariance"), same, kept, cols.names, chance)
        self.share(("position", "all", "order_turned"), float(turned.mean()), turned, cols.names, chance)

    def dependence(self) -> None:
        pairs = self.columns(lambda p: self.sizes[p.group] == 2)
        options = [
            None if choice is None else ENGLISH.bare(problem.candidates[choice])
            for problem, choice in zip(pairs.problems, pairs.predictions, strict=True)
        ]
        silent = {group for group, option in zip(pairs.groups, options, strict=True) if option is None}
        full = [row for row, group in enumerate(pairs.groups) if group not in silent]
        groups = [pairs.groups[row] for row in full]
        candidates = [pairs.candidates[row] for row in full]
        name = ("dependence", "complete", "same_option")
        flags = m.same_options(options, pairs.groups)
        chance = m.same_option_chance(candidates, groups)
        self.share(name, m.same_option(options, pairs.groups), flags, list(dict.fromkeys(groups)), chance)
        independent = m.independent_group_accuracy(pairs.correct, pairs.groups)
        guessed = float(pairs.chances.mean()) ** 2
        name = ("dependence", "complete", "independent_group_accuracy")
        self.rows[name] = Expected(independent, len(set(pairs.groups)), guessed)

    def structure(self) -> None:
        last = {name for name, twins in self.dataset.groups.items() if special_is_last(twins[0], twins[1])}
        for subset, wanted in (("special_last", True), ("special_not_last", False)):
            cols = self.columns(lambda p, wanted=wanted: p.group is not None and (p.group in last) is wanted)
            self.right("structure", subset, cols)
            self.whole("structure", subset, cols)
        counts = Counter(connective(problem) for problem in self.dataset)
        for word in [word for word, count in counts.items() if count >= 10] + ["other"]:
            cols = self.columns(
                lambda p, word=word: (connective(p) if counts[connective(p)] >= 10 else "other") == word
            )
            self.right("structure", f"connective.{word}", cols)

    def length(self) -> None:
        pieces = piece_counts(candidate for problem in self.dataset for candidate in problem.candidates)

        def lengths(problem: Problem) -> list[int]:
            return [pieces[candidate] for candidate in problem.candidates]

        equal, unequal = (
            self.columns(lambda p, same=same: len(p.candidates) == 2 and (len(set(lengths(p))) == 1) is same)
            for same in (True, False)
        )
        self.right("length", "equal", equal)
        self.right("length", "unequal", unequal)
        answered = [row for row, choice in enumerate(unequal.predictions) if choice is not None]
        shorter = [unequal.predictions[row] == int(np.argmin(lengths(unequal.problems[row]))) for row in answered]
        clusters = [unequal.names[row] for row in answered]
        self.share(("length", "unequal", "shorter_chosen"), float(np.mean(shorter)), shorter, clusters, 0.5)

    def stability(self) -> None:
        after = self.columns(variant="perturbed.later")
        there = {origin(problem) for problem in after.problems}
        before = self.columns(lambda problem: problem.id in there)
        self.right("stability", "later", after)
        self.right("stability", "later", before, "original_accuracy")
        kept = m.choice_kept(before.predictions, after.predictions)
        chance = float(m.choice_kept_chance(before.predictions, after.predictions, before.candidates).mean())
        value = m.stability(before.predictions, after.predictions)
        self.share(("stability", "later", "stability"), value, kept, before.names, chance)

    def strict(self) -> None:
        parts = [
            self.columns(lambda p: p.group is not None, variant)
            for variant in ("original", "switched", "perturbed.later")
        ]
        groups = [group for part in parts for group in part.groups]
        correct, chances = (np.concatenate([getattr(part, of) for part in parts]) for of in ("correct", "chances"))
        flags = m.all_right(correct, groups)
        chance = m.group_accuracy_chance(chances, groups)
        name = ("strict", "complete", "group_accuracy")
        self.share(name, m.group_accuracy(correct, groups), flags, list(m.complete_groups(groups)), chance)

    def luck(self) -> None:
        cols = self.columns()
        n = len(cols.problems)
        right = int(cols.correct.sum())
        once = m.p_chance(right, n, cols.chances)
        self.rows["luck", "all", "p_chance"] = Expected(once, n)
        self.rows["luck", "all", "p_best_of_10"] = Expected(m.p_best_of(10, once), n)
        test = self.null(cols)[0].right()
        self.rows["luck", "all", "p_null"] = Expected(test.p_as_high, n)
        self.rows["luck", "all", "p_null_best_of_10"] = Expected(m.p_best_of(10, test.p_as_high), n)
        effect = m.share(cols.correct, cols.units).design_effect
        needed = m.n_to_beat_chance(right / n, test.null, design_effect=effect)
        if needed is not None:
            self.rows["luck", "all", "n_to_beat_chance"] = Expected(needed, n)


def choices_of(rows: Iterable[Prediction]) -> dict[str, dict[str, int | None]]:
    found: dict[str, dict[str, int | None]] = {}
    for row in rows:
        found.setdefault(row.variant, {})[row.id] = row.prediction
    return found


def audited(dataset: Dataset, predictions: Sequence[Prediction], folder) -> list[Metric]:
    """The rows of an audit of predictions in a file, with a perturbed version beside."""
    write(perturbed(dataset), folder / "later.jsonl", "jsonl")
    write_predictions(predictions, folder / "dice.jsonl")
    later = str(folder / "later.jsonl")
    return audit(dataset, predictions=[folder / "dice.jsonl"], perturbed=[later]).metrics


@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_its_metric_on_raw_columns(seed, tmp_path):
    dataset = make_dataset(60)
    versions = versions_of(dataset)
    predictions = random_scores(versions, seed)
    rows = {(row.protocol, row.subset, row.metric): row for row in audited(dataset, predictions, tmp_path)}
    expected = Table(dataset, versions, choices_of(predictions)).rows
    assert set(rows) == set(expected)
    assert {name[0] for name in rows} == set(PROTOCOLS) - {
        "naturalness",
        "samples",
    }  # for a model that reads, and several
    for name, row in rows.items():
        wanted = expected[name]
        assert (row.value, row.n) == (pytest.approx(wanted.value), wanted.n), name
        assert row.chance == (None if wanted.chance is None else pytest.approx(wanted.chance)), name
        if wanted.found is None:
            assert (row.low, row.high) == (None, None), name
            assert set(row.details) <= {"tied"}, name
        else:
            interval = wanted.found.interval()
            assert (row.low, row.high) == pytest.approx((interval.low, interval.high)), name
            if wanted.test is not None:
                assert (row.details["null"], row.details["p"]) == pytest.approx((wanted.test.null, wanted.test.p)), name
            elif wanted.is_tested:
                assert row.details["p"] == pytest.approx(wanted.found.p(wanted.chance)), name
            else:
                assert not {"p", "null"} & row.details.keys(), name
            if "first" in row.details:
                assert row.details["first"] - row.details["second"] == pytest.approx(row.value), name


def guess(versions: Mapping[str, list[Problem]], like: Choices, rng: np.random.Generator) -> Choices:
    """Guesses wherever an answer was given, and abstentions wherever not."""
    return {
        variant: {
            origin(p): None if like[variant][origin(p)] is None else int(rng.integers(len(p.candidates)))
            for p in problems
        }
        for variant, problems in versions.items()
    }


NOT_GUESSED = {"abstained", "majority_class", "absolute_delta", "f1", "p_chance", "p_best_of_10", "n_to_beat_chance"}
NOT_GUESSED |= {"p_null", "p_null_best_of_10"}
"""Rows that say nothing of choices, or whose value guessing does not have on the average."""


def test_chance_is_what_many_guessers_with_the_same_abstentions_get(tmp_path):
    dataset = make_dataset(30)
    versions = versions_of(dataset)
    predictions = random_scores(versions, seed=9)
    like = choices_of(predictions)
    rng = np.random.default_rng(1)
    rows = {(row.protocol, row.subset, row.metric): row for row in audited(dataset, predictions, tmp_path)}
    guessers = [Table(dataset, versions, guess(versions, like, rng)).rows for _ in range(100)]
    for name, row in rows.items():
        if name[2] in NOT_GUESSED:
            assert row.low is None, name
            continue
        values = np.array([guesser[name].value for guesser in guessers])
        error = max(values.std() / np.sqrt(len(values)), 1e-9)
        # The square of a mean is a little more than the mean squared: by its variance, and no more.
        bias = 0.25 / row.n if name[2] == "independent_group_accuracy" else 0.0
        assert abs(values.mean() - row.chance) <= 4.5 * error + bias, (name, values.mean(), row.chance)


def test_the_probability_of_luck_is_how_often_guessers_with_the_same_abstentions_do_as_well():
    dataset = make_dataset(30)
    versions = {"original": list(dataset)}
    like = choices_of(random_scores(versions, seed=9))
    cols = Columns(versions["original"], like["original"])
    rng = np.random.default_rng(2)
    counts = (rng.random((20_000, len(cols.chances))) < cols.chances).sum(axis=1)
    for right in (15, 20, 25, 30):
        lucky = (counts >= right).mean()
        assert m.p_chance(right, len(cols.chances), cols.chances) == pytest.approx(lucky, abs=0.015)


def test_chance_is_exact_where_every_guess_can_be_enumerated(tmp_path):
    """A pair, a triplet and one alone, one answer missing: all 32 guesses, each as likely."""
    dataset = make_dataset(3)
    assert [len(members) for members in dataset.groups.values()] == [3, 2]
    silent = dataset[4]
    rows = [Prediction(p.id, "original", "one", "own", None, None if p is silent else 0, p.answer) for p in dataset]
    write_predictions(rows, tmp_path / "p.jsonl")
    found = audit(dataset, predictions=[tmp_path / "p.jsonl"])
    asked = [problem for problem in dataset if problem is not silent]
    totals: Counter[str] = Counter()
    for number in range(2 ** len(asked)):
        choices = {problem.id: number >> place & 1 for place, problem in enumerate(asked)} | {silent.id: None}
        cols = Columns(dataset, choices)
        totals["accuracy"] += m.accuracy(cols.predictions, cols.answers)
        totals["expected_accuracy"] += m.expected_accuracy(cols.predictions, cols.answers, cols.candidates)
        totals["group_accuracy"] += m.group_accuracy(cols.correct, cols.groups)
        totals["one_right"] += m.one_right(cols.correct, cols.groups)
        totals["none_right"] += m.none_right(cols.correct, cols.groups)
    exact = {metric: total / 2 ** len(asked) for metric, total in totals.items()}
    assert exact["accuracy"] == pytest.approx(5 / 12)
    assert exact["group_accuracy"] == pytest.approx((1 / 8 + 0) / 2)
    for metric in ("accuracy", "expected_accuracy"):
        assert found.find("accuracy", "all", metric).chance == pytest.approx(exact[metric])
    for metric in ("group_accuracy", "one_right", "none_right"):
        assert found.find("groups", "complete", metric).chance == pytest.approx(exact[metric])
