"""Problems become cases of options, and judgements are given rivals or trained on as a formalization says."""

import json

import pytest

from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName
from winokit.methods.formalizations.base import FORMALIZATIONS, STYLES, Formalization
from winokit.methods.formalizations.cases import alone, cases, guesses, rivals_name, training_cases
from winokit.problem import Dataset, Problem

YES_NO = ("no", "yes")


def judgement(query, answer, before="Jim yelled at Kevin because ", after=" was upset."):
    return Problem(before, after, YES_NO, answer, "he", query=query)


ABOUT_JIM = judgement("Jim", 0)
ABOUT_KEVIN = judgement("Kevin", 1)
ABOUT_BILL = judgement("Bill", 0)
ABOUT_BOOK = judgement("the book", 1, before="Jim lent Bill the book since ", after=" was small.")
KEVIN_LEFT = judgement("Kevin", 0, before="Kevin left because ", after=" had a book.")
BOOK_LEFT = judgement("a book", 0, before="Kevin left because ", after=" had a book.")
JUDGED = Dataset([ABOUT_JIM, ABOUT_KEVIN, ABOUT_BILL, ABOUT_BOOK, KEVIN_LEFT, BOOK_LEFT])


def cases_of(problems, spec):
    """Cases of the problems under a formalization."""
    return cases(problems, Formalization.parse(spec))


def options_of(cases_found):
    return [case.options for case in cases_found]


def test_a_problem_with_candidates_is_its_own_case(twins):
    for problem, case in zip(twins, cases_of(twins, "mc-sent"), strict=True):
        assert case.options == problem.candidates
        assert case.gold == problem.answer


def test_a_case_of_a_problem_without_an_answer_has_none(twins):
    hidden = twins.with_problems(problem.replace(answer=None) for problem in twins)
    for case in cases_of(hidden, "p-sent"):
        assert case.gold is None
        assert set(case.right) == {None}


def test_a_query_is_compared_with_the_other_phrases_of_its_text_and_labels_are_not_looked_at():
    labelled = cases_of(JUDGED, "mc-mlm")
    hidden = JUDGED.with_problems(problem.replace(answer=None) for problem in JUDGED)
    unlabelled = cases_of(hidden, "mc-mlm")
    assert options_of(labelled[:3]) == [("Jim", "Kevin"), ("Kevin", "Jim"), ("Bill", "Jim", "Kevin")]
    assert labelled[0].right == (False, None)
    assert alone(labelled) == 0
    assert options_of(unlabelled) == options_of(labelled)
    for case in unlabelled:
        assert set(case.right) == {None}


def test_a_rival_shares_no_word_with_the_query():
    about_old_man = judgement("the old man", 1, before="The old man saw the heart of a man because ")
    about_man = judgement("man", 1, before="The old man saw the heart of Ann because ")
    case_of_old_man, case_of_man = cases_of([about_old_man, about_man], "mc-sent")
    assert case_of_old_man.options == ("the old man", "the heart", "the heart of a man")
    assert case_of_man.options == ("man", "the heart", "the heart of Ann", "Ann")


def test_without_a_noun_phrase_beside_the_query_there_is_no_rival_and_no_answer():
    lonely = judgement("Kevin", 0, before="Kevin left because ")
    cases_found = cases_of([lonely], "mc-sent")
    assert options_of(cases_found) == [("Kevin",)]
    assert alone(cases_found) == 1


def test_there_are_no_rivals_in_a_language_without_noun_phrases():
    german = Problem("Jim rief Kevin, weil ", " krank war.", YES_NO, 0, "er", query="Kevin", language="de")
    assert alone(cases_of([german], "mc-sent")) == 1


