"""AFLite with all classifiers at once against a scikit-learn loop, on planted bias: speed, memory, agreement, growth.

python benchmarks/aflite.py [--rows 44000] [--backend numpy|torch:cuda|ray] [--only PART] [--quick] [--figures FOLDER]

The loop is what one would write: for each classifier LogisticRegression(C=1, tol=1e-4, max_iter=1000) with lbfgs in
float32, fitted and asked for the rest. It is timed on a few classifiers of the first, middle and last phase, both as
one process with all threads and as one process a core with one thread each, and the faster is scaled to the whole run.
Features are Gaussian with a power-law spectrum, turned at random; 40 % of the rows are moved towards their answer.
"""

import argparse
import contextlib
import multiprocessing
import os
import threading
import time
from pathlib import Path

import numpy as np

from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.rows import chosen, keys, salts

PARTS = ("speed", "memory", "agreement", "planted", "growth", "workers")
SETTINGS = {"ensemble_size": 64, "train_size": 15_000, "cutoff": 500, "threshold": 0.75}


def main() -> None:
    args = arguments()
    if args.quick:
        args.rows, args.width, args.only = 4_000, 128, args.only or "speed"
    scale = args.rows / 44_000
    settings = SETTINGS | {"train_size": round(15_000 * scale), "cutoff": max(1, round(500 * scale))}
    parts = [args.only] if args.only else [part for part in PARTS if part != "workers"]
    X, y, planted = rows(args.rows, args.width)
    print(f"{args.rows:,} x {args.width:,} float32, {settings}, {len(os.sched_getaffinity(0))} cores")
    run = None
    if {"speed", "planted", "agreement"} & set(parts):
        whole_run(X, y, settings | {"ensemble_size": 4}, args.backend)  # libraries load, a GPU wakes
        started, cpu = time.perf_counter(), time.process_time()
        run = whole_run(X, y, settings, args.backend)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        phases = run.history_
        print(
            f"winokit ({chosen(args.backend)}): {seconds:.2f} s ({cpu:.1f} CPU seconds) for {len(phases)} phases, "
            f"{seconds / len(phases):.3f} s a phase, {np.mean([p.steps for p in phases]):.1f} steps a phase, "
            f"{sum(p.not_converged for p in phases)} classifiers not converged, {(~run.keep_).sum():,} rows removed"
        )
    if "speed" in parts and not args.no_loop:
        against_loop(X, y, run, settings, seconds, cpu)
    if "memory" in parts:
        memory(args, settings)
    if "agreement" in parts:
        agreement(X, y, settings, args.backend)
    if "planted" in parts:
        found_planted(run, planted, args.figures)
    if "growth" in parts:
        growth(args)
    if "workers" in parts:
        workers(args)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=44_000)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="4,000 x 128, and the speed alone: seconds, to see it run")
    parser.add_argument("--no-loop", action="store_true", help="do not time scikit-learn")
    parser.add_argument("--figures", type=Path, help="folder for the plots")
    return parser.parse_args()


def rows(count, width, share=0.4, seed=0):
    """Features, answers, and which rows give theirs away."""
    rng = np.random.default_rng(seed)
    scale = (np.arange(1, width + 1) ** -0.5).astype(np.float32)
    X = rng.standard_normal((count, width), dtype=np.float32)
    X *= scale
    y = rng.integers(0, 2, count)
    planted = rng.random(count) < share
    towards = rng.standard_normal(width).astype(np.float32) * scale
    X += np.outer(planted * (2 * y - 1), towards / np.linalg.norm(towards)).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((width, width)).astype(np.float32))[0]
    for start in range(0, count, 8192):
        X[start : start + 8192] = X[start : start + 8192] @ turn
    return X, y, planted


def whole_run(X, y, settings, backend, **options):
    return AFLite(**settings, backend=backend, **options).fit(X, y)


def subset(left, phase, classifier, settings):
    """Training and held-out rows of a classifier, as AFLite draws them."""
    key = keys(left.astype(np.uint32), salts(0, phase, [classifier]))[:, 0]
    order = np.argpartition(key, settings["train_size"] - 1)
    return left[order[: settings["train_size"]]], left[order[settings["train_size"] :]]


