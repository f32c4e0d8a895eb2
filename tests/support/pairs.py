"""Minimal pairs in BLiMP's columns, written for these tests: five paradigms, and groups of four that are contrasts."""

import json
from pathlib import Path

NOUNS = ("teacher", "doctor", "farmer", "driver", "singer", "waiter", "sailor", "painter")
VERBS = (("sleeps", "sleep"), ("laughs", "laugh"), ("works", "work"), ("waits", "wait"))
NAMES = (("Mary", "herself"), ("John", "himself"), ("Susan", "herself"), ("Peter", "himself"))


def rows() -> list[dict]:
    """Sixty-eight pairs, a good and a bad sentence each."""
    made = []

    def add(paradigm: str, good: str, bad: str, group: str | None = None) -> None:
        row = {"sentence_good": good, "sentence_bad": bad, "field": "morphology", "UID": paradigm}
        made.append({**row, "pairID": str(len(made)), **({"group": group} if group else {})})

    for place, noun in enumerate(NOUNS):
        one, many = VERBS[place % len(VERBS)]
        # A contrast set of four: number of the subject, and whether something stands between it and its verb.
        for between in ("", " near the houses"):
            add("agreement", f"The {noun}{between} {one} every day.", f"The {noun}{between} {many} every day.", noun)
            add("agreement", f"The {noun}s{between} {many} every day.", f"The {noun}s{between} {one} every day.", noun)
    for name, own in NAMES:
        other = "himself" if own == "herself" else "herself"
        for verb in ("saw", "hurt"):
            add("anaphor", f"{name} {verb} {own} in the mirror.", f"{name} {verb} {other} in the mirror.")
    for noun in NOUNS:
        add("determiner", f"This {noun} was very kind.", f"These {noun} was very kind.")
        add("npi", f"No {noun} has ever been here.", f"Some {noun} has ever been here.")
        add("island", f"What did the {noun} say that you bought?", f"What did the {noun} sleep that you bought?")
        add("length", f"The {noun} said so.", f"The {noun} said so to to me.")
    return made[:68]


def pairs_file(folder: Path) -> Path:
    """The pairs as a file."""
    path = folder / "grammar.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), "utf-8")
    return path
