"""Variants of the public files have the counts and the texts that Elazar et al. released."""

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName
from winokit.methods.transforms.local_context import local_context
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import non_associative, special_word_pairs, twin_pairs
from winokit.problem import Dataset, Problem

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "variants.md"


def with_both_twins(problems):
    """Problems whose group has two members, so that a lost member takes its twin along."""
    problems = list(problems)
    sizes = Counter(problem.group for problem in problems)
    del sizes[None]
    return [problem for problem in problems if sizes[problem.group] == 2]


@pytest.fixture
def wsc(real_file):
    labels = [real_file(f"trichelair/WSC_{name}_label.json") for name in ("switched", "associative")]
    return load(f"wsc273:{real_file('wsc/WSCollection.xml')}", labels=labels)


@pytest.fixture
def wsc_as_spelled(real_file):
    """WSC273 as the authors had it: Trichelair's file keeps the doubled spaces that our reader of the XML folds.

    Row 91, which that file has already switched, gets its text back; row 254 is left out and the rest is paired.
    """
    rows = list(load(f"trichelair:{real_file('trichelair/WSC_switched_label.json')}", groups=False))
    assert [row.provenance["index"] for row in rows] == list(range(273))
    rows[91] = rows[91].replace(before="Anne gave birth to a daughter last month. ")
    return Dataset(row.replace(group=str(i // 2)) for i, row in enumerate(rows[:254] + rows[255:]))


@pytest.fixture
def dev(real_file):
    return load(real_file("winogrande/dev.jsonl"))


def paired(dataset):
    """The dataset's twins alone, pair by pair."""
    return dataset.with_problems(chain.from_iterable(twin_pairs(dataset)))


def make_variants(transform, dataset, style):
    """Variants of the problems that have one in this style."""
    variants = (transform(problem, style=style) for problem in dataset)
    return [variant for variant in variants if isinstance(variant, Problem)]


def test_wsc_in_pairs_is_its_rows_two_by_two_without_row_254(wsc):
    problems = [problem for row, problem in enumerate(wsc) if row != 254]
    pairs = list(zip(problems[::2], problems[1::2], strict=True))
    assert twin_pairs(wsc) == pairs


def test_wsc_na_has_two_definitions(wsc):
    assert len(non_associative(wsc)) == 236
    whole_pairs = non_associative(wsc, style="elazar")
    assert len(whole_pairs) == 220
    assert len(with_both_twins(whole_pairs)) == 220
    associative = []
    for first, second in twin_pairs(wsc):
        associative.append(first.labels["associative"] + second.labels["associative"])
    assert associative.count(1) == 15
    assert associative.count(2) == 11


def test_wsc_na_needs_labels_and_a_known_definition(wsc, twins):
    with pytest.raises(BadInput, match="associative"):
        non_associative(twins)
    with pytest.raises(UnknownName, match="Known: elazar, trichelair"):
        non_associative(wsc, style="both")


def test_no_cands_has_the_released_counts(wsc, wsc_as_spelled, dev):
    sets = {"WSC": paired(wsc), "WSC-na": non_associative(wsc, style="elazar"), "dev": paired(dev)}
    counts = {name: len(with_both_twins(make_variants(no_cands, data, "code"))) for name, data in sets.items()}
    assert counts == {"WSC": 228, "WSC-na": 186, "dev": 554}
    assert texts_without_cands(paired(wsc)) == texts_without_cands(wsc_as_spelled)


def texts_without_cands(dataset):
    """Texts of the no-cands variants of whole pairs, with single spaces and none before a full stop."""
    variants = with_both_twins(make_variants(no_cands, dataset, "code"))
    return [" ".join(variant.text.split()).replace(" .", ".") for variant in variants]


def test_a_doubled_space_of_wsc_is_seen_by_the_released_script_and_by_nothing_else(wsc):
    """The lines of the XML, joined as the script's authors did, have "the  keyhole", so that "the key" occurs once."""
    lock = wsc[98]
    assert "filled the keyhole" in lock.text
    assert "filled the  keyhole" in lock.provenance["spelled"]
    assert isinstance(no_cands(lock, style="code"), Problem)
    assert no_cands(lock.replace(provenance={}), style="code") == "a candidate does not occur exactly once"
    other = lock.replace(before=lock.before.replace("gum", "wax"))
    assert no_cands(other, style="code") == "a candidate does not occur exactly once"  # it was spelled for another text
    assert all("  " not in problem.text for problem in wsc)


def test_part_sent_has_the_released_counts(wsc, dev):
    assert len(make_variants(part_sent, paired(wsc), "code")) == 242
    assert len(make_variants(part_sent, non_associative(wsc, style="elazar"), "code")) == 192
    of_dev = make_variants(part_sent, paired(dev), "code")
    assert len(of_dev) == 563
    assert len(with_both_twins(of_dev)) == 562


def test_special_word_pairs_have_the_released_counts(wsc, dev):
    wsc_na = non_associative(wsc, style="elazar")
    assert len(special_word_pairs(wsc)) == 113
    assert len(special_word_pairs(wsc_na)) == 90
    assert len(special_word_pairs(dev)) == 177


def released_row(problem, variant, pair):
    """Row of a released file for the variant of a problem."""
    provenance = problem.provenance
    return {
        "qID": provenance["qID"] if "qID" in provenance else f"wsc{provenance['index']}",
        "sentence": variant.text,
        "option1": problem.candidates[0],
        "option2": problem.candidates[1],
        "answer": str(problem.answer + 1),
        "pair_id": pair,
    }


def size(rows):
    """Length of a file with these rows, as the released ones are written."""
    return sum(len(json.dumps(row)) + 1 for row in rows)


def size_of(transform, dataset, keep=lambda variants: variants):
    """Length of a file of the variants that `keep` returns."""
    originals = {}
    for number, pair in enumerate(twin_pairs(dataset)):
        for problem in pair:
            originals[problem.id] = (problem, number)
    rows = []
    for variant in keep(make_variants(transform, paired(dataset), "code")):
        problem, number = originals[variant.provenance["of"]]
        rows.append(released_row(problem, variant, number))
    return size(rows)


def size_of_special_words(dataset):
    """Length of a file of the special-word pairs."""
    rows = []
    for first, second in special_word_pairs(dataset):
        first_word, second_word = first.candidates
        first_text = f"{first.before}[MASK]{first.after}"
        second_text = f"{second.before}[MASK]{second.after}"
        rows.append({"s1": first_text, "s2": second_text, "ans1": first_word, "ans2": second_word})
    return size(rows)


def test_the_texts_of_dev_have_the_length_of_the_released_files(dev):
    """91,711, 121,609 and 46,840 characters: one letter more or less in any text would show."""
    assert size_of(part_sent, dev) == 91_711
    assert size_of(no_cands, dev, with_both_twins) == 121_609
    assert size_of_special_words(dev) == 46_840


def test_the_texts_of_wsc_have_the_length_of_the_released_files(wsc_as_spelled):
    assert size_of(part_sent, wsc_as_spelled) == 33_121
    assert size_of(no_cands, wsc_as_spelled, with_both_twins) == 39_698
    assert size_of_special_words(wsc_as_spelled) == 26_902


def test_a_special_word_pair_is_made_as_the_script_makes_it():
    original = Problem("Ann saw this and ", " is out", ("Ann", "The Cat"), 1, group="g", domain="social")
    other = original.replace(after=" was out of it", answer=0)
    assert special_word_pairs(Dataset([original, other])) == []  # the "is" of "this" would be masked too
    loud = original.replace(before="Ann saw them and ")
    pairs = special_word_pairs(Dataset([loud, loud.replace(after=" was out of it", answer=0)]))
    ((first, second),) = pairs
    assert first.text == "Ann saw them and Ann _ out of it."
    assert first.answer == 0
    assert second.text == "Ann saw them and The Cat _ out."
    assert second.answer == 1
    for member in (first, second):
        assert member.candidates == ("was", "is")
        assert member.group == "g"


def test_special_word_pairs_differ_in_exactly_one_word_where_the_blank_is_one():
    original = Problem("I see around ", ".", ("it", "us"), 0, group="g")
    assert special_word_pairs(Dataset([original, original.replace(before="I see ", answer=1)])) == []
    two_words = [original.replace(after=" now or."), original.replace(after=" then if.", answer=1)]
    assert special_word_pairs(Dataset(two_words)) == []
    stop = [original.replace(after=" here."), original.replace(after=" here", answer=1)]
    assert special_word_pairs(Dataset(stop)) == []
    with pytest.raises(UnknownName, match="Known: code, default"):
        special_word_pairs(Dataset(stop), style="paper")


SIZES_ON_PAGE = [
    (no_cands, "no-cands", "code"),
    (no_cands, "no-cands", "default"),
    (part_sent, "part-sent", "code"),
    (part_sent, "part-sent", "paper"),
    (part_sent, "part-sent", "default"),
    (local_context, "local-context", "paper"),
    (local_context, "local-context", "default"),
]


def row_of_sizes(name, style, cells):
    joined_cells = " | ".join(cells)
    return f"| {name} | `{style}` | {joined_cells} |"


def test_the_page_has_the_sizes_of_every_style(wsc, dev):
    """Every row of the table of sizes is measured anew."""
    sets = (paired(wsc), non_associative(wsc, style="elazar"), paired(dev), dev)
    page = PAGE.read_text("utf-8")
    for transform, name, style in SIZES_ON_PAGE:
        cells = []
        for data in sets:
            variants = make_variants(transform, data, style)
            pair_members = len(with_both_twins(variants))
            cells.append(f"{len(variants):,} ({pair_members})")
        assert row_of_sizes(name, style, cells) in page
    for style in ("code", "default"):
        counts = [2 * len(special_word_pairs(data, style=style)) for data in sets]
        cells = [f"{count} ({count})" for count in counts]
        assert row_of_sizes("special-word", style, cells) in page
