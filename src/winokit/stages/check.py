"""`winokit check`: malformed records, leaks, broken twins, duplicates across splits, rule violations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from winokit.data.checks import checkup
from winokit.data.checks.checkup import Findings
from winokit.data.checks.rules import RuleSet
from winokit.data.loading import Datasets, Labelled, Loading, load_all, load_with_records
from winokit.drawing.tables import Lines, dim, styled
from winokit.drawing.wording import plural
from winokit.methods.hunting.ngram_corpus import CorpusSettings, NgramCorpus
from winokit.methods.hunting.search import Corpus
from winokit.progress import Progress, tell
from winokit.settings import Help, verb


@verb
def check(
    data: Datasets,
    *,
    only: Annotated[
        Sequence[checkup.Check],
        Help(
            "records, groups, leaks, duplicates, rules, structure, corpus or facts; repeatable. Default: all.",
            noun="check",
        ),
    ] = (),
    rules: Annotated[
        RuleSet | None,
        Help(
            "universal, or winogrande: also its writers' rules (length, overlap, kind). Default: universal, but "
            "winogrande for what `winokit collect` exported.",
            "NAME",
            noun="set of rules",
            shown=False,
        ),
    ] = None,
    train: Annotated[
        Datasets, Help("Training data: report its closest fact for each problem; repeatable.", "DATA")
    ] = (),
    examples: Annotated[int, Help("How many examples to show per finding.", least=0)] = 2,
    loading: Labelled = Loading(),
    source: CorpusSettings = CorpusSettings(),
    progress: Progress | None = None,
) -> checkup.Findings:
    """Find malformed records, leaks, broken twins, duplicates and broken rules.

    Each file is checked by itself and against the others. Every record that is malformed, unanswered or doubled is
    listed with its line; the others are read. The command's exit code is 1 if anything is found.
    """
    loaded = load_with_records(data, **{**loading.how, "lenient": True}, groups=False, keep_empty=True)
    trained = load_all(train, **{**loading.how, "labels": ()}, groups=False)
    wanted = only or checkup.CHECKS
    with source.opened() as corpus:
        findings = checkup.check(
            [each.dataset for each in loaded],
            wanted,
            rules,
            corpus=corpus,
            train=trained,
            files=[each.files for each in loaded],
            progress=progress,
        )
        return checkup.Findings(_dated(findings, corpus), examples)


def _dated(findings: Sequence[checkup.Finding], corpus: Corpus | None) -> list[checkup.Finding]:
    """Findings in a corpus with counts and dates of what was looked up before; the same is told in sentences."""
    if not isinstance(corpus, NgramCorpus):
        return list(findings)
    tell(corpus.notes)
    replayed = {"replayed": corpus.replayed}
    return [
        replace(finding, details={**finding.details, **replayed}) if finding.check == checkup.CORPUS else finding
        for finding in findings
    ]


def lines(findings: Findings) -> Lines:
    """Findings under the name of their dataset, each with some examples."""
    for name in dict.fromkeys(finding.dataset for finding in findings):
        yield styled((name, "bold"))
        for finding in (finding for finding in findings if finding.dataset == name):
            yield styled("  ", ("!", "red") if finding.warns else ("·", "green"), f" {finding.message}")
            shown = len(finding.examples) if finding.lists_all else findings.shown
            yield from (dim(f"      {example}") for example in finding.examples[:shown])
    warnings = sum(finding.warns for finding in findings)
    yield plural(warnings, "finding") if warnings else "nothing found"


def as_json(findings: Findings) -> Any:
    """Every finding with all its examples and rows."""
    return [finding.to_json() for finding in findings]


def code(findings: Findings) -> int:
    """1 where anything was found that is worth a warning."""
    return int(any(finding.warns for finding in findings))
