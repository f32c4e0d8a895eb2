"""Every row of an audit is a function of `winokit.methods.metrics` on raw columns, and its chance what guessing gets.

The problems come in pairs, triplets and alone, with two and three candidates. Predictions are random, with ties and
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

RowName = tuple[str, str, str]
"""Protocol, subset and metric of a row."""
Choices = Mapping[str, Mapping[str, int | None]]
"""For each variant, the choice for each problem by its original's id."""
GROUP_SIZES = (3, 2, 1, 2, 2)
CONNECTIVES = ("because", "but", "so")
ENDINGS = (" had been late.", " had been kind.", " had left early.")
GENDERS = ("female", "male", "neutral")
STEREOTYPES = ("pro", "anti", "none")
FEWEST_OF_A_CONNECTIVE = 10
"""Rarer connectives have one row together, "other"."""


def make_dataset(group_count: int) -> Dataset:
    """Groups of three, two and one in turn, every fifth with three candidates, every sixth with longer ones."""
    problems = []
    for number in range(group_count):
        problems += make_group(number)
    return Dataset(problems, Card("made up"))


def make_group(number: int) -> list[Problem]:
    size = GROUP_SIZES[number % 5]
    names = name_candidates(number)
    other_names = " and ".join(names[1:])
    start = f"At noon {names[0]} thanked {other_names} {choose_connective(number)} "
    group = None if size == 1 else f"group{number}"
    problems = []
    for place in range(size):
        end = ENDINGS[place]
        if number % 2 == 0:
            last_word = end.split()[2].strip(".")
            end = f" {last_word} that day."
        answer = (number + place) % len(names)
        labels = make_labels(number, place, len(names))
        problems.append(Problem(start, end, names, answer, "they", group=group, labels=labels))
    return problems


def name_candidates(number: int) -> tuple[str, ...]:
    cook = f"the cook{number}"
    if number % 6 == 5:
        cook = f"the old cook{number}"
    clerk = f"the clerk{number}"
    if number % 5 == 4:
        return (cook, clerk, f"the guard{number}")
    return (cook, clerk)


def choose_connective(number: int) -> str:
    if number == 7:
        return "although"  # few enough to be "other"
    return CONNECTIVES[number % 3]


def make_labels(number: int, place: int, candidate_count: int) -> dict[str, object]:
    return {
        "switchable": candidate_count == 2 and number % 4 != 3,
        "associative": (number + place) % 3 == 0,
        "gender": GENDERS[(number + place) % 3],
        "bls_pct_female": float(13 * number % 100),
        "stereotype": STEREOTYPES[number % 3],
    }


def perturb_dataset(dataset: Dataset) -> Dataset:
    """Another version of every problem but the first of each ten."""
    problems = []
    for index, problem in enumerate(dataset):
        if index % 10 == 0:
            continue
        before = f"Later, {problem.before}"
        labels = {"original": problem.id, "perturbation": "later"}
        problems.append(problem.replace(before=before, labels=labels, provenance={"of": problem.id}))
    return Dataset(problems)


def make_versions(dataset: Dataset) -> dict[str, list[Problem]]:
    """Problems of each variant, of the originals and of the perturbed version."""
    versions = {"original": list(dataset)}
    for name, variant in make_variants(dataset).items():
        versions[name] = list(variant.problems)
    versions["perturbed.later"] = list(perturb_dataset(dataset))
    return versions


def get_original_id(problem: Problem) -> str:
    return str(problem.provenance.get("of") or problem.id)


def draw_predictions(versions: Mapping[str, list[Problem]], seed: int) -> list[Prediction]:
    """Predictions whose scores are few whole numbers, so that there are ties.

    One row in eight says nothing.
    """
    rng = np.random.default_rng(seed)
    predictions = []
    for variant, problems in versions.items():
        for problem in problems:
            drawn_numbers = rng.integers(4, size=len(problem.candidates))
            scores = tuple(float(number) for number in drawn_numbers)
            choice, reason = decide(scores)
            row = Prediction(get_original_id(problem), variant, "dice", "own", scores, choice, problem.answer, reason)
            is_silent = rng.random() < 1 / 8
            if is_silent:
                row = replace(row, scores=None, prediction=None, why="no evidence")
            predictions.append(row)
    return predictions


