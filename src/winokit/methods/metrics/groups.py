"""Group scores: a group of twins is worth its worst member.

Elazar, Zhang, Goldberg and Roth, "Back to Square One" (EMNLP 2021): score each problem of a group and give the group
the worse score, so that a lucky or artifact-ridden twin does not count. Gardner et al., "Evaluating Models' Local
Decision Boundaries via Contrast Sets" (Findings of EMNLP 2020): the same of any number of problems around one, as
contrast consistency. Only complete groups have a score: two or more members, and none of them missing.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain, count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.methods import arrays
from winokit.problem import Problem, grouped

Sizes = Mapping[Any, int]
"""Number of members of each group in the whole dataset."""
TextKey: TypeAlias = tuple[str, str, tuple[str, ...], str]
MemberKey: TypeAlias = tuple[int, bool, int, int, TextKey]


def complete_groups(groups: arrays.Groups, sizes: Sizes | None = None) -> dict[Hashable, list[int]]:
    """Row indices of each complete group, in order of appearance.

    `groups` has the group's name of each problem, None for a problem without one. A group needs two members or more;
    with `sizes`, as many as that says. Without `sizes`, a triplet that lost one member passes for a pair.

    >>> complete_groups(["a", "b", "a", None])
    {'a': [0, 2]}
    """
    rows = grouped(zip(groups, count()))
    rows.pop(None, None)
    least = {} if sizes is None else sizes
    complete = {}
    for group, members in rows.items():
        needed = max(2, least.get(group, 0))
        if len(members) >= needed:
            complete[group] = members
    return complete


class GroupLayout:
    """Rows of complete groups side by side, for fast sums over groups.

    Functions of this module take a layout in place of groups, so that it is computed once.
    """

    def __init__(self, groups: arrays.Groups, sizes: Sizes | None) -> None:
        self.members = list(complete_groups(groups, sizes).values())
        self._length = len(groups)
        self.rows = np.fromiter(chain.from_iterable(self.members), np.int64)
        self.sizes = np.fromiter(map(len, self.members), np.int64, len(self.members))
        self.starts = np.cumsum(self.sizes) - self.sizes

    def __len__(self) -> int:
        return self._length

    def reduce(self, how: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Combine the values of each group into one by a NumPy ufunc.

        `values` has one number per row of the table.
        """
        reduced: NDArray[Any] = how.reduceat(values[self.rows], self.starts)
        return reduced


Grouped: TypeAlias = arrays.Groups | GroupLayout


def _make_layout(groups: Grouped, sizes: Sizes | None) -> GroupLayout:
    """Layout of the complete groups.

    Raises BadInput if there is none.
    """
    layout = groups if isinstance(groups, GroupLayout) else GroupLayout(groups, sizes)
    if not layout.members:
        raise BadInput("no complete group among the problems: a group score needs twins")
    return layout


def all_right(correct: arrays.Flags, groups: Grouped, sizes: Sizes | None = None) -> arrays.BoolArray:
    """Whether every member of each complete group is right.

    `correct` says which problems are right, `groups` and `sizes` are as in `complete_groups`. The result is in the
    order of the groups' appearance.
    """
    arrays.same_length(flags=correct, groups=groups)
    return _make_layout(groups, sizes).reduce(np.logical_and, arrays.as_flags(correct))


def group_accuracy(correct: arrays.Flags, groups: arrays.Groups, sizes: Sizes | None = None) -> float:
    """Share of complete groups whose every problem is answered correctly.

    `groups` has the group's name of each problem, None for a problem without one. `sizes` has the number of members
    that a complete group needs, by default two. Independent guessing yields 0.25 on pairs, not 0.5, and a sixteenth
    on groups of four.

    >>> group_accuracy([True, True, True, False, True], ["a", "a", "b", "b", None])
    0.5
    """
    return float(all_right(correct, groups, sizes).mean())


