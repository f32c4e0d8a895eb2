"""WinoGrande (Sakaguchi et al., 2019), Tables 4, 5 and 6: what comes of training, on dev, elsewhere and by gender.

Arms: WSC, DPR, WinoGrande debiased, all of WinoGrande, DPR and then all of it (BERT-seqft). Every arm is tested on
WinoGrande's dev set (Table 4), on WSC273, PDP, SuperGLUE-WSC, DPR, COPA and KnowRef (Table 5) and on Winogender
(Table 6), with its last weights: one setting, nothing chosen. Problems that overlap a test set are left out of
training, unless they are most of it: then that cell stays empty. Local context (Table 4): trained and tested on two
words before the blank and what follows, on the debiased problems and on as many drawn at random.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import mean, stdev
from typing import Any

from runs.papers import WINOGRANDE_TABLE_4
from runs.tables import grid as table
from runs.tables import percent, short
from runs.trained import Options, Outcome, run, settings_arguments, settings_of
from winokit.methods.training.data import TrainingData, VariantArm
from winokit.methods.training.finetune import finetune
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Dataset
from winokit.results import rows_to_json
from winokit.stages.curve.nested import nested
from winokit.stages.transfer.run import Transfer, train_arms
from winokit.stages.transfer.selection import TrainingArm, TransferPlan, TransferTarget

PAPER = TrainSettings("mc-sent?style=winogrande", learning_rate=1e-5, epochs=8, batch_size=16)
"""The authors' setting for RoBERTa-large; for BERT-large 8 problems a batch."""
TESTS = {
    "WinoGrande": ("winogrande/dev.jsonl", None),
    "WSC273": ("wsc/WSCollection.xml", "wsc273"),
    "PDP": ("pdp/PDPChallenge2016.xml", None),
    "SuperGLUE-WSC": ("superglue-wsc/val.jsonl", None),
    "DPR": ("dpr/test.c.txt", None),
    "COPA": ("copa/copa-test.xml", None),
    "KnowRef": ("knowref/knowref_test.json", None),
    "Winogender": ("winogender/all_sentences.tsv", None),
}
GENDER = ("female", "male", "neutral")


def experiment(options: Options) -> Outcome:
    """Three tables, and the rows they are made of."""
    settings = settings_of(options, PAPER)
    tables, rows = [], []
    for spec in options.specs:
        found = [moved(options, spec, replace(settings, seed=seed)) for seed in range(options.more.seeds)]
        local = local_contexts(options, spec, settings)
        tables += [f"{short(spec)}, {settings.formalization}:", table_4(found, local), table_5(found), table_6(found)]
        tables += sorted({note for one in found for note in (*one.notes, *one.warnings)})
        rows += [{**row, "seed": seed} for seed, one in enumerate(found) for row in rows_to_json(one.metrics)] + local[
            "rows"
        ]
    return Outcome(tables, rows, {"settings": settings.identity(), "seeds": options.more.seeds})


def moved(options: Options, spec: str, settings: TrainSettings) -> Transfer:
    """Every arm on every test set."""
    everything, dpr = options.load("winogrande/train_xl.jsonl"), options.load("dpr/train.c.txt")
    arms = [
        TrainingArm("WSC", (options.load("wsc/WSCollection.xml", "wsc273"),)),
        TrainingArm("DPR", (dpr,)),
        TrainingArm("WinoGrande, debiased", (options.load("winogrande/train_debiased.jsonl"),)),
        TrainingArm("WinoGrande", (everything,)),
        TrainingArm("DPR>WinoGrande", (dpr, everything)),
    ]
    tests = [TransferTarget(name, options.load(file, kind)) for name, (file, kind) in TESTS.items()]
    out = options.out / short(spec).replace(":", "-") / f"seed-{settings.seed}"
    return train_arms(arms, tests, out, TransferPlan(spec, (settings,)), drop_overlap=True)


