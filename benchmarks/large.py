"""Large models on a GPU: spread, offloaded, quantised, in scarce memory, and let go.

    python benchmarks/large.py                    # a random Llama of 1.2 billion weights, made on the spot
    python benchmarks/large.py --model hf:FOLDER  # a real one

Every arm answers the same texts. Printed: the largest difference of a log-probability from the first arm, the tokens of
a batch as they were found, seconds (the second time, when the budget is known), gigabytes while asked and after
`release`. It ends with 1 where spreading changes answers, or where a model that was let go is still there.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from winokit.models.base import Continuation
from winokit.models.batching import free_memory
from winokit.models.registry import load_model, release

WORDS = "the cup fell off a table because it stood near an edge and nobody saw how that could have come about".split()
ARMS = {
    "bfloat16": "dtype=bfloat16",
    "device_map=auto": "dtype=bfloat16&device_map=auto",
    "half of it offloaded": "dtype=bfloat16&device_map=auto&max_memory=0:{half}MiB,cpu:200GiB",
    "load_in=8bit": "dtype=bfloat16&load_in=8bit",
    "load_in=4bit": "dtype=bfloat16&load_in=4bit",
    "4bit, spread": "dtype=bfloat16&load_in=4bit&device_map=auto",
    "scarce memory": "dtype=bfloat16",
}


def make(folder: Path, layers: int) -> str:
    """A random Llama with a tokenizer of bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(["<s>", *alphabet])}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(folder)
    sizes = {"hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16, "num_hidden_layers": layers}
    config = transformers.LlamaConfig(vocab_size=32000, bos_token_id=0, eos_token_id=0, pad_token_id=0, **sizes)
    with torch.device("cuda"):
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    free_memory()
    return f"hf:{folder}"


def texts(count: int) -> list[Continuation]:
    """Pairs that begin alike, as problems and their twins do."""
    draw = torch.Generator().manual_seed(0)
    made = []
    for _ in range(count // 2):
        words = [WORDS[number] for number in torch.randint(len(WORDS), (24,), generator=draw).tolist()]
        made += [Continuation(" ".join(words[:12]) + f" {end}", " " + " ".join(words[12:])) for end in ("cup", "table")]
    return made


def asked(spec: str, requests: list[Continuation]) -> tuple[list[float], dict[str, float]]:
    """Ask a model, release it, and return its answers and their cost."""
    before = torch.cuda.memory_allocated()
    model = load_model(spec)
    model.reader.budget.settle()
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    answers = dict(model.answer(requests))
    torch.cuda.synchronize()
    cost = {"seconds": time.perf_counter() - start, "budget": model.reader.budget.tokens}
    cost |= {"notes": len(model.reader.budget.notes), "peak": torch.cuda.max_memory_allocated() / 2**30}
    plan = model.plan
    release(model)
    cost["left"] = (torch.cuda.memory_allocated() - before) / 2**30
    print(f"    {plan}, {model.fingerprint[-40:]}")
    return [piece.logprob for index in range(len(requests)) for piece in answers[index]], cost


def main() -> int:
    """Run every arm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--texts", type=int, default=800)
    parser.add_argument("--quick", action="store_true", help="2 layers, 40 texts")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        print("large: skipped, it needs a GPU")
        return 0
    if given.quick:
        given.layers, given.texts = 2, 40
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WINOKIT_CACHE"] = f"{folder}/answers.sqlite"
        spec = given.model or make(Path(folder), given.layers)
        mark, requests, first, wrong = "&" if "?" in spec else "?", texts(given.texts), None, 0
        whole = load_model(f"{spec}{mark}dtype=bfloat16")
        half = sum(weights.nbytes for weights in whole.reader.network.parameters()) // 2**21
        release(whole)
        for name, options in ARMS.items():
            ballast = None
            if name == "scarce memory":  # all but 1 GiB beside the weights is somebody else's
                Path(folder, "budgets.json").unlink(missing_ok=True)
                size = torch.cuda.mem_get_info()[0] - 2**21 * half - 2**30
                ballast = torch.empty(size, dtype=torch.uint8, device="cuda")
            try:
                answers, cost = asked(f"{spec}{mark}{options.format(half=half)}", requests)
            except Exception as error:
                print(f"{name:24}{type(error).__name__}: {error}")
                wrong += 1
                continue
            first = first or answers
            gap = max(abs(one - other) for one, other in zip(answers, first, strict=True))
            print(f"{name:24}gap {gap:8.4f}  " + "  ".join(f"{key} {value:.4g}" for key, value in cost.items()))
            wrong += cost["left"] > 0.1 or ("load_in" not in options and gap > 0.5)
            del ballast
            free_memory()
    return int(wrong > 0)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        raise SystemExit(main())