def test_rivals_may_come_from_a_file_and_its_content_is_in_their_name(tmp_path):
    path = tmp_path / "mined.jsonl"
    rows = [{"parser": "mine"}]
    for problem in JUDGED:
        rows.append({"text": problem.sentence, "phrases": ["a cup", "Jim"], "tokens": []})
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), "utf-8")
    formalization = Formalization.parse(f"mc-sent?rivals={path}")
    assert formalization.spec == f"mc-sent?rivals={path}"
    assert options_of(cases(JUDGED, formalization)[:2]) == [("Jim", "a cup"), ("Kevin", "a cup", "Jim")]
    assert rivals_name(formalization).startswith("mine ")
    assert rivals_name(Formalization.parse("mc-sent")) == "phrases 1"
    assert rivals_name(Formalization.parse("p-sent")) is None


def test_a_file_of_rivals_must_be_there():
    with pytest.raises(BadInput, match="en_core_web_sm: cannot be read"):
        cases_of(JUDGED, "mc-sent?rivals=en_core_web_sm")


def test_a_comparer_guesses_among_its_options():
    first_three = JUDGED[:3]
    assert guesses(first_three, "mc-sent") == pytest.approx([1 / 2, 1 / 2, 2 / 3])
    assert guesses(first_three, "p-sent") == [0.5, 0.5, 0.5]
    assert guesses(JUDGED, None) is None


@pytest.mark.parametrize(("split", "guessing"), [("train", 0.517), ("val", 0.590)])
def test_every_question_of_superglue_wsc_has_a_rival(real_file, split, guessing):
    data = load(real_file(f"superglue-wsc/{split}.jsonl"))
    mean_guess = sum(guesses(data, "mc-sent")) / len(data)
    assert alone(cases_of(data, "mc-sent")) == 0
    assert mean_guess == pytest.approx(guessing, abs=5e-4)


@pytest.mark.parametrize("name", ["p-sent", "p-span"])
def test_what_judges_one_option_at_a_time_has_no_rivals(name):
    for case in cases_of(JUDGED, name):
        assert len(case.options) == 1


@pytest.mark.parametrize("name", ["p-sent", "p-span", "mc-sent-no-pair-loss"])
def test_pointwise_formalizations_train_on_every_judgement(name):
    cases_found, notes = training_cases(JUDGED, Formalization.parse(name))
    labels = [(bool(problem.answer),) for problem in JUDGED]
    assert [case.right for case in cases_found] == labels
    assert not notes


@pytest.mark.parametrize("name", ["mc-sent", "mc-sent-no-softmax", "mc-mlm"])
def test_the_code_trains_on_judgements_whose_query_is_right(name):
    (case, other), notes = training_cases(JUDGED, Formalization.parse(name))
    assert case.options == ("Kevin", "Jim")
    assert other.options == ("the book", "Jim", "Bill")
    assert case.gold == 0
    assert other.gold == 0
    assert notes == [
        f"2 of 6 judgements are trained on ({name}): those whose query is right, where there is a rival to compare with"
    ]


def test_the_paper_trains_on_one_judgement_a_pronoun_with_the_right_span_among_its_options():
    (case, _), _ = training_cases(JUDGED, Formalization.parse("mc-mlm?trains=groups"))
    assert case.options == ("Jim", "Kevin")
    assert case.gold == 1


def test_a_right_span_that_is_no_rival_is_an_option_too():
    unmined = judgement("the noise", 1)
    (case,), _ = training_cases(Dataset([ABOUT_JIM, unmined]), Formalization.parse("mc-mlm?trains=groups"))
    assert case.options == ("Jim", "the noise", "Kevin")
    assert case.gold == 1


def pronoun_of(case):
    """Text around the pronoun of a case, by which judgements about one pronoun are told."""
    return case.problem.before, case.problem.after


