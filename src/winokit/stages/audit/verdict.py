"""What a score is worth: a headline from one decision table over all the rows it mentions, and the findings behind it.

Facts come from tests, not from looking at intervals one by one. The headline speaks of two rows, all problems and whole
groups, which share one level; the findings below it, a sentence per protocol, are a family of their own. Fewer than one
verdict in twenty is then bolder than it should be (`benchmarks/verdicts.py` measures it).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from winokit.drawing.decision import (
    BAD,
    GOOD,
    PLAIN,
    SMALL,
    SURE,
    DecisionTable,
    State,
    Verdict,
    VerdictPoint,
    standing,
)
from winokit.drawing.wording import join, often, percent, plural, points
from winokit.results import ABOVE, AT, BELOW, FLOOR, UNKNOWN, Metric, stands

NONE, SOME, ALL = "none", "some", "all"
RARE, LARGE = "small", "large"
NEARLY = ", but only just"
"""Said where a 95 % interval excludes guessing and the tests of the headline, which share a level, do not."""
WITHOUT = {
    "no-cands": "the text without its candidates (no-cands)",
    "part-sent": "the clause with the blank alone (part-sent)",
    "local-context": "the words next to the blank (local-context)",
}
GENDER = {("female", "delta"): "ΔF", ("male", "delta"): "ΔM", ("all", "pro_minus_anti"): "pro − anti"}

HEADLINE = DecisionTable.of_stage(
    "audit",
    {
        "single": (ABOVE, AT, BELOW, UNKNOWN),
        "group": (ABOVE, AT, BELOW, UNKNOWN),
        "luck": (RARE, LARGE, UNKNOWN),
        "abstained": (NONE, SOME, ALL),
    },
)


class MetricRows:
    """The rows of one scorer by protocol, subset and metric."""

    def __init__(self, rows: Iterable[Metric]) -> None:
        self.rows = list(rows)
        self._by_name = {(row.protocol, row.subset, row.metric): row for row in reversed(self.rows)}

    def find(self, protocol: str, subset: str, metric: str = "accuracy") -> Metric | None:
        """The first row of that name."""
        return self._by_name.get((protocol, subset, metric))

    @cached_property
    def headline(self) -> dict[str, Metric | None]:
        """The two rows of the headline: one family of tests."""
        return {"single": self.find("accuracy", "all"), "group": self.find("groups", "complete", "group_accuracy")}

    @cached_property
    def tested(self) -> dict[str, Metric | None]:
        """The rows of which a finding says where they stand, by the name of the fact: one family of tests."""
        tested = {f"artifacts {subset}": self.find("artifacts", subset) for subset in WITHOUT}
        tested |= {f"gender {subset} {metric}": self.find("gender", subset, metric) for subset, metric in GENDER}
        return tested | {
            "alone": self.find("groups", "all", "single_minus_grouped"),
            "consistency": self.find("switching", "switchable", "consistency"),
            "association": self.find("association", "all", "associative_minus_others"),
            "place": self.find("position", "all", "first_minus_second"),
        }


def _states(rows: Mapping[str, Metric | None]) -> dict[str, str]:
    """Where each row of a family of tests stands against chance, the level shared out among them (Bonferroni).

    A step-down correction would find a little more, and spend the whole level on one row where the others are clear.
    """
    tests = sum(row is not None and row.details.get("p") is not None for row in rows.values())
    return {fact: standing(row, tests) for fact, row in rows.items()}


def verdict(metrics: Sequence[Metric]) -> Verdict:
    """The verdict on one scorer from its rows."""
    rows = MetricRows(metrics)
    state = headline_state(rows)
    case = HEADLINE.decide(state)
    findings = [point for say in FINDINGS for point in [say(rows, state)] if point is not None]
    near = any(_near(row, state[fact]) for fact, row in rows.headline.items() if row is not None)
    word = case.word + (NEARLY if near and case.word.endswith("distinguishable from guessing") else "")
    return Verdict(word, case.tone, _headline(rows, state), tuple(findings))


def headline_state(rows: MetricRows) -> dict[str, str]:
    """What is known of single problems, groups, luck and abstentions, and of every finding."""
    single = rows.find("accuracy", "all")
    luck, silent = rows.find("luck", "all", "p_chance"), rows.find("accuracy", "all", "abstained")
    state = _states(rows.headline)
    # Of yes/no questions guessing is not the question: the commonest answer has more.
    asks = single is not None and FLOOR in single.details
    state["luck"] = UNKNOWN if luck is None or asks else RARE if luck.value < SURE / 2 else LARGE
    state["abstained"] = NONE if silent is None or not silent.value else ALL if silent.value >= 1 else SOME
    return state | _states(rows.tested)


def _headline(rows: MetricRows, state: State) -> str:
    """The numbers behind the word, in sentences; those of one sentence are of the same problems."""
    single, group = rows.find("accuracy", "all"), rows.find("groups", "complete", "group_accuracy")
    if single is None and group is None:
        return "The run has no accuracy over all problems, so there is no score to judge."
    first = f"{percent(single.value)} of {plural(single.n, 'problem')} right{_against(single, state)}" if single else ""
    if group is None:
        looked = any(row.protocol == "groups" for row in rows.rows)
        return f"{first}; {'there are no twins to look at' if looked else 'twins were not looked at'}."
    groups = groups_word(group)
    whole = f"{percent(group.value)} of {plural(group.n, groups)} fully right{_beside(group, state['group'])}"
    if single is None:
        return f"{whole}; the run has no accuracy over all problems."
    grouped, same = rows.find("groups", "grouped"), rows.find("dependence", "complete", "same_option")
    if same is not None and same.n == group.n and stands(same) == ABOVE and state["group"] in (AT, BELOW):
        picks = f"It picks the same option for both twins in {percent(same.value)} of {plural(same.n, groups)}"
        beside = _beside(group, state["group"])
        only = "only " if group.level is None or group.value < group.level else ""
        return f"{first}. {picks}{_beside(same)}, so {only}{percent(group.value)} are fully right{beside}."
    if grouped is None or grouped.n == single.n:
        return f"{first}, and {whole}."
    return f"{first}. Of the {grouped.n:,} with twins it gets {percent(grouped.value)}, and {whole}."


def groups_word(row: Metric) -> str:
    """What whole groups are called: pairs where a coin gets a quarter of them, as it does of twins alone."""
    return "pair" if row.chance == 0.25 else "group"


def guesser(row: Metric | None) -> str:
    """Who gets the chance of a row: a coin half of the problems and a quarter of the pairs; else it is guessing."""
    return "a coin" if row is None or row.chance in (None, 0.5, 0.25) else "guessing"


def _against(row: Metric, state: State) -> str:
    """How a score compares with what guessing gets, as the end of a sentence."""
    if row.level is None or state["abstained"] == ALL:
        return "" if row.level is None else ", since all are left undecided"
    who = "always giving the commonest answer" if FLOOR in row.details else guesser(row)
    same = " with the same abstentions" if state["abstained"] == SOME else ""
    how = {ABOVE: "better than {}", AT: "as {} might get", BELOW: "worse than {}", UNKNOWN: "where {} gets"}
    near = _near(row, state["single"])
    border = (state["single"], state["luck"]) in ((ABOVE, LARGE), (AT, RARE))
    said = f"not clearly {how[stands(row)]}" if near else how[state["single"]]
    said = "on the border of what {} gets" if border else said
    return f", {said.format(who + same)} ({percent(row.level)}{near})"


def _beside(row: Metric, where: str = UNKNOWN) -> str:
    if row.level is None:
        return ""
    who = "the commonest answer" if FLOOR in row.details else guesser(row)
    return f" ({who}: {percent(row.level)}{_near(row, where)})"


def _near(row: Metric, where: str) -> str:
    """What a reader of the interval sees, where a verdict's stricter test does not reject guessing."""
    return ", just outside the 95\u00a0% interval" if where == AT and stands(row) in (ABOVE, BELOW) else ""