@dataclass(frozen=True)
class Expected:
    """Value, interval and test that a row should hold, from the test's own columns."""

    value: float
    n: int
    chance: float | None = None
    estimate: m.Share | m.Gap | None = None
    """Estimate with the row's interval and p-value, or None if the row has neither."""
    test: m.NullTest | None = None
    """Test with the row's null and p-value instead, if it counts right answers."""
    is_tested: bool = True
    """Whether the row has a p-value: not where the subset was chosen by where the answer is."""


def encode_choices(predictions: Sequence[int | None]) -> np.ndarray:
    """Choices as numbers, −1 for an abstention."""
    return np.array([-1 if choice is None else choice for choice in predictions])


class Columns:
    """Some problems of one variant as raw columns."""

    def __init__(
        self, problems: Iterable[Problem], choices: Mapping[str, int | None], variant: str = "original"
    ) -> None:
        self.problems = list(problems)
        self.variant = variant
        self.ids = [get_original_id(problem) for problem in self.problems]
        self.predictions = [choices[problem_id] for problem_id in self.ids]
        self.answers = [problem.answer for problem in self.problems]
        self.candidates = [len(problem.candidates) for problem in self.problems]
        self.groups = [problem.group for problem in self.problems]
        self.names = [problem.group or get_original_id(problem) for problem in self.problems]
        self.units = m.Units.of_names(self.names)
        self.correct = m.correct(self.predictions, self.answers)
        self.chances = m.guess_chance(self.predictions, self.candidates)

    @property
    def answered_ids(self) -> set[str]:
        """Ids of the originals of the problems that have a choice."""
        choices = zip(self.ids, self.predictions, strict=True)
        return {problem_id for problem_id, choice in choices if choice is not None}


