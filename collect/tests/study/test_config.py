"""study.toml is written with a comment for every key and read back the same, and a mistake in it is one line."""

import tomllib

import pytest

from winokit.extend import BadInput, Malformed
from winokit_collect.study.config import ConfigSection, StudyConfig, parse_config, read_config, render_config
from winokit_collect.study.content import bundled, read_gold, read_quiz, read_topics
from winokit_collect.study.new_tasks import domain_at, topic_at


def test_the_defaults_are_the_papers():
    config = StudyConfig()
    rules = config.rules
    assert (rules.fewest_words, rules.most_words, rules.least_overlap) == (15, 30, 0.7)
    assert config.pay.cents("write") == 40
    assert config.pay.cents("validate") == 3
    assert config.tasks.votes == 3
    assert config.validity.rule == "unanimous"
    assert config.platform.least_approval == 99
    assert config.platform.least_approved == 5000


def test_a_config_that_was_written_is_read_back_the_same():
    config = parse_config({"title": 'A "quoted" title – ja', "pay": {"write": 0.5}, "tasks": {"kinds": ["write"]}})
    assert parse_config(tomllib.loads(render_config(config))) == config


def test_every_key_is_explained():
    lines = render_config(StudyConfig()).splitlines()
    key_indices = [index for index, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    values = [getattr(StudyConfig(), name) for name in StudyConfig.model_fields]
    sections = [value for value in values if isinstance(value, ConfigSection)]
    section_keys = sum(len(type(section).model_fields) for section in sections)
    keys_outside_sections = len(values) - len(sections)
    assert len(key_indices) == keys_outside_sections + section_keys
    for index in key_indices:
        comment = lines[index - 1]
        assert comment.startswith("# ")
        assert len(comment) > 10


@pytest.mark.parametrize(
    ("settings", "key", "complaint"),
    [
        ({"titel": "x"}, "titel", "no such setting"),
        ({"tasks": {"twin": 3}}, "tasks.twin", "no such setting"),
        ({"tasks": {"votes": 0}}, "tasks.votes", "greater than or equal to 1"),
        ({"tasks": {"kinds": ["wrte"]}}, "tasks.kinds.0", "'write'"),
        ({"tasks": {"kinds": []}}, "tasks.kinds", "at least one"),
        ({"tasks": {"kinds": ["validate"]}}, "tasks.kinds", "write or evaluate"),
        ({"tasks": {"kinds": ["evaluate"]}}, "evaluate.data", "name the dataset"),
        ({"pay": {"write": 0.405}}, "pay.write", "2 decimal places"),
        ({"rules": {"fewest_words": 40}}, "rules.fewest_words", "most_words"),
        ({"validity": {"rule": "two thirds"}}, "validity.rule", "'unanimous' or 'majority'"),
        ({"evaluate": {"variants": ["backwards"]}}, "evaluate.variants.0", "'part-sent'"),
        ({"quality": 3}, "quality", "found 3"),
    ],
)
def test_a_wrong_setting_is_one_line_with_file_and_key(settings, key, complaint):
    with pytest.raises(Malformed) as caught:
        parse_config(settings, "study.toml")
    message = str(caught.value)
    assert message.startswith(f"study.toml: field '{key}': ")
    assert complaint in message
    assert "\n" not in message


def test_a_missing_or_broken_file_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="winokit collect init"):
        read_config(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_text("title = [")
    with pytest.raises(BadInput, match=r"study\.toml: not TOML"):
        read_config(tmp_path / "study.toml")


def test_the_bundled_texts_can_be_read():
    topics = read_topics(bundled("topics.jsonl"))
    assert len(topics) >= 300
    assert all(question.explanation for question in read_quiz(bundled("quiz.toml")))
    assert all(problem.answer is not None for problem in read_gold(bundled("gold.jsonl")))


def test_a_topic_comes_back_only_after_all_others():
    topics = read_topics(bundled("topics.jsonl"))
    topic_count = sum(topic.fits("social") for topic in topics)
    titles = [topic_at(rank, "social", topics, seed=1).topic for rank in range(2 * topic_count)]
    first_round = titles[:topic_count]
    second_round = titles[topic_count:]
    assert len(set(first_round)) == topic_count
    assert first_round != second_round


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_share_of_social_tasks_is_kept_at_every_length(share):
    domains = [domain_at(rank, share) for rank in range(40)]
    for length in range(1, 41):
        social_count = domains[:length].count("social")
        assert abs(social_count - share * length) < 1


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("nonsense", ":1: a JSON object expected"),
        ('{"topic": ""}', "field 'topic'"),
        ('{"topic": "Soup", "domain": "liquid", "words": ["a"]}', "field 'domain'"),
        ('{"topic": "Soup", "words": []}', "field 'words'"),
    ],
)
def test_a_wrong_topic_is_one_line_with_its_place(tmp_path, line, complaint):
    (tmp_path / "topics.jsonl").write_text(line + "\n")
    with pytest.raises(Malformed, match=r"topics\.jsonl:1") as caught:
        read_topics(tmp_path / "topics.jsonl")
    assert complaint in str(caught.value)


def test_a_topic_may_hold_any_character_that_json_allows(tmp_path):
    (tmp_path / "topics.jsonl").write_text('{"topic": "So\u2028up", "words": ["a"]}\n', "utf-8")
    topics = read_topics(tmp_path / "topics.jsonl")
    assert [topic.topic for topic in topics] == ["So\u2028up"]


def test_a_wrong_quiz_question_is_one_line_with_its_number(tmp_path):
    (tmp_path / "quiz.toml").write_text('[[question]]\ntext = "?"\noptions = ["a", "b"]\nanswer = 2\n')
    with pytest.raises(Malformed, match=r"quiz\.toml: field 'answer': question 1: .* found 2"):
        read_quiz(tmp_path / "quiz.toml")
