"""Count how often each rule of the writing task fires on twins that people wrote: `python benchmarks/rules.py`.

The bundled pairs, all 284 pairs of WinoGrande's dev and 216 drawn from train_xl (seed 0), together 500. A hard rule
that fires here is either right about the pair or too strict; every firing is printed, to be read. `--sense` adds what
needs the built-in model (some minutes): surprisal of these texts, of the same with their words shuffled, and anchors
against their own and other topics.
"""

import argparse
import os
import random
from collections import defaultdict
from pathlib import Path

from winokit.data.checks.rules import SOFT, SURPRISING, broken_rules, likelier_by, readable, surprisal
from winokit.data.loading import load
from winokit_collect.study.content import bundled, read_topics

SEED = 0
TOGETHER = 500
"""Pairs of WinoGrande in all."""


def pairs_of(name):
    """Load a dataset and return its groups of two."""
    return [members for members in load(name).groups.values() if len(members) == 2]


def datasets():
    """Load the pairs by the name of their dataset."""
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data") / "winogrande"
    dev = pairs_of(folder / "dev.jsonl")
    train = pairs_of(folder / "train_xl.jsonl")
    sample = random.Random(SEED).sample(train, TOGETHER - len(dev))
    return {"open": pairs_of("open"), "WinoGrande": dev + sample}


def fired(pairs, read):
    """Apply the rules to pairs, and return reasons with their pairs, by rule.

    `read` is whether the built-in model reads the texts.
    """
    reasons = defaultdict(list)
    for pair in pairs:
        violation_by_rule = {violation.rule: violation for violation in broken_rules(pair, [0, 1], read=read)}
        for rule, violation in violation_by_rule.items():
            reasons[rule].append((violation.reason, pair))
    return reasons


def table(data, read):
    """Print how often each rule fires on each dataset, then every firing."""
    by_set = {name: fired(pairs, read) for name, pairs in data.items()}
    rules = sorted(set().union(*by_set.values()), key=lambda rule: (rule in SOFT, rule))
    print("| rule | " + " | ".join(f"{name} ({len(pairs)} pairs)" for name, pairs in data.items()) + " |")
    print("|---|" + "---|" * len(data))
    for rule in rules:
        counts = [(len(reasons[rule]), len(data[name])) for name, reasons in by_set.items()]
        cells = " | ".join(f"{count} ({count / total:.1%})" for count, total in counts)
        mark = " (soft)" if rule in SOFT else ""
        print(f"| `{rule}`{mark} | {cells} |")
    for name, reasons in by_set.items():
        for rule in rules:
            print_firings(name, rule, reasons[rule])


def print_firings(name, rule, reasons):
    """Print the reasons of a rule with their pairs, of a soft rule the first ten."""
    for reason, (first, second) in reasons[: 10 if rule in SOFT else None]:
        print(f"\n{name} {rule}: {reason}\n  {first.text}\n  {second.text}")


def percentiles(numbers):
    """Write five percentiles of numbers."""
    ordered = sorted(numbers)
    return ", ".join(
        f"{share:.0%} {ordered[round(share * (len(ordered) - 1))]:.2f}" for share in (0, 0.01, 0.5, 0.99, 1)
    )


def surprisals(data):
    """Print the surprisal of texts as they are, and with their words shuffled."""
    draw = random.Random(SEED)
    for name, pairs in data.items():
        texts = [readable(pair[0]) for pair in draw.sample(pairs, min(200, len(pairs)))]
        shuffled = [" ".join(draw.sample(text.split(), len(text.split()))) for text in texts]
        for kind, read in (("as written", texts), ("words shuffled", shuffled)):
            values = [surprisal(text) for text in read]
            above = sum(value > SURPRISING for value in values) / len(values)
            print(f"{name}, {kind}: surprisal {percentiles(values)}; above {SURPRISING}: {above:.1%}")


def anchors():
    """Print how often anchors of a topic, and of another topic, would be warned of."""
    topics = read_topics(bundled("topics.jsonl"))
    draw = random.Random(SEED)
    own = other = 0
    chosen = draw.sample(topics, 200)
    for topic in chosen:
        stranger = draw.choice([other_topic for other_topic in topics if other_topic is not topic])
        own += likelier_by(draw.choice(topic.words), topic.topic) <= 0
        other += likelier_by(draw.choice(stranger.words), topic.topic) <= 0
    print(f"anchors of the topic itself that would be warned of by the model alone: {own / len(chosen):.0%}")
    print(f"anchors of another topic that are: {other / len(chosen):.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sense", action="store_true", help="also what the built-in model has to read")
    parser.add_argument("--quick", action="store_true", help="20 pairs of each")
    arguments = parser.parse_args()
    data = datasets()
    if arguments.quick:
        data = {name: pairs[:20] for name, pairs in data.items()}
    table(data, arguments.sense)
    if arguments.sense:
        surprisals(data)
        anchors()


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