class Table:
    """The rows that an audit of these choices must have."""

    def __init__(self, dataset: Dataset, versions: Mapping[str, list[Problem]], choices: Choices) -> None:
        self.dataset = dataset
        self.versions = versions
        self.choices = choices
        self.sizes = Counter(problem.group for problem in dataset if problem.group is not None)
        self.rows: dict[RowName, Expected] = {}
        self.add_accuracy()
        self.add_groups()
        self.add_switching()
        self.add_association()
        self.add_variants()
        self.add_gender()
        self.add_position()
        self.add_dependence()
        self.add_structure()
        self.add_length()
        self.add_stability()
        self.add_strict()
        self.add_luck()

    def select_columns(
        self, keep: Callable[[Problem], bool] = lambda problem: True, variant: str = "original"
    ) -> Columns:
        problems = filter(keep, self.versions[variant])
        return Columns(problems, self.choices[variant], variant)

    def select_label(self, label: str, value: object) -> Columns:
        """Columns of the originals that have this value of a label."""
        return self.select_columns(lambda problem: problem.labels[label] == value)

    def select_answered(self, columns: Columns) -> Columns:
        """Columns of those problems whose originals have a choice."""
        choices = self.choices["original"]
        answered_problems = [problem for problem in columns.problems if choices[get_original_id(problem)] is not None]
        return Columns(answered_problems, choices)

    def make_null(self, columns: Columns) -> tuple[m.Null, np.ndarray]:
        """The null of the whole variant, and which of its rows the columns have."""
        variant_columns = self.select_columns(variant=columns.variant)
        asked_problems = AskedProblems(variant_columns.problems, variant_columns.units, self.sizes)
        choices = encode_choices(variant_columns.predictions)
        column_ids = set(columns.ids)
        is_counted = np.array([problem_id in column_ids for problem_id in variant_columns.ids])
        answers = Answers(asked_problems, np.arange(len(asked_problems)), choices)
        return m.Null(answers), is_counted

    def add_share(
        self, name: RowName, value: float, values: Sequence[float], names: Sequence[object], chance: float, **details
    ) -> None:
        """Add a row whose value is the metric's, and whose interval is that of the values behind it."""
        share = m.share(values, m.Units.of_names(names))
        self.rows[name] = Expected(value, len(values), chance, share, **details)

    def add_right(
        self, protocol: str, subset: str, columns: Columns, metric: str = "accuracy", is_tested: bool = True
    ) -> None:
        """Add the share of these problems that are right, unless there are none."""
        if not columns.problems:
            return
        value = m.accuracy(columns.predictions, columns.answers)
        null, is_counted = self.make_null(columns)
        name = (protocol, subset, metric)
        chance = columns.chances.mean()
        test = null.right(is_counted) if is_tested else None
        self.add_share(name, value, columns.correct, columns.names, chance, test=test, is_tested=is_tested)

    def add_whole_groups(self, protocol: str, subset: str, columns: Columns) -> None:
        """Add the share of whole groups that are right, unless there are none."""
        members = m.complete_groups(columns.groups, self.sizes)
        if not members:
            return
        flags = m.all_right(columns.correct, columns.groups, self.sizes)
        value = m.group_accuracy(columns.correct, columns.groups, self.sizes)
        chance = m.group_accuracy_chance(columns.chances, columns.groups, self.sizes)
        null, is_counted = self.make_null(columns)
        name = (protocol, subset, "group_accuracy")
        test = null.whole_groups(is_counted)
        self.add_share(name, value, flags, list(members), chance, test=test)

    def add_gap(self, name: RowName, first: Columns, second: Columns, *, has_null: bool = False) -> None:
        """Add the accuracy of the first columns minus that of the second, over answered problems."""
        first = self.select_answered(first)
        second = self.select_answered(second)  # whoever abstains in one of the two is no worse there
        first_accuracy = m.accuracy(first.predictions, first.answers)
        second_accuracy = m.accuracy(second.predictions, second.answers)
        chance = float(first.chances.mean() - second.chances.mean())
        correct = np.concatenate([first.correct, second.correct])
        is_first = np.arange(len(correct)) < len(first.problems)
        units = m.Units.of_names([*first.names, *second.names])
        gap = m.gap(correct, is_first, ~is_first, units)
        test = self.test_gap(gap, first, second) if has_null else None
        value = first_accuracy - second_accuracy
        self.rows[name] = Expected(value, len(correct), chance, gap, test)

    def test_gap(self, gap: m.Gap, first: Columns, second: Columns) -> SimpleNamespace:
        """Null of a gap, from the nulls of both columns, and its p-value."""
        first_null, is_first = self.make_null(first)
        second_null, is_second = self.make_null(second)
        difference = first_null.right(is_first).null - second_null.right(is_second).null
        return SimpleNamespace(null=difference, p=gap.p(difference))

    def add_accuracy(self) -> None:
        columns = self.select_columns()
        n = len(columns.problems)
        self.add_right("accuracy", "all", columns)
        self.add_expected_accuracy(columns)
        self.rows["accuracy", "all", "abstained"] = Expected(m.abstained(columns.predictions), n)
        majority_share = m.majority_class(columns.answers)
        self.rows["accuracy", "all", "majority_class"] = Expected(majority_share, n, m.chance(columns.candidates))
        answered = self.select_answered(columns)
        precision = m.precision(columns.predictions, columns.answers)
        name = ("accuracy", "all", "precision")
        null, is_counted = self.make_null(answered)
        chance = m.chance(answered.candidates)
        test = null.right(is_counted)
        self.add_share(name, precision, answered.correct, answered.names, chance, test=test)

    def add_expected_accuracy(self, columns: Columns) -> None:
        value = m.expected_accuracy(columns.predictions, columns.answers, columns.candidates)
        credit = m.credit(columns.predictions, columns.answers, columns.candidates)
        null, is_counted = self.make_null(columns)
        guessed_credit = 0.0
        for count, choice in zip(columns.candidates, columns.predictions, strict=True):
            if choice is None:
                guessed_credit += 1 / count
        test = null.right(is_counted)
        null_with_guesses = test.null + guessed_credit / len(columns.problems)
        test_with_guesses = SimpleNamespace(null=null_with_guesses, p=test.p)
        name = ("accuracy", "all", "expected_accuracy")
        chance = m.chance(columns.candidates)
        self.add_share(name, value, credit, columns.names, chance, test=test_with_guesses)

    def add_groups(self) -> None:
        columns = self.select_columns()
        self.add_whole_groups("groups", "complete", columns)
        group_names = list(m.complete_groups(columns.groups, self.sizes))
        for metric, measure, make_flags, make_chances in (
            ("one_right", m.one_right, m.some_right, m.some_right_chance),
            ("none_right", m.none_right, m.no_right, m.no_right_chance),
        ):
            value = measure(columns.correct, columns.groups)
            flags = make_flags(columns.correct, columns.groups)
            chance = float(make_chances(columns.chances, columns.groups).mean())
            self.add_share(("groups", "complete", metric), value, flags, group_names, chance)
        grouped = self.select_columns(lambda problem: problem.group is not None)
        single = self.select_columns(lambda problem: problem.group is None)
        self.add_right("groups", "grouped", grouped)
        self.add_right("groups", "single", single)
        self.add_twins(columns)
        self.add_gap(("groups", "all", "single_minus_grouped"), single, grouped, has_null=True)

    def list_pairs(self, columns: Columns) -> list[list[int]]:
        """Indices of the two problems of each pair, by their texts."""
        texts = [(problem.before, problem.after) for problem in columns.problems]
        pairs = []
        for indices in m.complete_groups(columns.groups, self.sizes).values():
            if len(indices) == 2:
                pairs.append(sorted(indices, key=lambda index: texts[index]))
        return sorted(pairs, key=lambda pair: texts[pair[0]])

    def add_twins(self, columns: Columns) -> None:
        pairs = self.list_pairs(columns)
        choices = encode_choices(columns.predictions)
        pair_choices = choices[np.array(pairs)]
        is_answered = (pair_choices >= 0).all(axis=1)
        is_apart = is_answered & (pair_choices[:, 0] != pair_choices[:, 1])
        self.add_told_apart(columns, pairs, pair_choices, is_apart)
        apart_pairs = [pair for pair, is_told in zip(pairs, is_apart, strict=True) if is_told]
        self.add_right_way_round(columns, apart_pairs)

    def add_told_apart(
        self, columns: Columns, pairs: list[list[int]], pair_choices: np.ndarray, is_apart: np.ndarray
    ) -> None:
        names = [columns.names[first] for first, _ in pairs]
        is_answered = (pair_choices >= 0).all(axis=1)
        candidate_counts = np.array([columns.candidates[first] for first, _ in pairs])
        chances = np.where(is_answered, 1 - 1 / candidate_counts, 0.0)
        answered_units = m.Units.of_names(names).take(is_answered)
        first_choices = pair_choices[is_answered, 0]
        second_choices = pair_choices[is_answered, 1]
        test = m.told_apart_test(first_choices, second_choices, answered_units)
        test = replace(test, n=len(pairs))
        name = ("groups", "complete", "told_apart")
        self.add_share(name, is_apart.mean(), is_apart, names, float(chances.mean()), test=test)

    def add_right_way_round(self, columns: Columns, apart_pairs: list[list[int]]) -> None:
        flags = [bool(columns.correct[pair].all()) for pair in apart_pairs]
        null, _ = self.make_null(columns)
        is_counted = np.zeros(len(columns.problems), bool)
        is_counted[np.ravel(apart_pairs)] = True
        names = [columns.names[first] for first, _ in apart_pairs]
        candidate_counts = np.array([columns.candidates[first] for first, _ in apart_pairs])
        chances = 1 / (candidate_counts * (candidate_counts - 1))
        name = ("groups", "complete", "right_way_round")
        test = null.whole_groups(is_counted)
        self.add_share(name, np.mean(flags), flags, names, float(chances.mean()), test=test)

    def add_switching(self) -> None:
        after = self.select_columns(variant="switched")
        switched_ids = set(after.ids)
        before = self.select_columns(lambda problem: problem.id in switched_ids)
        self.add_right("switching", "switchable", before)
        self.add_right("switching", "switchable", after, "switched_accuracy")
        self.add_fall(before, after)
        value = m.consistency(before.predictions, after.predictions)
        flags = m.role_kept(before.predictions, after.predictions)
        name = ("switching", "switchable", "consistency")
        self.add_share(name, value, flags, before.names, m.CONSISTENCY_CHANCE)

    def add_fall(self, before: Columns, after: Columns) -> None:
        """Add the fall of accuracy over the problems that are answered before and after."""
        answered_ids = before.answered_ids & after.answered_ids
        before = self.select_columns(lambda problem: problem.id in answered_ids)
        after = self.select_columns(lambda problem: get_original_id(problem) in answered_ids, "switched")
        fall = m.paired_gap(before.correct, after.correct, before.units)
        test = self.test_gap(fall, before, after)
        chance = float(before.chances.mean() - after.chances.mean())
        name = ("switching", "switchable", "unswitched_minus_switched")
        self.rows[name] = Expected(fall.value, len(before.problems), chance, fall, test)

    def add_association(self) -> None:
        associative = self.select_label("associative", True)
        non_associative = self.select_label("associative", False)
        self.add_right("association", "associative", associative)
        self.add_right("association", "non_associative", non_associative)
        name = ("association", "all", "associative_minus_others")
        self.add_gap(name, associative, non_associative, has_null=True)
        clean_groups = set(self.sizes) - set(associative.groups)
        clean = self.select_columns(lambda problem: problem.group in clean_groups)
        self.add_right("association", "non_associative_groups", clean)

    def add_variants(self) -> None:
        subsets = [("artifacts", variant, variant) for variant in ("no-cands", "part-sent", "local-context")]
        subsets.append(("special-word", "all", "special-word"))
        for protocol, subset, variant in subsets:
            columns = self.select_columns(variant=variant)
            self.add_right(protocol, subset, columns)
            self.add_whole_groups(protocol, subset, columns)

    def add_gender(self) -> None:
        self.add_right("gender", "neutral", self.select_label("gender", "neutral"))
        for gender in ("female", "male"):
            self.add_gotcha(gender)
        self.add_stereotypes()

    def add_gotcha(self, gender: str) -> None:
        """Add the rows of one gender, split by whether the answer is against the statistics."""

        def is_gotcha(problem: Problem) -> bool | None:
            share_of_women = problem.labels["bls_pct_female"]
            return m.gotcha(problem.labels["gender"], problem.answer == 0, share_of_women)

        columns = self.select_label("gender", gender)
        choices = self.choices["original"]
        gotcha = Columns([problem for problem in columns.problems if is_gotcha(problem) is True], choices)
        not_gotcha = Columns([problem for problem in columns.problems if is_gotcha(problem) is False], choices)
        self.add_right("gender", gender, columns)
        self.add_right("gender", f"{gender}.gotcha", gotcha, is_tested=False)
        self.add_right("gender", f"{gender}.not_gotcha", not_gotcha, is_tested=False)
        self.add_gap(("gender", gender, "delta"), not_gotcha, gotcha)
        answered = self.select_answered(columns)
        flags = [is_gotcha(problem) for problem in answered.problems]
        delta = m.delta(answered.correct, flags)
        assert self.rows["gender", gender, "delta"].value == pytest.approx(delta)
        self.rows["gender", gender, "absolute_delta"] = Expected(abs(delta), len(answered.problems))

    def add_stereotypes(self) -> None:
        pro = self.select_label("stereotype", "pro")
        anti = self.select_label("stereotype", "anti")
        for side, columns in (("pro", pro), ("anti", anti)):
            self.add_right("gender", side, columns, is_tested=False)
            f1 = m.f1(columns.predictions, columns.answers).macro
            self.rows["gender", side, "f1"] = Expected(f1, len(columns.problems))
        name = ("gender", "all", "pro_minus_anti")
        self.add_gap(name, pro, anti)
        both_sides = self.select_columns(lambda problem: problem.labels["stereotype"] != "none")
        answered = self.select_answered(both_sides)
        stereotypes = [problem.labels["stereotype"] for problem in answered.problems]
        difference = m.pro_minus_anti(answered.correct, stereotypes)
        assert self.rows[name].value == pytest.approx(difference)

    def add_position(self) -> None:
        first = self.select_columns(lambda problem: len(problem.candidates) == 2 and problem.answer == 0)
        second = self.select_columns(lambda problem: len(problem.candidates) == 2 and problem.answer == 1)
        self.add_right("position", "answer_first", first, is_tested=False)
        self.add_right("position", "answer_second", second, is_tested=False)
        self.add_gap(("position", "all", "first_minus_second"), first, second)
        forward = self.select_columns(lambda problem: len(problem.candidates) == 2)
        backward = self.select_columns(lambda problem: len(problem.candidates) == 2, "reversed")
        orders = [(1, 0)] * len(forward.problems)
        choices = forward.predictions
        choices_in_reverse = m.in_first_order(backward.predictions, orders)
        chance = float(m.choice_kept_chance(choices, choices_in_reverse, forward.candidates).mean())
        is_kept = m.choice_kept(choices, choices_in_reverse)
        invariance = m.order_invariance(choices, backward.predictions, orders)
        self.add_share(("position", "all", "order_invariance"), invariance, is_kept, forward.names, chance)
        is_turned = m.choice_turned(choices, choices_in_reverse)
        share_turned = float(is_turned.mean())
        self.add_share(("position", "all", "order_turned"), share_turned, is_turned, forward.names, chance)

    def add_dependence(self) -> None:
        pairs = self.select_columns(lambda problem: self.sizes[problem.group] == 2)
        options: list[str | None] = []
        for problem, choice in zip(pairs.problems, pairs.predictions, strict=True):
            option = None if choice is None else ENGLISH.bare(problem.candidates[choice])
            options.append(option)
        silent_groups = {group for group, option in zip(pairs.groups, options, strict=True) if option is None}
        full_indices = [index for index, group in enumerate(pairs.groups) if group not in silent_groups]
        full_groups = [pairs.groups[index] for index in full_indices]
        candidates = [pairs.candidates[index] for index in full_indices]
        flags = m.same_options(options, pairs.groups)
        chance = m.same_option_chance(candidates, full_groups)
        same_option = m.same_option(options, pairs.groups)
        group_names = list(dict.fromkeys(full_groups))
        self.add_share(("dependence", "complete", "same_option"), same_option, flags, group_names, chance)
        independent = m.independent_group_accuracy(pairs.correct, pairs.groups)
        guessed = float(pairs.chances.mean()) ** 2
        name = ("dependence", "complete", "independent_group_accuracy")
        self.rows[name] = Expected(independent, len(set(pairs.groups)), guessed)

    def add_structure(self) -> None:
        last_groups = set()
        for name, twins in self.dataset.groups.items():
            if special_is_last(twins[0], twins[1]):
                last_groups.add(name)
        other_groups = set(self.sizes) - last_groups
        for subset, group_names in (("special_last", last_groups), ("special_not_last", other_groups)):
            columns = self.select_columns(lambda problem, group_names=group_names: problem.group in group_names)
            self.add_right("structure", subset, columns)
            self.add_whole_groups("structure", subset, columns)
        self.add_connectives()

    def add_connectives(self) -> None:
        counts = Counter(connective(problem) for problem in self.dataset)
        common_words = [word for word, count in counts.items() if count >= FEWEST_OF_A_CONNECTIVE]
        for word in common_words:
            columns = self.select_columns(lambda problem, word=word: connective(problem) == word)
            self.add_right("structure", f"connective.{word}", columns)
        rare = self.select_columns(lambda problem: connective(problem) not in common_words)
        self.add_right("structure", "connective.other", rare)

    def add_length(self) -> None:
        candidates = []
        for problem in self.dataset:
            candidates += problem.candidates
        pieces = piece_counts(candidates)

        def count_pieces(problem: Problem) -> list[int]:
            return [pieces[candidate] for candidate in problem.candidates]

        def is_equal(problem: Problem) -> bool:
            return len(set(count_pieces(problem))) == 1

        equal = self.select_columns(lambda problem: len(problem.candidates) == 2 and is_equal(problem))
        unequal = self.select_columns(lambda problem: len(problem.candidates) == 2 and not is_equal(problem))
        self.add_right("length", "equal", equal)
        self.add_right("length", "unequal", unequal)
        flags = []
        clusters = []
        for problem, choice, name in zip(unequal.problems, unequal.predictions, unequal.names, strict=True):
            if choice is not None:
                shorter = int(np.argmin(count_pieces(problem)))
                flags.append(choice == shorter)
                clusters.append(name)
        self.add_share(("length", "unequal", "shorter_chosen"), float(np.mean(flags)), flags, clusters, 0.5)

    def add_stability(self) -> None:
        after = self.select_columns(variant="perturbed.later")
        perturbed_ids = set(after.ids)
        before = self.select_columns(lambda problem: problem.id in perturbed_ids)
        self.add_right("stability", "later", after)
        self.add_right("stability", "later", before, "original_accuracy")
        is_kept = m.choice_kept(before.predictions, after.predictions)
        chances = m.choice_kept_chance(before.predictions, after.predictions, before.candidates)
        value = m.stability(before.predictions, after.predictions)
        self.add_share(("stability", "later", "stability"), value, is_kept, before.names, float(chances.mean()))

    def add_strict(self) -> None:
        parts = []
        for variant in ("original", "switched", "perturbed.later"):
            parts.append(self.select_columns(lambda problem: problem.group is not None, variant))
        groups = []
        for part in parts:
            groups += part.groups
        correct = np.concatenate([part.correct for part in parts])
        chances = np.concatenate([part.chances for part in parts])
        flags = m.all_right(correct, groups)
        chance = m.group_accuracy_chance(chances, groups)
        value = m.group_accuracy(correct, groups)
        group_names = list(m.complete_groups(groups))
        self.add_share(("strict", "complete", "group_accuracy"), value, flags, group_names, chance)

    def add_luck(self) -> None:
        columns = self.select_columns()
        n = len(columns.problems)
        right_count = int(columns.correct.sum())
        p_chance = m.p_chance(right_count, n, columns.chances)
        self.rows["luck", "all", "p_chance"] = Expected(p_chance, n)
        self.rows["luck", "all", "p_best_of_10"] = Expected(m.p_best_of(10, p_chance), n)
        null, _ = self.make_null(columns)
        test = null.right()
        self.rows["luck", "all", "p_null"] = Expected(test.p_as_high, n)
        self.rows["luck", "all", "p_null_best_of_10"] = Expected(m.p_best_of(10, test.p_as_high), n)
        design_effect = m.share(columns.correct, columns.units).design_effect
        problems_needed = m.n_to_beat_chance(right_count / n, test.null, design_effect=design_effect)
        if problems_needed is not None:
            self.rows["luck", "all", "n_to_beat_chance"] = Expected(problems_needed, n)


