"""Twins with every label, tasks run as lm_eval runs them, and the real harnesses if they are installed."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from winokit.methods.scoring.base import total
from winokit.models.base import Continuation, Model
from winokit.problem import Card, Dataset, Problem

DATE = "2026-01-02T03-04-05.678901"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
TINY = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, processors
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
import torch
torch.manual_seed(0)
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
vocabulary = {letter: place for place, letter in enumerate([*alphabet, "<end>"])}
tokenizer = Tokenizer(models.BPE(vocabulary, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
end = len(vocabulary) - 1
tokenizer.post_processor = processors.TemplateProcessing(single="<end> $A", special_tokens=[("<end>", end)])
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", bos_token="<end>").save_pretrained(sys.argv[1])
sizes = {"n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 2, "bos_token_id": end, "eos_token_id": end}
GPT2LMHeadModel(GPT2Config(vocab_size=len(vocabulary), **sizes)).save_pretrained(sys.argv[1])
"""
"""Writes a small causal model that begins texts with BOS, as the harness always does, into the folder it is given."""


def harness_python(variable: str, module: str) -> str:
    """Path of a Python, named by an environment variable, that has a harness installed.

    The test is skipped if there is none.
    """
    python = os.environ.get(variable)
    if python and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
        return python
    pytest.skip(f"set {variable} to a Python that has {module}")


def run_lm_eval(python: str, tasks: Path, name: str, model: Path, out: Path, more: str = "") -> Path:
    """Let the real harness run a task or a group of a folder, and return the folder of its logs.

    The model is written first if there is none. `more` is appended to its arguments.
    """
    environment = {**os.environ, **OFFLINE, "HF_HOME": str(out.parent / "home")}
    if not model.exists():
        subprocess.run([python, "-c", TINY, str(model)], check=True, env=environment, capture_output=True)
    command = [python, "-m", "lm_eval", "--include_path", str(tasks), "--tasks", name, "--model", "hf"]
    command += ["--model_args", f"pretrained={model},dtype=float32{more}", "--device", "cpu", "--log_samples"]
    command += ["--output_path", str(out)]
    completed = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr[-3000:]
    return out