def loop_once(X, y, train, test):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, tol=1e-4, max_iter=1000).fit(X[train], y[train])
    return model.predict(X[test]), model.n_iter_[0]


def against_loop(X, y, run, settings, seconds, cpu) -> None:
    """Time the loop on three phases, both ways, and compare."""
    phases = run.history_
    cores = len(os.sched_getaffinity(0))
    busy = []
    costs = {"one process, all threads": [], f"{cores} processes, one thread each": []}
    for phase in {1, len(phases) // 2, len(phases)}:
        left = np.flatnonzero((run.phase_ < 0) | (run.phase_ >= phase))
        parts = [subset(left, phase, classifier, settings) for classifier in range(2 * cores)]
        started = time.perf_counter()
        steps = [loop_once(X, y, *part)[1] for part in parts[:cores]]
        single = (time.perf_counter() - started) / cores
        many, used = (total / len(parts) for total in in_processes(X, y, parts, cores))
        busy.append(used)
        for cost, each in zip(costs.values(), (single, many), strict=True):
            cost.append(each)
        print(
            f"  loop, phase {phase}: {single:.2f} s a classifier with all threads, {many:.2f} s in {cores} processes; "
            f"{np.mean(steps):.0f} steps"
        )
    name, each = min(((name, np.mean(cost)) for name, cost in costs.items()), key=lambda way: way[1])
    whole = each * settings["ensemble_size"] * len(phases)
    print(f"scikit-learn loop ({name}), scaled to all: {whole:.0f} s, {whole / len(phases):.1f} s a phase")
    work = np.mean(busy) * settings["ensemble_size"] * len(phases)
    print(
        f"winokit is {whole / seconds:.1f} x as fast; by CPU seconds {work / cpu:.1f} x ({work:.0f} against {cpu:.0f})"
    )


_HELD = {}


def _start_worker(barrier):
    from threadpoolctl import threadpool_limits

    _HELD["limit"] = threadpool_limits(1)
    barrier.wait()


def _fit_part(part):
    started = time.process_time()
    loop_once(_HELD["X"], _HELD["y"], *part)
    return time.process_time() - started


def in_processes(X, y, parts, cores):
    """Seconds and CPU seconds for all parts in single-threaded processes that are already up, sharing the rows."""
    _HELD["X"], _HELD["y"] = X, y
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(cores + 1)
    with context.Pool(cores, _start_worker, (barrier,)) as pool:
        barrier.wait()
        started = time.perf_counter()
        used = pool.map(_fit_part, parts, chunksize=1)
        return time.perf_counter() - started, sum(used)


def memory(args, settings) -> None:
    """Peak memory of a process that holds X and filters it, over what it had before, in units of X."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        grown, size = pool.apply(_measure_peak, (args.rows, args.width, settings))
    print(f"memory: {grown / 1e6:,.0f} MB at the peak, X included: {grown / size:.2f} x the bytes of X")


def _measure_peak(count, width, settings):
    rng = np.random.default_rng(0)
    AFLite(4, 50, 10, backend="numpy").fit(rng.standard_normal((200, 8)), rng.integers(0, 2, 200))
    before, seen = resident(), []
    stop = threading.Event()

    def watch():
        while not stop.wait(0.005):
            seen.append(resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    X = np.empty((count, width), dtype=np.float32)
    for start in range(0, count, 4096):
        X[start : start + 4096] = rng.standard_normal((len(X[start : start + 4096]), width), dtype=np.float32)
    AFLite(**settings, backend="numpy", max_steps=3).fit(X, rng.integers(0, 2, count))
    stop.set()
    watcher.join()
    return max(seen) - before, X.nbytes


def resident():
    """Bytes of this process in memory now, since the system's own peak counts what a parent process had."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def agreement(X, y, settings, backend) -> None:
    """Share of the first phase's held-out predictions that are those of scikit-learn at a tight tolerance."""
    from sklearn.linear_model import LogisticRegression

    from winokit.methods.aflite.logistic import TOLERANCES, ClassifierEnsemble
    from winokit.methods.aflite.rows import FitPlan, hold

    numbers = np.arange(len(X))
    plan = FitPlan(0, settings["ensemble_size"], settings["train_size"])
    held = hold(X, y, numbers, numbers, plan, chosen(backend))
    held.draw(1)
    theta = held.to_numpy(ClassifierEnsemble(held, 1.0, TOLERANCES["float32"], 300).fit().theta)
    same = made = 0
    for classifier in range(4):
        train, test = subset(numbers, 1, classifier, settings)
        tight = LogisticRegression(C=1.0, tol=1e-8, max_iter=5000).fit(X[train].astype(np.float64), y[train])
        ours = X[test] @ theta[:-1, classifier] + theta[-1, classifier] > 0
        same, made = same + (tight.predict(X[test].astype(np.float64)) == ours).sum(), made + len(test)
    print(
        f"agreement: {same:,} of {made:,} held-out predictions of phase 1 are those of a tight fit ({same / made:.3%})"
    )


def found_planted(run, planted, figures) -> None:
    """Share of planted rows among those removed, phase by phase, beside one that removes planted rows first."""
    count = len(run.history_)
    shares = [planted[run.phase_ == phase].mean() for phase in range(1, count + 1)]
    print("planted rows among the removed: " + " ".join(f"{share:.0%}" for share in shares))
    if figures is None:
        return
    from matplotlib import pyplot

    removed = np.cumsum([phase.removed for phase in run.history_])
    left = planted.sum() - np.append(0, removed[:-1])
    oracle = np.clip(left / [phase.removed for phase in run.history_], 0, 1)
    figure, ax = pyplot.subplots(figsize=(6, 3.2), layout="constrained")
    ax.plot(range(1, count + 1), oracle, color="0.6", label="an oracle that removes planted rows first")
    ax.plot(range(1, count + 1), shares, color="C0", label="AFLite")
    ax.plot(
        range(1, count + 1), [phase.accuracy for phase in run.history_], color="C1", ls="--", label="held-out accuracy"
    )
    ax.set(xlabel="phase", ylabel="share planted, of the removed", ylim=(0, 1.03))
    ax.legend(loc="lower left", frameon=False)
    figure.savefig(figures / "aflite-planted.png", dpi=120)


def growth(args) -> None:
    """Seconds a phase against rows and classifiers, three sizes each."""
    costs = {"rows": {}, "classifiers": {}}
    for count in (args.rows // 4, args.rows // 2, args.rows):
        costs["rows"][count] = seconds_a_phase(count, args.width, 64, args.backend)
    for classifiers in (16, 64, 256):
        costs["classifiers"][classifiers] = seconds_a_phase(args.rows // 4, args.width, classifiers, args.backend)
    for name, times in costs.items():
        print(f"growth with {name}: " + ", ".join(f"{size:,}: {each:.3f} s" for size, each in times.items()))
    if args.figures is None:
        return
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
    for ax, (name, times) in zip(axes, costs.items(), strict=True):
        sizes, each = list(times), list(times.values())
        ax.loglog(sizes, each, "o-", color="C0")
        ax.loglog(sizes, [each[-1] * size / sizes[-1] for size in sizes], color="0.6", ls="--", lw=1)
        ax.set(xlabel=name, ylabel="seconds a phase")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.minorticks_off()
    figure.savefig(args.figures / "aflite-growth.png", dpi=120)


def seconds_a_phase(count, width, classifiers, backend, **options):
    """Median of the phases after the first, which learns what the others start from."""
    X, y, _ = rows(count, width)
    model = AFLite(classifiers, round(count * 0.34), max(1, count // 88), backend=backend, **options)
    seen = []

    def enough(phase):
        seen.append(phase.seconds)
        if len(seen) == 6:
            raise StopIteration

    with contextlib.suppress(StopIteration):
        model.fit(X, y, progress=enough)
    return float(np.median(seen[1:]))


def workers(args) -> None:
    """Ray with one and two workers, and growing rows, beside NumPy on one core and on all."""
    for count in (args.rows // 4, args.rows // 2, args.rows):
        times = {
            f"{number} worker{'s'[: number > 1]}": seconds_a_phase(count, args.width, 64, "ray", workers=number)
            for number in (1, 2)
        }
        print(
            f"ray, {count:,} rows: "
            + ", ".join(f"{name} {each:.3f} s a phase" for name, each in times.items())
            + f"; numpy {seconds_a_phase(count, args.width, 64, 'numpy'):.3f} s"
        )


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