def group_choices(predictions: Iterable[Prediction]) -> dict[str, dict[str, int | None]]:
    """Choices by variant and by the original's id."""
    choices: dict[str, dict[str, int | None]] = {}
    for row in predictions:
        choices.setdefault(row.variant, {})[row.id] = row.prediction
    return choices


def audit_predictions(dataset: Dataset, predictions: Sequence[Prediction], folder) -> dict[RowName, Metric]:
    """The rows of an audit of predictions in a file, with a perturbed version beside."""
    later_path = folder / "later.jsonl"
    write(perturb_dataset(dataset), later_path, "jsonl")
    predictions_path = folder / "dice.jsonl"
    write_predictions(predictions, predictions_path)
    run = audit(dataset, predictions=[predictions_path], perturbed=[str(later_path)])
    return {(row.protocol, row.subset, row.metric): row for row in run.metrics}


def check_row(row: Metric, expected: Expected, name: RowName) -> None:
    """Assert that a row has the expected value, number and chance, and its interval and test."""
    assert row.value == pytest.approx(expected.value), name
    assert row.n == expected.n, name
    if expected.chance is None:
        assert row.chance is None, name
    else:
        assert row.chance == pytest.approx(expected.chance), name
    if expected.estimate is None:
        assert (row.low, row.high) == (None, None), name
        assert set(row.details) <= {"tied"}, name
    else:
        check_estimate(row, expected, name)


