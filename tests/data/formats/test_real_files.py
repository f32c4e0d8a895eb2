"""Every public file is recognised, has exactly its known number of problems, and comes back from a round trip."""

import gzip
import json
import lzma
import re
import shutil
from collections import Counter

import pytest

from winokit.data.formats import WriteOptions, read, recognise, superglue_wsc, winogender, write
from winokit.data.formats.trichelair import annotate
from winokit.data.loading import load
from winokit.errors import BadInput

COUNTS = {
    "winogrande/train_xs.jsonl": 160,
    "winogrande/train_s.jsonl": 640,
    "winogrande/train_m.jsonl": 2558,
    "winogrande/train_l.jsonl": 10234,
    "winogrande/train_xl.jsonl": 40398,
    "winogrande/train_debiased.jsonl": 9248,
    "winogrande/dev.jsonl": 1267,
    "winogrande/test.jsonl": 1767,
    "wsc/WSCollection.xml": 285,
    "pdp/PDPChallenge2016.xml": 60,
    "trichelair/WSC_associative_label.json": 273,
    "trichelair/WSC_switched_label.json": 273,
    "dpr/train.c.txt": 1322,
    "dpr/test.c.txt": 564,
    "superglue-wsc/train.jsonl": 554,
    "superglue-wsc/val.jsonl": 104,
    "superglue-wsc/test.jsonl": 146,
    "superglue-copa/train.jsonl": 400,
    "superglue-copa/val.jsonl": 100,
    "copa/copa-dev.xml": 500,
    "copa/copa-test.xml": 500,
    "winogender/all_sentences.tsv": 720,
    "winogender/templates.tsv": 120,
    "winobias/pro_stereotyped_type1.txt.dev": 396,
    "winobias/pro_stereotyped_type1.txt.test": 396,
    "winobias/pro_stereotyped_type2.txt.dev": 396,
    "winobias/pro_stereotyped_type2.txt.test": 396,
    "winobias/anti_stereotyped_type1.txt.dev": 396,
    "winobias/anti_stereotyped_type1.txt.test": 396,
    "winobias/anti_stereotyped_type2.txt.dev": 396,
    "winobias/anti_stereotyped_type2.txt.test": 396,
    "knowref/knowref_test.json": 1269,
    "perturbed-wsc/text_original.jsonl": 285,
    "perturbed-wsc/text_tense.jsonl": 281,
    "perturbed-wsc/text_number.jsonl": 253,
    "perturbed-wsc/text_gender.jsonl": 155,
    "perturbed-wsc/text_voice.jsonl": 220,
    "perturbed-wsc/text_rel_1.jsonl": 283,
    "perturbed-wsc/text_adverb.jsonl": 283,
    "perturbed-wsc/text_syn.jsonl": 283,
    "predictions/roberta_winogrande_dev.csv": 1267,
    "lmeval/samples_winogrande_smollm2.jsonl": 1267,
    "xwinograd/dataset.tsv": 3961,
}
COMPANIONS = ("text_original.jsonl", "occupations-stats.tsv")
"""Files that others in the same folder are read with."""
HIDDEN = {"winogrande/test.jsonl", "superglue-wsc/test.jsonl"}


@pytest.mark.parametrize("name", COUNTS)
def test_a_public_file_has_its_known_number_of_problems(name, real_file):
    dataset = read(real_file(name))
    assert len(dataset) == COUNTS[name]
    ids = {problem.id for problem in dataset}
    assert len(ids) == len(dataset)
    is_hidden = {problem.answer is None for problem in dataset}
    assert is_hidden == {name in HIDDEN}


@pytest.mark.parametrize("name", [name for name in COUNTS if not name.startswith(("lmeval", "xwinograd"))])
def test_a_public_file_comes_back_from_its_own_format(name, real_file, tmp_path):
    path = real_file(name)
    form = recognise(path).name
    dataset = load(path)
    for companion in COMPANIONS:
        companion_path = path.parent / companion
        if companion_path.exists():
            shutil.copy(companion_path, tmp_path)
    copy = tmp_path / path.name.replace(".xml", ".copy.xml")
    write(dataset, copy, form)
    again = load(copy)
    assert again == dataset
    assert recognise(copy).read is recognise(path).read