def group_scores(scores: arrays.Values, groups: Grouped, sizes: Sizes | None = None) -> arrays.FloatArray:
    """Lowest score of the members of each complete group.

    Elazar et al. (2021). Scores are any numbers of which more is better: right or wrong, credits for abstentions,
    probabilities.

    >>> group_scores([0.9, 0.2, 1.0, 0.5], ["a", "a", "b", "b"]).tolist()
    [0.2, 0.5]
    """
    arrays.same_length(scores=scores, groups=groups)
    return _make_layout(groups, sizes).reduce(np.minimum, arrays.as_values(scores))


def no_right(correct: arrays.Flags, groups: Grouped, sizes: Sizes | None = None) -> arrays.BoolArray:
    """Whether no member of each complete group is right."""
    arrays.same_length(flags=correct, groups=groups)
    return ~_make_layout(groups, sizes).reduce(np.logical_or, arrays.as_flags(correct))


def some_right(correct: arrays.Flags, groups: Grouped, sizes: Sizes | None = None) -> arrays.BoolArray:
    """Whether some members of each complete group are right, not all."""
    return ~all_right(correct, groups, sizes) & ~no_right(correct, groups, sizes)


def none_right(correct: arrays.Flags, groups: arrays.Groups, sizes: Sizes | None = None) -> float:
    """Share of complete groups without a right answer."""
    return float(no_right(correct, groups, sizes).mean())


def one_right(correct: arrays.Flags, groups: arrays.Groups, sizes: Sizes | None = None) -> float:
    """Share of complete groups with some right answers, but not all."""
    return float(some_right(correct, groups, sizes).mean())


def all_right_chance(chances: arrays.Values, groups: Grouped, sizes: Sizes | None = None) -> arrays.FloatArray:
    """Probability that guessing gets each complete group right as a whole.

    0.25 for a pair. `chances` are those of `guess_chance`: 0 for an abstention, with which a group cannot be right.
    """
    arrays.same_length(chances=chances, groups=groups)
    return _make_layout(groups, sizes).reduce(np.multiply, arrays.as_values(chances))


def no_right_chance(chances: arrays.Values, groups: Grouped, sizes: Sizes | None = None) -> arrays.FloatArray:
    """Probability that guessing gets no member of each complete group right."""
    return all_right_chance(1 - arrays.as_values(chances), groups, sizes)


def some_right_chance(chances: arrays.Values, groups: Grouped, sizes: Sizes | None = None) -> arrays.FloatArray:
    """Probability that guessing gets each complete group right in part.

    0.5 for a pair.
    """
    return 1 - all_right_chance(chances, groups, sizes) - no_right_chance(chances, groups, sizes)


def group_accuracy_chance(chances: arrays.Values, groups: arrays.Groups, sizes: Sizes | None = None) -> float:
    """Group accuracy of guessing with the same abstentions.

    0.25 on pairs without abstentions. `chances` are those of `guess_chance`.
    """
    return float(all_right_chance(chances, groups, sizes).mean())


def same_options(
    options: Sequence[Hashable | None], groups: arrays.Groups, sizes: Sizes | None = None
) -> arrays.BoolArray:
    """Whether all members of each complete group got the same choice.

    `options` are the choices: candidate indices where a group's members list their candidates in one order, else the
    candidates themselves (two of WSC's pairs list different ones). Groups with an abstention (None) are left out;
    raises BadInput if no group is left.
    """
    arrays.same_length(options=options, groups=groups)
    are_same = []
    for rows in complete_groups(groups, sizes).values():
        chosen = {options[row] for row in rows}
        if None not in chosen:
            are_same.append(len(chosen) == 1)
    if not are_same:
        raise BadInput("no complete group is answered in full")
    return np.array(are_same, np.bool_)


def same_option(options: Sequence[Hashable | None], groups: arrays.Groups, sizes: Sizes | None = None) -> float:
    """Share of complete groups whose members all got the same choice.

    Groups with an abstention are left out. Twins have opposite answers, so on pairs this is the share that is right
    in part: a model deaf to the special word has 1, a perfect one 0, and guessing 0.5.
    """
    return float(same_options(options, groups, sizes).mean())