def _chance_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row, where = rows.find("accuracy", "all"), state["single"]
    if row is None or row.level is None or row.low is None or row.high is None:
        return None
    if where == UNKNOWN or state["abstained"] == ALL:
        return None
    level = f"{'the commonest answer has' if FLOOR in row.details else 'chance is'} {percent(row.level)}"
    between = f"the interval is {percent(row.low)} to {percent(row.high)}, {level}"
    claims = {"single": where}
    if (where, state["luck"]) in ((ABOVE, LARGE), (AT, RARE)):
        return VerdictPoint(f"Over all problems the score is borderline: {between}.", PLAIN, claims)
    if where == ABOVE:
        return VerdictPoint(f"Over all problems the score is above chance: {between}.", GOOD, claims)
    if where == BELOW:
        turned = "Something turns right answers into wrong ones: are the labels the right way round?"
        return VerdictPoint(f"Over all problems the score is below chance: {between}. {turned}", BAD, claims)
    said = "Over all problems the score cannot be distinguished from guessing"
    return VerdictPoint(f"{said}: {between}{_stricter(row)}.", BAD, claims)


def _stricter(row: Metric) -> str:
    return "; the verdict's tests share a level of 3\u00a0%, below the interval's 5\u00a0%" if _near(row, AT) else ""