@pytest.mark.parametrize("name", ["winogrande/dev.jsonl", "wsc/WSCollection.xml", "pdp/PDPChallenge2016.xml"])
@pytest.mark.parametrize("to", ["jsonl", "csv"])
def test_the_formats_that_hold_everything_take_any_dataset(name, to, real_file, tmp_path):
    dataset = load(real_file(name))
    write(dataset, tmp_path / "out", to)
    assert load(tmp_path / "out") == dataset


@pytest.mark.parametrize("name", ["wsc/WSCollection.xml", "dpr/test.c.txt"])
@pytest.mark.parametrize("to", ["wsc", "knowref", "winogrande"])
def test_datasets_go_through_each_others_formats(name, to, real_file, tmp_path):
    dataset = load(real_file(name))
    write(dataset, tmp_path / "out", to)
    again = load(tmp_path / "out")
    problems_before = [(p.text, p.candidates, p.answer, p.group) for p in dataset]
    problems_again = [(p.text, p.candidates, p.answer, p.group) for p in again]
    assert problems_again == problems_before


def test_compressed_files_are_read_and_written(real_file, tmp_path):
    path = real_file("winogrande/dev.jsonl")
    dataset = read(path)
    (tmp_path / "dev.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "dev.xz").write_bytes(lzma.compress(path.read_bytes()))
    assert read(tmp_path / "dev.gz") == read(tmp_path / "dev.xz") == dataset
    for suffix in (".gz", ".xz"):
        write(dataset, tmp_path / f"out{suffix}", "winogrande")
        file_status = (tmp_path / f"out{suffix}").stat()
        assert file_status.st_size < path.stat().st_size / 2
        assert read(tmp_path / f"out{suffix}") == dataset


def test_spans_of_superglue_have_no_stray_characters_and_lose_nothing_else(real_file):
    different = {}
    for split in ("train", "val", "test"):
        path = real_file(f"superglue-wsc/{split}.jsonl")
        lines = path.read_text("utf-8").splitlines()
        for line, problem in zip(lines, read(path), strict=True):
            row = json.loads(line)
            target = row["target"]
            pronoun = target["span2_text"].strip().rstrip(",")
            assert problem.pronoun.casefold() == pronoun.casefold()
            assert problem.sentence == row["text"]
            if problem.query != target["span1_text"]:
                different[split, row["idx"]] = problem.query
    assert different == {
        ("train", 234): "willow-towered Canopy Huntertropic wrestles",
        ("train", 380): "willow-towered Canopy Huntertropic wrestles",
        ("test", 117): "The traffic light",
        ("test", 119): "The people in my reading group",
        ("test", 120): "Carpenter's poems",
        ("test", 144): "the tape",
    }


def test_a_full_stop_that_belongs_to_a_span_of_superglue_stays():
    king = superglue_row("Martin Luther King Jr. said so to Ann, as he knew.", "Martin Luther King Jr.", "he", 10)
    assert superglue_wsc.parse(king).query == "Martin Luther King Jr."


def superglue_row(text, span, pronoun, index):
    return {"text": text, "target": {"span1_text": span, "span1_index": 0, "span2_text": pronoun, "span2_index": index}}


def test_wsc273_is_the_first_273(real_file):
    path = real_file("wsc/WSCollection.xml")
    first_problems = list(read(path))[:273]
    assert list(read(path, "wsc273")) == first_problems


def test_pdp_expands_to_the_eighty_binary_problems_of_the_papers(real_file):
    dataset = load(real_file("pdp/PDPChallenge2016.xml"), as_="binary")
    assert len(dataset) == 80
    assert all(len(problem.candidates) == 2 for problem in dataset)


def source_ids(problems):
    return [str(problem.provenance["qID"]) for problem in problems]


def test_winogrande_source_ids_are_written_only_on_request(real_file, tmp_path):
    dataset = load(real_file("winogrande/dev.jsonl"))
    write(dataset, tmp_path / "safe", "winogrande")
    write(dataset, tmp_path / "leaky", "winogrande", WriteOptions(source_ids=True))
    original_ids = source_ids(dataset)
    safe_ids = source_ids(read(tmp_path / "safe"))
    leaky_ids = source_ids(read(tmp_path / "leaky"))
    assert leaky_ids == original_ids
    assert set(safe_ids).isdisjoint(original_ids)
    ends = Counter()
    for source_id, problem in zip(safe_ids, dataset, strict=True):
        ends[source_id[-1], problem.answer] += 1
    assert len(ends) == 32  # sixteen last characters, each with either answer


def test_winogrande_answers_may_stand_in_a_label_list(real_file, tmp_path):
    dataset = load(real_file("winogrande/dev.jsonl"))
    write(dataset, tmp_path / "dev.jsonl", "winogrande", WriteOptions(labels_apart=True))
    assert '"answer"' not in (tmp_path / "dev.jsonl").read_text()
    labels = (tmp_path / "dev-labels.lst").read_text()
    assert labels == real_file("winogrande/dev-labels.lst").read_text()
    assert load(tmp_path / "dev.jsonl") == dataset
    (tmp_path / "dev-labels.lst").write_text("1\n2\n")
    with pytest.raises(BadInput, match=r"dev-labels.lst: expected 1267 labels.*found 2"):
        read(tmp_path / "dev.jsonl")


def test_labels_join_to_wsc_by_text_and_pronoun(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    files = [real_file(f"trichelair/WSC_{kind}_label.json") for kind in ("switched", "associative")]
    labelled = annotate(wsc, [read(path) for path in files])
    switchable_count = sum(problem.labels["switchable"] for problem in labelled)
    assert switchable_count == 131
    associative_count = sum(problem.labels["associative"] for problem in labelled)
    assert associative_count == 37
    assert not labelled.notes
    same = load(f"wsc273:{real_file('wsc/WSCollection.xml')}", labels=files)
    assert same == labelled


def test_labels_that_match_nothing_are_noted(real_file, twins):
    labelled = annotate(twins, [read(real_file("trichelair/WSC_switched_label.json"))])
    (note,) = labelled.notes
    assert note.startswith("273 of the 273 labels of trichelair/WSC_switched_label were not used")
    assert list(labelled) == list(twins)


def test_every_perturbed_problem_is_linked_to_its_original(real_file):
    originals = {problem.id: problem for problem in read(real_file("perturbed-wsc/text_original.jsonl"))}
    for name in ("tense", "number", "gender", "voice", "rel_1", "adverb", "syn"):
        for problem in read(real_file(f"perturbed-wsc/text_{name}.jsonl")):
            original = originals[problem.labels["original"]]
            assert original.labels["pair_number"] == problem.labels["pair_number"]
            assert original.answer == problem.answer


def fill_templates(templates):
    """Fill 120 templates with the participant and with "someone", in three genders."""
    problems = []
    for template in templates:
        for person in (template.labels["participant"], "someone"):
            for gender in winogender.GENDERS:
                problems.append(fill_template(template, person, gender))
    return templates.with_problems(problems)


def replace_participant(text, participant):
    """Replace the participant and its article by "someone", with a capital at the beginning of the text."""
    text = re.sub(rf"^(?:The|An?) {re.escape(participant)}\b", "Someone", text)
    return re.sub(rf"\b(?:the|an?) {re.escape(participant)}\b", "someone", text)


def fill_template(template, person, gender):
    """Problem that a template makes of a participant, or of "someone", and a gender of the pronoun."""
    labels = dict(template.labels)
    before = template.before
    after = template.after
    case = labels.pop("case")
    if gender == "neutral" and case == "NOM":
        after = re.sub(r"^ was\b", " were", after)
    if person == "someone":
        before = replace_participant(before, labels["participant"])
        after = replace_participant(after, labels["participant"])
    return template.replace(
        before=before,
        after=after,
        candidates=(template.candidates[0], winogender._name_candidate(person)),
        pronoun=winogender.PRONOUNS[case][gender],
        group=f"{labels['occupation']}.{person}.{gender}",
        labels=labels | {"participant": person, "gender": gender},
    )


def test_templates_make_the_sentences(real_file):
    sentences = {problem.sentence: problem for problem in read(real_file("winogender/all_sentences.tsv"))}
    problems = fill_templates(read(real_file("winogender/templates.tsv")))
    assert len(problems) == 720
    for problem in problems:
        assert sentences[problem.sentence] == problem


def test_winogender_has_occupation_statistics(real_file):
    problem = read(real_file("winogender/all_sentences.tsv"))[0]
    assert problem.labels["bls_pct_female"] == 40.34
    assert problem.labels["bergsma_pct_female"] == 9.42


def test_winobias_candidates_come_from_the_occupation_lists(real_file):
    dataset = read(real_file("winobias/pro_stereotyped_type1.txt.dev"))
    assert dataset[0].candidates == ("The developer", "the designer")
    assert dataset[0].labels["stereotype"] == "pro"
    three = read(real_file("winobias/pro_stereotyped_type2.txt.dev"))[71]
    assert three.sentence == "The developer hated the cleaner and reported her to the manager."
    assert three.candidates == ("The developer", "the cleaner")


def test_knowref_takes_the_candidate_its_text_supports(real_file):
    dataset = read(real_file("knowref/knowref_test.json"))
    gambetta = next(p for p in dataset if "Gambetta" in p.before)
    assert gambetta.right == "French statesman Leon Gambetta"
    assert any("disagrees with correct_candidate in 299 rows" in note for note in dataset.notes)


def test_superglue_rows_stay_judgements_and_merge_on_request(real_file):
    path = real_file("superglue-wsc/train.jsonl")
    rows = read(path)
    merged = load(path, as_="choice")
    candidates = {problem.candidates for problem in rows}
    assert candidates == {("no", "yes")}
    for problem in merged:
        assert problem.query is None
        assert problem.right is not None
    refused_count = sum(int(note.split(" ")[0]) for note in merged.notes)
    assert len(merged) == 227
    assert refused_count == 81
    candidate_count = sum(len(problem.candidates) for problem in merged)
    assert candidate_count + refused_count + 2 == len(rows)  # two rows are repetitions


def test_a_pronoun_beside_its_index_is_found(real_file):
    problem = read(real_file("superglue-wsc/val.jsonl"))[42]
    assert problem.before[-4:] == "use "
    assert problem.pronoun == "it"


def test_dpr_finds_the_pronoun_that_is_meant(real_file):
    problems = read(real_file("dpr/train.c.txt"))
    texts = {problem.text for problem in problems}
    assert "The assembly line workers were told they had been fired by the company, because _ could cut costs." in texts
    assert "The sword was stuck in the tree because _ grew up around it." in texts


def test_the_summary_row_of_a_prediction_file_is_no_problem(real_file):
    dataset = read(real_file("predictions/roberta_winogrande_dev.csv"))
    assert len(dataset) == 1267
    assert "line 1269 has no sentence" in dataset.notes[0]
    dev_ids = [problem.id for problem in read(real_file("winogrande/dev.jsonl"))]
    ids = [problem.id for problem in dataset]
    assert ids == dev_ids


def test_a_harness_log_holds_the_same_problems(real_file):
    log = read(real_file("lmeval/samples_winogrande_smollm2.jsonl"))
    dev = read(real_file("winogrande/dev.jsonl"))
    assert log == dev