def same_option_chance(candidates: arrays.Counts, groups: arrays.Groups, sizes: Sizes | None = None) -> float:
    """Probability that guessing gives all members of a group one choice.

    It is the mean over complete groups. `candidates` are the numbers of candidates.
    """
    number = arrays.as_candidates(candidates).astype(np.float64)
    # The fewest candidates any member has are the options that all members share.
    shared = _make_layout(groups, sizes).reduce(np.minimum, number)
    group_chances = shared * all_right_chance(1 / number, groups, sizes)
    return float(group_chances.mean())


def independent_group_accuracy(correct: arrays.Flags, groups: arrays.Groups, sizes: Sizes | None = None) -> float:
    """Group accuracy if members were right independently of one another.

    It is p² on pairs and p³ on triplets, where p is the accuracy over all members of complete groups. Group accuracy
    below this is anti-correlation (a favourite option serves one twin and fails the other), above it shared
    difficulty. One p is for all, and not one for first and one for second members, because which twin comes first is
    an accident of the file.

    >>> independent_group_accuracy([True, False, True, False], ["a", "a", "b", "b"])
    0.25
    """
    arrays.same_length(flags=correct, groups=groups)
    layout = _make_layout(groups, sizes)
    share = arrays.as_flags(correct)[layout.rows].mean()
    return float((share**layout.sizes).mean())


def text_key(problem: Problem) -> TextKey:
    """Sort key of a problem by its texts.

    It does not depend on the problem's line in the file.
    """
    return problem.before, problem.after, tuple(sorted(problem.candidates)), problem.query or ""


def sort_by_text(problems: Sequence[Problem], rows: arrays.IntArray) -> arrays.IntArray:
    """Sort row indices by the texts of their problems.

    >>> later, sooner = (Problem(f"{name} left because ", " was late.", ("he", "she")) for name in ("Ruth", "Ana"))
    >>> sort_by_text([later, sooner], np.array([0, 1])).tolist()
    [1, 0]
    """
    ordered = sorted(rows.tolist(), key=lambda row: text_key(problems[row]))
    return np.array(ordered, np.int64)


def sort_pairs_by_text(problems: Sequence[Problem], pairs: arrays.IntArray) -> arrays.IntArray:
    """Sort pairs of row indices by text, and the two within each.

    The result has a row per pair.
    """
    sorted_pairs = [sort_by_text(problems, pair) for pair in pairs]
    sorted_pairs.sort(key=lambda pair: text_key(problems[pair[0]]))
    return np.array(sorted_pairs, np.int64).reshape(-1, 2)


def listing_ranks(problems: Sequence[Problem], rows: arrays.IntArray) -> list[int]:
    """Rank of each row's order of candidates by frequency.

    Rows with the same candidates in other orders are compared: the most frequent order has 0.

    >>> said = [Problem(text, " won.", ("she", "he")[::step]) for text, step in zip("abc", (1, -1, 1))]
    >>> listing_ranks(said, np.arange(3))
    [0, 1, 0]
    """
    listings = Counter(problems[row].candidates for row in rows)
    by_frequency = sorted(listings, key=lambda listing: (-listings[listing], listing))
    listed_alike = grouped((tuple(sorted(listing)), listing) for listing in by_frequency)
    rank_of = {listing: rank for alike in listed_alike.values() for rank, listing in enumerate(alike)}
    return [rank_of[problems[row].candidates] for row in rows]


def sort_members(problems: Sequence[Problem], rows: arrays.IntArray) -> arrays.IntArray:
    """Sort the rows of a unit by shape, then by text.

    Yes/no questions on one text stay together. Texts with many questions come first, so that units of as many texts
    and questions are alike.
    """
    questions = Counter((problems[row].before, problems[row].after) for row in rows if problems[row].query is not None)
    ranks = dict(zip(rows.tolist(), listing_ranks(problems, rows), strict=True))

    def member_key(row: int) -> MemberKey:
        problem = problems[row]
        is_question = problem.query is not None
        question_count = questions[problem.before, problem.after] if is_question else 0
        return len(problem.candidates), is_question, ranks[row], -question_count, text_key(problem)

    return np.array(sorted(rows.tolist(), key=member_key), np.int64)