def check_estimate(row: Metric, expected: Expected, name: RowName) -> None:
    interval = expected.estimate.interval()
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high)), name
    if expected.test is not None:
        test = (row.details["null"], row.details["p"])
        assert test == pytest.approx((expected.test.null, expected.test.p)), name
    elif expected.is_tested:
        assert row.details["p"] == pytest.approx(expected.estimate.p(expected.chance)), name
    else:
        assert not {"p", "null"} & row.details.keys(), name
    if "first" in row.details:
        assert row.details["first"] - row.details["second"] == pytest.approx(row.value), name


@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_its_metric_on_raw_columns(seed, tmp_path):
    dataset = make_dataset(60)
    versions = make_versions(dataset)
    predictions = draw_predictions(versions, seed)
    rows = audit_predictions(dataset, predictions, tmp_path)
    expected_rows = Table(dataset, versions, group_choices(predictions)).rows
    assert set(rows) == set(expected_rows)
    protocols = {protocol for protocol, _, _ in rows}
    for_other_scorers = {"naturalness", "samples"}  # a model that reads, and several samples
    assert protocols == set(PROTOCOLS) - for_other_scorers
    for name, row in rows.items():
        check_row(row, expected_rows[name], name)


def draw_guesses(versions: Mapping[str, list[Problem]], choices: Choices, rng: np.random.Generator) -> Choices:
    """Guesses wherever an answer was given, and abstentions wherever not."""
    guesses: dict[str, dict[str, int | None]] = {}
    for variant, problems in versions.items():
        guesses[variant] = {}
        for problem in problems:
            problem_id = get_original_id(problem)
            is_silent = choices[variant][problem_id] is None
            guess = None if is_silent else int(rng.integers(len(problem.candidates)))
            guesses[variant][problem_id] = guess
    return guesses