def module_at(path: Path):
    """Import the file of a task."""
    spec = importlib.util.spec_from_file_location("task_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TaskYaml(yaml.SafeLoader):
    """Reads `!function utils.name` as that name."""


TaskYaml.add_constructor("!function", lambda loader, node: f"function {node.value}")


def read_yaml(path: Path) -> dict:
    return yaml.load(path.read_text("utf-8"), TaskYaml)


def labelled_twins() -> Dataset:
    """Eight pairs with all the labels that any protocol reads."""
    problems = []
    endings = {"thanked": (" had been helped.", " had been helpful."), "called": (" was ill.", " was a doctor.")}
    for number, pair in enumerate((("Nora", "Ines"), ("Emma", "Lucy"), ("Ruth", "Mary"), ("Anna", "Jane"))):
        labels = {"switchable": True, "associative": number == 0, "stereotype": ("pro", "anti")[number % 2]}
        labels |= {"gender": ("female", "male")[number % 2], "bls_pct_female": 60.0}
        for verb, twins in endings.items():
            before = f"{pair[0]} {verb} {pair[1]} because "
            group = f"{verb}{number}"
            for answer, after in enumerate(twins):
                problems.append(Problem(before, after, pair, answer, pronoun="she", group=group, labels=labels))
    return Dataset(problems, Card("labelled twins"))


def later(problems: Dataset) -> Dataset:
    """Perturbed version of each problem, which begins with "Later"."""
    perturbed = []
    for problem in problems:
        labels = {"original": problem.id, "perturbation": "later"}
        perturbed.append(problem.replace(before=f"Later, {problem.before}", labels=labels))
    return Dataset(perturbed)


def run_tasks(folder: Path, name: str, out: Path, model: Model, *, model_args: str = "logits_cache=False") -> Path:
    """Write the logs that lm_eval 0.4.13 would write, for tests without a harness, and return their folder."""
    utils = module_at(folder / "utils.py")
    logs = out / "org__small"
    logs.mkdir(parents=True)
    tasks = read_yaml(folder / f"{name}.yaml")["task"]
    for task in tasks:
        path = read_yaml(folder / f"{task}.yaml")["dataset_kwargs"]["validation"]
        lines = []
        for number, doc in enumerate(utils.rows(path)):
            requests = requests_of(doc)
            answers = dict(model.answer([Continuation(*request) for request in requests]))
            scores = [total(answers[index]) for index in range(len(requests))]
            row = sample(doc, requests, scores, doc_id=number)
            lines.append(json.dumps(row) + "\n")
        (logs / f"samples_{task}_{DATE}.jsonl").write_text("".join(lines), "utf-8")
    config = {"model": "hf", "model_args": {"pretrained": "org/small", "more": model_args}}
    results = {
        "results": {},
        "configs": {},
        "model_name": "org/small",
        "config": config,
        "n-samples": dict.fromkeys(tasks),
    }
    (logs / f"results_{DATE}.json").write_text(json.dumps(results))
    return out


def requests_of(doc: dict) -> list[tuple[str, str]]:
    """Contexts and continuations of a task's row, with empty contexts for whole texts."""
    contexts = doc.get("contexts")
    if contexts:
        return [(context, doc["continuation"]) for context in contexts]
    texts = doc.get("filled") or [doc.get("solved")]
    return [("", text) for text in texts]


def winogrande_doc(problem, order=(0, 1)) -> dict:
    """Row of WinoGrande, with the options in some order."""
    first, second = (problem.candidates[place] for place in order)
    answer = str(order.index(problem.answer) + 1)
    return {"sentence": problem.text, "option1": first, "option2": second, "answer": answer}


def sample(doc: dict, requests: list[tuple[str, str]], scores: list, **more) -> dict:
    """Row of a log with a score per request.

    `more` replaces columns or adds some.
    """
    arguments = {}
    for index, (context, continuation) in enumerate(requests):
        arguments[f"gen_args_{index}"] = {"arg_0": context, "arg_1": continuation}
    responses = [[str(score), "False"] for score in scores]
    return {
        "doc_id": 0,
        "doc": doc,
        "target": requests[0][1] if requests else "",
        "filter": "none",
        "arguments": arguments,
        "resps": [[response] for response in responses],
        "filtered_resps": responses,
        **more,
    }


def partial(problem, scores, order=(0, 1), asked=None, **more) -> dict:
    """Row of a log of the winogrande task, with its options in some order.

    `asked` is the order of its requests, by default that of the options.
    """
    requests = [(problem.before + problem.candidates[place], problem.after) for place in asked or order]
    return sample(winogrande_doc(problem, order), requests, scores, **more)


def wsc273_row(problem, turned: bool) -> dict:
    """Row of a log of the wsc273 task whose scores favour the right option, with options in reverse if turned.

    Like the task, it shortens the text and leaves the pronoun's place.
    """
    candidates = problem.candidates[::-1] if turned else problem.candidates
    is_possessive = problem.pronoun.lower() in ("my", "his", "her", "our", "their")
    ending = "'s" if is_possessive else ""
    options = [candidate.replace("The ", "the ") + ending for candidate in candidates]
    before = problem.before.replace(" ", "  ", 1)
    text = f"{before}{problem.pronoun}{problem.after}".replace("  ", " ")
    label = 1 - problem.answer if turned else problem.answer
    doc = {"text": text, "pronoun": problem.pronoun, "pronoun_loc": len(before), "options": options, "label": label}
    requests = [(problem.before + option, " " + problem.after) for option in options]
    scores = [-1.0, -2.0] if label == 0 else [-2.0, -1.0]
    return sample(doc, requests, scores, acc=1.0)
