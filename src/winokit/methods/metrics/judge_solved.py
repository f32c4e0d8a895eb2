"""A door of the judge: whether groups are solved beyond chance.

Chance is right answers that change places. `winokit evolve` retires what models solve beyond chance. What several
models agree on is one scorer's choices, and its null is the one null (`winokit.methods.metrics.null`).
"""

from winokit.answers import Answers
from winokit.methods.metrics.groups import complete_groups
from winokit.methods.metrics.null import NullTest, right_test, whole_groups_test


def p_solved(answers: Answers) -> float:
    """Probability that chance solves at least as many groups.

    Chance is right answers that change places. Without groups, problems are counted. Not a mid-p-value: the observed
    count is in it whole, so that what is claimed at a level is claimed no more often. 1 if nothing can change places,
    or if there are no answers.
    """
    if not len(answers):
        return 1.0
    has_groups = bool(complete_groups(answers.groups, answers.group_sizes))
    test = whole_groups_test(answers) if has_groups else right_test(answers)
    return p_at_least(test)


def p_at_least(test: NullTest) -> float:
    """Probability of at least the observed count under the null.

    1 if the count cannot vary.
    """
    distribution = test.distribution
    if not distribution.varies:
        return 1.0
    index = max(test.observed - distribution.start, 0)
    share = float(distribution.chances[index:].sum() / distribution.chances.sum())
    return min(share, 1.0)