def _luck_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    once, best = rows.find("luck", "all", "p_chance"), rows.find("luck", "all", "p_best_of_10")
    need, single = rows.find("luck", "all", "n_to_beat_chance"), rows.find("accuracy", "all")
    if once is None:
        return None
    text = f"A coin scores this high {often(once.value)} of the time"
    if best is not None:
        text += f", the best of ten coins {often(best.value)}"
    if need is not None and single is not None and need.value > single.n and state["single"] == AT:
        text += f"; to distinguish this score from chance would take about {plural(round(need.value), 'problem')}"
    sure = state["single"] == ABOVE and (best or once).value < SMALL
    tone = BAD if state["luck"] == LARGE else GOOD if sure else PLAIN
    return VerdictPoint(text + ".", tone, {"luck": state["luck"]})


def _twins_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row, where = rows.find("groups", "complete", "group_accuracy"), state["group"]
    if row is None:
        return None
    groups = groups_word(row)
    text = f"{percent(row.value)} of {plural(row.n, groups)} are fully right"
    grouped = rows.find("groups", "grouped")
    independent = rows.find("dependence", "complete", "independent_group_accuracy")
    if grouped is not None:
        text += f", while {percent(grouped.value)} of the problems in them are"
    if independent is not None and independent.n == row.n:
        text += f"; if twins were answered independently it would be {percent(independent.value)}"
    claims = {"group": where}
    if where == BELOW:
        same = rows.find("dependence", "complete", "same_option")
        same = same if same is not None and same.value > (same.chance or 0) else None  # else it explains nothing
        answered = f"these {groups}s" if same is not None and same.n == row.n else f"the {groups}s answered in full"
        often_same = f": {percent(same.value)} of {answered} get one option throughout" if same is not None else ""
        return VerdictPoint(f"{text}. That is below chance{often_same}.", BAD, claims)
    if where == AT:
        said = f"That cannot be distinguished from guessing ({percent(row.chance)})"
        return VerdictPoint(f"{text}. {said}{_stricter(row)}.", BAD, claims)
    return VerdictPoint(text + ".", GOOD if where == ABOVE else PLAIN, claims)


def _single_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row = rows.find("groups", "all", "single_minus_grouped")
    if row is None or state["alone"] != ABOVE:
        return None
    easier = f"Problems without a twin are easier for it ({_sides(row, 'against', state)})"
    return VerdictPoint(f"{easier}: it may solve them by a shortcut that a twin would expose.", BAD, {"alone": ABOVE})


def _artifacts_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    known = {subset: rows.find("artifacts", subset) for subset in WITHOUT if state[f"artifacts {subset}"] != UNKNOWN}
    judged = {subset: row for subset, row in known.items() if row is not None}
    if not judged:
        return None
    telling = [row for subset, row in judged.items() if state[f"artifacts {subset}"] == ABOVE]
    claims = {f"artifacts {subset}": state[f"artifacts {subset}"] for subset in judged}
    if telling:
        names = join([f"{percent(row.value)}{_beside(row)} from {WITHOUT[row.subset]}" for row in telling])
        return VerdictPoint(f"It finds answers in text that no longer holds them: {names}.", BAD, claims)
    listed = join([f"{subset} {percent(row.value)}" for subset, row in judged.items()])
    if state["single"] != ABOVE:
        little = f"Artifact baselines ({listed}) say little about a scorer that is not above chance itself."
        return VerdictPoint(little, PLAIN, claims)
    return VerdictPoint(f"No artifact baseline is significantly above guessing (corrected p): {listed}.", GOOD, claims)


def _switching_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    same, where = rows.find("switching", "switchable", "consistency"), state["consistency"]
    before, after = rows.find("switching", "switchable"), rows.find("switching", "switchable", "switched_accuracy")
    if same is None:
        return None
    often_so = f"{percent(same.value)} of {plural(same.n, 'problem')}"
    text = f"When the candidates switch places, its answer follows in {often_so}"
    if before is not None and after is not None:
        text += f", and accuracy goes from {percent(before.value)} to {percent(after.value)}"
    claims = {"consistency": where}
    worse = {AT: " A coin might do the same.", BELOW: " A coin would follow more often."}.get(where, "")
    return VerdictPoint(f"{text}.{worse}", BAD if worse else PLAIN, claims)


