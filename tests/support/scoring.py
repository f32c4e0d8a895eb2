"""One dataset scored by one model, as most tests of scorings want it."""

from winokit.methods.scoring.scorer import score_variants


def score(dataset, model, plan=None, **more):
    """A prediction per problem."""
    return score_variants({"original": dataset}, model, plan, **more)