NOT_GUESSED = {"abstained", "majority_class", "absolute_delta", "f1", "p_chance", "p_best_of_10", "n_to_beat_chance"}
NOT_GUESSED |= {"p_null", "p_null_best_of_10"}
"""Rows that say nothing of choices, or whose value guessing does not have on the average."""


def test_chance_is_what_many_guessers_with_the_same_abstentions_get(tmp_path):
    dataset = make_dataset(30)
    versions = make_versions(dataset)
    predictions = draw_predictions(versions, seed=9)
    choices = group_choices(predictions)
    rng = np.random.default_rng(1)
    rows = audit_predictions(dataset, predictions, tmp_path)
    guesser_tables = []
    for _ in range(100):
        guesses = draw_guesses(versions, choices, rng)
        guesser_tables.append(Table(dataset, versions, guesses).rows)
    for name, row in rows.items():
        metric = name[2]
        if metric in NOT_GUESSED:
            assert row.low is None, name
            continue
        values = np.array([table[name].value for table in guesser_tables])
        error = max(values.std() / np.sqrt(len(values)), 1e-9)
        # The square of a mean is a little more than the mean squared: by its variance, and no more.
        bias = 0.25 / row.n if metric == "independent_group_accuracy" else 0.0
        distance = abs(values.mean() - row.chance)
        assert distance <= 4.5 * error + bias, (name, values.mean(), row.chance)