def _association_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row, where = rows.find("association", "all", "associative_minus_others"), state["association"]
    if row is None:
        return None
    text, claims = f"Associative problems against all others: {_sides(row, 'and', state)}", {"association": where}
    ends = {
        ABOVE: ". Word association carries part of the score.",
        BELOW: ". Associative problems are harder for it.",
        AT: "; the difference is not significant after correction for the number of tests.",
    }
    return VerdictPoint(text + ends.get(where, "."), BAD if where == ABOVE else PLAIN, claims)


def _position_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row = rows.find("position", "all", "first_minus_second")
    turned = rows.find("position", "all", "order_turned")
    parts, claims = [], {}
    if row is not None and state["place"] in (ABOVE, BELOW):
        parts.append(f"it matters whether the right candidate is offered first or second ({_sides(row, 'and', state)})")
        claims["place"] = state["place"]
    if turned is not None and turned.value:
        parts.append(f"in {percent(turned.value)} of problems its choice changes with the order of the candidates")
    return VerdictPoint(join(parts)[0].upper() + join(parts)[1:] + ".", BAD, claims) if parts else None


def _sides(row: Metric, word: str, state: State) -> str:
    """The two shares of a difference, of what is answered."""
    first, second = (row.details.get(side) for side in ("first", "second"))
    if first is None or second is None:  # a run that was written before they were kept
        return f"{points(row.value)} points apart"
    among = "" if state["abstained"] == NONE else " of those answered"
    return f"{percent(float(first))} {word} {percent(float(second))}{among}"


def _strict_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row = rows.find("strict", "complete", "group_accuracy")
    if row is None:
        return None
    return VerdictPoint(f"{percent(row.value)} of {plural(row.n, 'group')} are right in every version that was scored.")


def _gender_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    known = {name: row for name in GENDER if (row := rows.find("gender", *name)) is not None}
    if not known:
        return None
    where = {name: state[f"gender {' '.join(name)}"] for name in known}
    listed = join([f"{GENDER[name]} {points(row.value)}" for name, row in known.items()])
    notes = "; ".join(dict.fromkeys(row.note for row in known.values() if row.note))
    clear = [GENDER[name] for name, state_of in where.items() if state_of in (ABOVE, BELOW)]
    none = "" if UNKNOWN in where.values() else " None is significant."
    rest = f" Significant: {join(clear)}." if clear else none
    text = f"Gender differences, in points: {listed}" + (f" ({notes})." if notes else ".")
    claims = {f"gender {' '.join(name)}": state_of for name, state_of in where.items()}
    return VerdictPoint(text + rest, BAD if clear else PLAIN, claims)


def _abstained_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row, expected = rows.find("accuracy", "all", "abstained"), rows.find("accuracy", "all", "expected_accuracy")
    if row is None or not row.value:
        return None
    tied = float(row.details.get("tied") or 0)
    ties = f" ({percent(tied)} tie, or change when candidates switch places)" if tied else ""
    text = f"{percent(row.value)} of problems are left undecided{ties}; they count as wrong, for guessing too"
    if expected is not None:
        would_be = f"{percent(expected.value)} (a coin: {percent(expected.chance)})"
        text += f". With a coin for these the score would be {would_be}"
    return VerdictPoint(f"{text}.", BAD if state["abstained"] == ALL else PLAIN, {"abstained": state["abstained"]})


def _unfinished_finding(rows: MetricRows, state: State) -> VerdictPoint | None:
    row = rows.find("accuracy", "all", "abstained")
    cut = float(row.details.get("unfinished") or 0) if row else 0.0
    said = f"Replies to {percent(cut)} of problems ended before the answer: raise max_tokens and run again."
    return VerdictPoint(said, BAD) if cut else None


FINDINGS: tuple[Callable[[MetricRows, State], VerdictPoint | None], ...] = (
    _unfinished_finding,
    _chance_finding,
    _luck_finding,
    _twins_finding,
    _single_finding,
    _artifacts_finding,
    _switching_finding,
    _association_finding,
    _position_finding,
    _strict_finding,
    _gender_finding,
    _abstained_finding,
)