def test_the_paper_trains_no_pair_loss_on_one_judgement_a_pronoun_too():
    every, none = training_cases(JUDGED, Formalization.parse("mc-sent-no-pair-loss"))
    kept, notes = training_cases(JUDGED, Formalization.parse("mc-sent-no-pair-loss?style=paper"))
    assert len(every) == len(JUDGED)
    assert none == []
    first_options = {}
    for case in every:
        first_options.setdefault(pronoun_of(case), case.options)
    options_kept = {pronoun_of(case): case.options for case in kept}
    assert options_kept == first_options
    assert len(kept) == len(first_options)
    assert len(kept) < len(JUDGED)
    assert notes == [f"{len(kept)} of 6 problems are trained on: one yes/no judgement per pronoun"]


def test_every_right_query_of_superglue_wsc_trains(real_file):
    data = load(real_file("superglue-wsc/train.jsonl"))
    counts = {}
    for spec in ("p-span", "mc-sent-no-pair-loss", "mc-mlm", "mc-mlm?trains=groups"):
        cases_found, _ = training_cases(data, Formalization.parse(spec))
        counts[spec] = len(cases_found)
    # 554 judgements about 307 pronouns; 258 of these have a right one, and one of them is asked twice.
    assert counts == {"p-span": 554, "mc-sent-no-pair-loss": 554, "mc-mlm": 259, "mc-mlm?trains=groups": 258}


def test_a_style_sets_what_the_formalization_has_and_single_switches_override_it():
    assert Formalization.parse("mc-sent?style=paper").switches["separator"] == "after"
    assert Formalization.parse("mc-sent?style=paper&separator=before").switches["separator"] == "before"
    assert "separator" not in Formalization.parse("mc-mlm?style=paper").switches
    assert Formalization.parse("mc-sent?style=winogrande").switches["head"] == "dense"
    assert Formalization.parse("mc-mlm?style=winogrande").switches["head"] == "pretrained"


@pytest.mark.parametrize("name", list(FORMALIZATIONS))
@pytest.mark.parametrize("style", list(STYLES))
def test_a_spec_says_everything_that_differs_from_the_defaults(name, style):
    formalization = Formalization.parse(f"{name}?style={style}")
    assert Formalization.parse(formalization.spec) == formalization
    assert (formalization.spec == name) == (style == "default")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mc-mmlm", "Did you mean 'mc-mlm'"),
        ("mc-mlm?separator=after", "No switch of 'mc-mlm' named 'separator'"),
        ("mc-sent?separator=behind", "No separator of 'mc-sent' named 'behind'. Known: after, before"),
        ("mc-sent?style=mine", "No style"),
        ("mc-mlm?alpha=big", "expected a number, 0 or more, found 'big'"),
        ("mc-mlm?alpha=nan", "expected a number, 0 or more, found 'nan'"),
        ("mc-mlm?beta=-1", "expected a number, 0 or more, found '-1'"),
        ("mc-sent-no-pair-loss?trains=right", "No trains of 'mc-sent-no-pair-loss' named 'right'. Known: all, groups"),
    ],
)
def test_a_wrong_name_says_what_exists(spec, message):
    pattern = message.replace("?", r"\?")
    with pytest.raises((UnknownName, BadInput), match=pattern):
        Formalization.parse(spec)


def test_every_formalization_is_found_under_its_own_name_and_one_alone_reads_the_pronoun():
    reading_pronoun = []
    for name in FORMALIZATIONS:
        definition = FORMALIZATIONS[name]
        assert definition.name == name
        if definition.reads_pronoun:
            reading_pronoun.append(name)
    assert reading_pronoun == ["p-span"]


def test_another_package_adds_a_formalization_by_an_entry_point(monkeypatch):
    from importlib.metadata import EntryPoint

    mine = EntryPoint("mine", "winokit.methods.formalizations.mc_sent:MC_SENT", "winokit.formalizations")
    entry_points = {"winokit.formalizations": [mine]}
    monkeypatch.setattr("winokit.registry.entry_points", lambda group: entry_points.get(group, []))
    monkeypatch.setattr(FORMALIZATIONS, "_things", {})
    assert list(FORMALIZATIONS)[-1] == "mine"
    assert Formalization.parse("mine?head=dense").switches["head"] == "dense"