def local_contexts(options: Options, spec: str, settings: TrainSettings) -> dict[str, Any]:
    """Accuracy by kind of training set, a value a seed, trained and tested on local contexts."""
    dev, whole = options.load("winogrande/dev.jsonl"), options.load("winogrande/train_xl.jsonl")
    debiased = options.load("winogrande/train_debiased.jsonl")
    arm = VariantArm.of("local-context", "variant->variant")
    found: dict[str, Any] = {"rows": []}
    for seed in range(options.more.seeds):
        some: dict[str, Dataset] = {"random": nested(whole, [len(debiased)], seed)[0], "debiased": debiased}
        for name, train in some.items():
            out = options.out / short(spec).replace(":", "-") / f"local-context-{name}-{seed}"
            data = TrainingData(train, None, (dev,), arm).checked(drop_overlap=True)
            outcome = finetune(data, out, spec, replace(settings, seed=seed), save=False)
            own = next(row for row in outcome.metrics if row.metric == "accuracy")
            found.setdefault(name, []).append(own.value)
            found["rows"].append({**own.to_json(), "arm": f"local context, {name}", "seed": seed})
    return found


def table_4(found: list[Transfer], local: dict[str, Any]) -> str:
    """The trained rows of Table 4 on dev, beside the paper's."""
    ours = {
        "fine-tuned on WinoGrande": cells(found, "WinoGrande", "WinoGrande"),
        "of it, pairs": cells(found, "WinoGrande", "WinoGrande", "group_accuracy"),
        "fine-tuned on DPR alone": cells(found, "DPR", "WinoGrande"),
        "DPR, then WinoGrande": cells(found, "DPR>WinoGrande", "WinoGrande"),
        "local context, random": spread(local["random"]),
        "local context, debiased": spread(local["debiased"]),
    }
    theirs = {
        "fine-tuned on WinoGrande": WINOGRANDE_TABLE_4["BERT, fine-tuned"][0],
        "DPR, then WinoGrande": WINOGRANDE_TABLE_4["BERT, fine-tuned on DPR first"][0],
        "local context, random": WINOGRANDE_TABLE_4["local context, random 25k"][0],
        "local context, debiased": WINOGRANDE_TABLE_4["local context, debiased 25k"][0],
    }
    return table(
        ["Table 4", "ours, dev, %", "paper, dev, %"], [(name, value, theirs.get(name)) for name, value in ours.items()]
    )


def table_5(found: list[Transfer]) -> str:
    """Test sets beside one another, an arm a line."""
    names = [name for name in TESTS if name != "Winogender"]
    lines = [[arm.name, *(cells(found, arm.name, name) for name in names)] for arm in found[0].arms]
    return table(["Table 5: trained on", *names], lines)


def table_6(found: list[Transfer]) -> str:
    """Winogender by gender, and how much easier what agrees with a stereotype is."""
    header = ["Table 6: trained on", *GENDER, "gotchas: female", "male", "delta female", "delta male"]
    lines = []
    for arm in found[0].arms:
        own = [cells(found, arm.name, "Winogender", "accuracy", gender) for gender in GENDER]
        gotchas = [cells(found, arm.name, "Winogender", "accuracy", f"{gender}.gotcha") for gender in GENDER[:2]]
        deltas = [cells(found, arm.name, "Winogender", "delta", gender) for gender in GENDER[:2]]
        lines.append([arm.name, *own, *gotchas, *deltas])
    return table(header, lines)


def cells(found: list[Transfer], arm: str, test: str, metric: str = "accuracy", subset: str | None = None) -> str:
    """A metric over seeds; empty where the arm may not be tested there."""
    values = []
    for one in found:
        cell = one.cell(arm, test)
        own = [row for row in cell.rows if row.metric == metric and (subset is None or row.subset == subset)]
        values += [row.value for row in own[:1]]
    return spread(values)


def spread(values: list[float]) -> str:
    """A mean in per cent, and the standard deviation where there are several."""
    if not values:
        return "–"
    return percent(mean(values)) + (f" ± {100 * stdev(values):.1f}" if len(values) > 1 else "")


if __name__ == "__main__":
    run(experiment, __doc__, arguments=settings_arguments(PAPER, seeds=1))
