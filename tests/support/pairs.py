"""Minimal pairs in BLiMP's columns, written for these tests: five paradigms, and groups of four that are contrasts."""

import json
from itertools import cycle
from pathlib import Path

NOUNS = ("teacher", "doctor", "farmer", "driver", "singer", "waiter", "sailor", "painter")
VERBS = (("sleeps", "sleep"), ("laughs", "laugh"), ("works", "work"), ("waits", "wait"))
NAMES = (("Mary", "herself"), ("John", "himself"), ("Susan", "herself"), ("Peter", "himself"))


def rows() -> list[dict]:
    """Sixty-eight pairs of a good and a bad sentence, as rows of a file."""
    pairs = []

    def add(paradigm: str, good: str, bad: str, group: str | None = None) -> None:
        row = {"sentence_good": good, "sentence_bad": bad, "field": "morphology", "UID": paradigm}
        row["pairID"] = str(len(pairs))
        if group:
            row["group"] = group
        pairs.append(row)

    for noun, (singular, plural) in zip(NOUNS, cycle(VERBS), strict=False):
        # A contrast set of four: number of the subject, and whether something is between it and its verb.
        for between in ("", " near the houses"):
            one = f"The {noun}{between}"
            many = f"The {noun}s{between}"
            add("agreement", f"{one} {singular} every day.", f"{one} {plural} every day.", noun)
            add("agreement", f"{many} {plural} every day.", f"{many} {singular} every day.", noun)
    for name, reflexive in NAMES:
        wrong_reflexive = "himself" if reflexive == "herself" else "herself"
        for verb in ("saw", "hurt"):
            add(
                "anaphor",
                f"{name} {verb} {reflexive} in the mirror.",
                f"{name} {verb} {wrong_reflexive} in the mirror.",
            )
    for noun in NOUNS:
        add("determiner", f"This {noun} was very kind.", f"These {noun} was very kind.")
        add("npi", f"No {noun} has ever been here.", f"Some {noun} has ever been here.")
        add("island", f"What did the {noun} say that you bought?", f"What did the {noun} sleep that you bought?")
        add("length", f"The {noun} said so.", f"The {noun} said so to to me.")
    return pairs[:68]


def pairs_file(folder: Path) -> Path:
    """Write the pairs to a file in a folder, and return its path."""
    path = folder / "grammar.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), "utf-8")
    return path
