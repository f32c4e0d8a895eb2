"""Variants in a paper's style are of the problems that its authors counted: twins alone, two of each group."""

from winokit.methods.transforms.variants import PUBLISHED, TRANSFORMS, make_variants, style_of
from winokit.problem import Dataset, Problem


def of(variant) -> list[str]:
    return [str(problem.provenance["of"]) for problem in variant.problems]


def test_a_problem_alone_has_no_variant_in_a_paper_s_style_and_the_reason_is_said(twins):
    alone = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0, "it")
    data = Dataset([*twins, alone])
    assert alone.id in of(make_variants(data)["part-sent"])
    for style in ("paper", "code"):
        variant = make_variants(data, None, style)["no-cands"]
        assert alone.id not in of(variant)
        assert variant.refused[alone.id] == "no twin; its authors count twins alone"


def test_no_cands_loses_the_pair_of_which_one_twin_has_none_and_part_sent_does_not(twins):
    named_twice = twins[0].replace(after=" was empty, said the jug.")
    data = Dataset([named_twice, *twins[1:]])
    variants = make_variants(data, None, "code")
    assert twins[1].id not in of(variants["no-cands"])
    assert variants["no-cands"].refused[twins[1].id] == "its twin has none; its authors count whole pairs"
    unmarked = twins[2].replace(before="Today ")
    part_sent = make_variants(Dataset([*twins[:2], unmarked, *twins[3:]]), None, "code")["part-sent"]
    assert unmarked.id in part_sent.refused
    assert twins[3].id in of(part_sent)


def test_of_a_triplet_the_first_two_are_a_pair_of_their_own(twins):
    third = twins[0].replace(after=" was half full.", answer=1)
    data = Dataset([*twins[:2], third, *twins[2:]])
    variant = make_variants(data, {"no-cands"}, "code")["no-cands"]
    assert third.id not in of(variant)
    assert {problem.group for problem in variant.problems} == {"pour, two of it", "thank", "rope"}
    assert data[0].group == "pour"


def test_what_a_style_does_not_have_is_made_as_ours_is(twins):
    default = make_variants(twins)
    code = make_variants(twins, None, "code")
    assert [*code] == [name for name in TRANSFORMS if name in code]
    for name in default.keys() - PUBLISHED["code"].keys():
        assert list(code[name].problems) == list(default[name].problems)
        assert style_of(name, "code") == "default"
    assert style_of("no-cands", "code") == "code"
    assert style_of("no-cands", "default") == "default"