def test_the_probability_of_luck_is_how_often_guessers_with_the_same_abstentions_do_as_well():
    dataset = make_dataset(30)
    versions = {"original": list(dataset)}
    choices = group_choices(draw_predictions(versions, seed=9))
    columns = Columns(versions["original"], choices["original"])
    problem_count = len(columns.chances)
    rng = np.random.default_rng(2)
    is_right = rng.random((20_000, problem_count)) < columns.chances
    right_counts = is_right.sum(axis=1)
    for right in (15, 20, 25, 30):
        lucky_share = (right_counts >= right).mean()
        p_chance = m.p_chance(right, problem_count, columns.chances)
        assert p_chance == pytest.approx(lucky_share, abs=0.015)


def add_guess_metrics(totals: Counter[str], columns: Columns) -> None:
    """Add the metrics of one guess to the totals of all."""
    totals["accuracy"] += m.accuracy(columns.predictions, columns.answers)
    totals["expected_accuracy"] += m.expected_accuracy(columns.predictions, columns.answers, columns.candidates)
    totals["group_accuracy"] += m.group_accuracy(columns.correct, columns.groups)
    totals["one_right"] += m.one_right(columns.correct, columns.groups)
    totals["none_right"] += m.none_right(columns.correct, columns.groups)


def average_guesses(dataset: Dataset, silent: Problem) -> dict[str, float]:
    """Means of the metrics over all guesses at every problem but the silent one."""
    answered_problems = [problem for problem in dataset if problem is not silent]
    guess_count = 2 ** len(answered_problems)
    totals: Counter[str] = Counter()
    for number in range(guess_count):
        choices = {problem.id: number >> index & 1 for index, problem in enumerate(answered_problems)}
        choices[silent.id] = None
        add_guess_metrics(totals, Columns(dataset, choices))
    return {metric: total / guess_count for metric, total in totals.items()}


def test_chance_is_exact_where_every_guess_can_be_enumerated(tmp_path):
    """A pair, a triplet and one alone, one answer missing: all 32 guesses, each as likely."""
    dataset = make_dataset(3)
    assert [len(members) for members in dataset.groups.values()] == [3, 2]
    silent = dataset[4]
    rows = []
    for problem in dataset:
        choice = None if problem is silent else 0
        rows.append(Prediction(problem.id, "original", "one", "own", None, choice, problem.answer))
    path = tmp_path / "p.jsonl"
    write_predictions(rows, path)
    run = audit(dataset, predictions=[path])
    exact_chances = average_guesses(dataset, silent)
    assert exact_chances["accuracy"] == pytest.approx(5 / 12)
    assert exact_chances["group_accuracy"] == pytest.approx((1 / 8 + 0) / 2)
    for metric in ("accuracy", "expected_accuracy"):
        chance = run.find("accuracy", "all", metric).chance
        assert chance == pytest.approx(exact_chances[metric])
    for metric in ("group_accuracy", "one_right", "none_right"):
        chance = run.find("groups", "complete", metric).chance
        assert chance == pytest.approx(exact_chances[metric])
