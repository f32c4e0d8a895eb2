# Written by tools/make_stub.py from the settings of the verbs.
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from winokit.data.checks.checkup import Findings
from winokit.data.checks.statistics import Statistics
from winokit.data.formats.base import Format
from winokit.data.formats.files import WrittenFile
from winokit.data.known import CatalogueEntry
from winokit.data.loading import Loading, Reading
from winokit.data.predictions.every_eval_ever import WrittenRecords
from winokit.data.predictions.in_memory import HasShape
from winokit.methods.aflite.methods import DebiasMethod
from winokit.methods.cluster import ClusterSettings
from winokit.methods.hunting.hunter import Hunt
from winokit.methods.hunting.ngram_corpus import CorpusSettings, NgramCorpus
from winokit.methods.hunting.search import SentenceIndex
from winokit.methods.scoring.asking import Asking
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.ledger import Spending
from winokit.methods.scoring.prompts import PromptTemplate
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.methods.training.finetune import TrainOutcome
from winokit.methods.training.settings import TrainSettings
from winokit.models.base import Model
from winokit.notebook import Frame
from winokit.stages.audit.settings import AuditSettings
from winokit.stages.check import CheckSettings
from winokit.stages.compare.run import ComparedRuns
from winokit.stages.compare.settings import PairSettings
from winokit.stages.convert.settings import ConvertSettings
from winokit.stages.convert.tasks import WrittenTasks
from winokit.stages.convert.variants import WrittenVariants
from winokit.stages.curve.run import LearningCurve
from winokit.stages.curve.settings import CurveDesign, CurveGoal, CurveSets
from winokit.stages.debias.filtering import Debiased
from winokit.stages.debias.settings import Assessment, DebiasComparison, FeatureMatrix, FeatureSource
from winokit.stages.embed.run import Embedding
from winokit.stages.embed.settings import EmbedDesign, Finetuning
from winokit.stages.evolve.run import EvolvedRelease
from winokit.stages.evolve.settings import EvolveSettings, OfferedProblems
from winokit.stages.gate.settings import GateSettings
from winokit.stages.gate.verdict import GateOutcome
from winokit.stages.grade.leaderboard import Leaderboard
from winokit.stages.grade.run import Grading
from winokit.stages.grade.settings import GradeSettings
from winokit.stages.hunt import HuntedProblem, HunterSettings
from winokit.stages.items.run import ItemsRun
from winokit.stages.items.settings import ItemSettings
from winokit.stages.release.run import Release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings
from winokit.stages.release.verify import Verification
from winokit.stages.score.run import Scored
from winokit.stages.search.findings import SearchFindings
from winokit.stages.search.settings import Crew, SearchDesign, SearchSets
from winokit.stages.search.space import SearchSpace
from winokit.stages.suite.matrix import SuiteCell, SuiteRun
from winokit.stages.suite.settings import SuiteData, SuiteModel, SuiteSettings
from winokit.stages.train.settings import TrainSets
from winokit.stages.transfer.run import Transfer
from winokit.stages.transfer.selection import NamedData, TrainingArm
from winokit.stages.transfer.settings import TransferDesign, TransferSets
from winokit.methods.aflite.aflite import AFLite as AFLite
from winokit.problem import Card as Card
from winokit.problem import Dataset as Dataset
from winokit.problem import Problem as Problem
from winokit.data.runs import Run as Run
from winokit.errors import WinokitError as WinokitError
from winokit.data.checks.checkup import find_duplicates as find_duplicates
from winokit.data.checks.groups import find_groups as find_groups
from winokit.data.checks.leaks import find_leaks as find_leaks
from winokit.data.frames import from_frame as from_frame
from winokit.models.registry import load_model as load_model
from winokit.stages.check import read_predictions as read_predictions
from winokit.data.checks.statistics import statistics as statistics
from winokit.data.synthetic import synthetic as synthetic
from winokit.data.formats.files import write as write

__version__: str

def audit(
    data: str | Path | Dataset | Frame | None = None,
    model: str | Model | Callable[..., Any] | str | Model | Callable[..., Any] | Sequence[str | Model | Callable[..., Any]] | None = None,
    *,
    scoring: str | Sequence[str] | None = None,
    predictions: str | Path | Sequence[Any] | Mapping[str, Any] | HasShape = ...,
    protocol: str | Sequence[str] = ...,
    subset: str | Sequence[str] = ...,
    majority: bool = False,
    margin: float | None = None,
    style: Literal['default', 'paper', 'code'] = 'default',
    readings: str | Path | None = None,
    preview: bool = False,
    perturbed: str | Path | Dataset | Sequence[str | Path | Dataset] = ...,
    language: str | None = None,
    as_: Literal['binary', 'choice', 'judgements'] | None = None,
    labels: str | Path | Sequence[str | Path] = ...,
    errata: str | Path | None = None,
    limit: int | None = None,
    lenient: bool = False,
    columns: str | Mapping[str, str] | None = None,
    substitution: Literal['auto', 'literal', 'natural'] = 'auto',
    shots: int = 0,
    shots_from: str | Path | Dataset | None = None,
    seed: int = 0,
    prompt: str | Path | PromptTemplate | None = None,
    dry_run: bool = False,
    price_in: float | None = None,
    price_out: float | None = None,
    max_requests: int | None = None,
    max_tokens_total: int | None = None,
    max_cost: float | None = None,
    forget: bool = False,
    engine: Literal['local', 'ray'] = 'local',
    address: str | None = None,
    cores_each: int | None = None,
    gpus_each: int | None = None,
    memory_each: float | None = None,
    cache: str | Path | Cache | None = None,
    out: str | Path | None = None,
    progress: Callable[[float, float], None] | None = None,
    settings: AuditSettings = ...,
    asking: Asking = ...,
    loading: Loading = ...,
    plan: ScoringPlan = ...,
    spending: Spending = ...,
    cluster: ClusterSettings = ...,
) -> Run: ...

def check(
    data: str | Path | Dataset | Frame | str | Path | Dataset | Frame | Sequence[str | Path | Dataset | Frame],
    *,
    only: Literal['records', 'groups', 'leaks', 'duplicates', 'rules', 'structure', 'corpus', 'facts'] | Sequence[Literal['records', 'groups', 'leaks', 'duplicates', 'rules', 'structure', 'corpus', 'facts']] = ...,
    rules: Literal['universal', 'winogrande'] | None = None,
    train: str | Path | Dataset | Frame | str | Path | Dataset | Frame | Sequence[str | Path | Dataset | Frame] = ...,
    examples: int = 2,
    problems: str | Path | Dataset | Frame | None = None,
    prediction_columns: str | Mapping[str, str] | None = None,
    language: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    as_: Literal['binary', 'choice', 'judgements'] | None = None,
    labels: str | Path | Sequence[str | Path] = ...,
    lenient: bool = False,
    corpus: str | SentenceIndex | NgramCorpus | None = None,
    max_requests: int | None = None,
    forget: bool = False,
    cache: str | Path | Cache | None = None,
    progress: Callable[[float, float], None] | None = None,
    settings: CheckSettings = ...,
    loading: Loading = ...,
    source: CorpusSettings = ...,
    spending: Spending = ...,
) -> Findings: ...

def compare(
    runs: str | Path | Run | Sequence[str | Path | Run] | Mapping[str, Run | str | Path | Sequence[Any] | Mapping[str, Any] | HasShape],
    *,
    metric: Literal['accuracy', 'expected_accuracy', 'group_accuracy', 'consistency'] | Sequence[Literal['accuracy', 'expected_accuracy', 'group_accuracy', 'consistency']] | None = None,
    data: str | Path | Dataset | Frame | None = None,
    margin: float = 5.0,
    out: str | Path | None = None,
    settings: PairSettings = ...,
) -> ComparedRuns: ...

def convert(
    data: str | Path | Dataset | Frame,
    out: str | Path,
    *,
    to: str | None = None,
    source_ids: bool = False,
    labels_apart: bool = False,
    perturbed: str | Path | Dataset | Sequence[str | Path | Dataset] = ...,
    style: Literal['default', 'paper', 'code'] = 'default',
    variant: str | Sequence[str] = ...,
    format_: str = 'jsonl',
    language: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    as_: Literal['binary', 'choice', 'judgements'] | None = None,
    labels: str | Path | Sequence[str | Path] = ...,
    limit: int | None = None,
    lenient: bool = False,
    settings: ConvertSettings = ...,
    loading: Loading = ...,
) -> WrittenFile | WrittenTasks | WrittenVariants | WrittenRecords: ...

def curve(
    data: str | Path | Dataset | str | Path | Dataset | Sequence[str | Path | Dataset],
    *,
    model: str = 'builtin',
    formalization: str | Sequence[str] = ...,
    restarts: int = 3,
    seed: int = 0,
    steps: int | None = None,
    sizes: str | int | Sequence[int] | None = None,
    human: float | None = 94.0,
    human_group: float | None = None,
    fit_from: int = 1,
    device: str | None = None,
    save: bool = False,
    dev: str | Path | Dataset | None = None,
    test: str | Path | Dataset | Sequence[str | Path | Dataset] = ...,
    variant: str | None = None,
    train_on: Literal['variant', 'original'] = 'variant',
    drop_overlap: bool = False,
    learning_rate: float = 1e-05,
    epochs: int = 8,
    batch_size: int = 16,
    tokens: int | None = None,
    accumulate: int = 1,
    warmup: float = 0.1,
    weight_decay: float = 0.0,
    clip: float = 1.0,
    evaluate_every: int | None = None,
    patience: int | None = None,
    keep: Literal['best', 'last'] = 'best',
    precision: Literal['auto', 'float32', 'bfloat16'] = 'auto',
    checkpoint_every: int | None = None,
    out: str | Path | None = None,
    progress: Callable[[float, float], None] | None = None,
    design: CurveDesign = ...,
    sets: CurveSets = ...,
    settings: TrainSettings = ...,
    goal: CurveGoal = ...,
    loading: Loading = ...,
) -> LearningCurve: ...

def datasets(
    *,
    formats: bool = False,
) -> Sequence[CatalogueEntry] | Sequence[Format]: ...

def debias(
    data: str | Path | Dataset | Frame,
    method: str | DebiasMethod = 'aflite',
    *,
    features: str | Path | FeatureMatrix | None = None,
    allow_uninformed: bool = False,
    model: str | Model | None = None,
    kind: str = 'concat',
    pooling: str = 'first',
    cache: str | Path | Cache | None = None,
    compare: str | Sequence[str] = ...,
    assess: bool = True,
    folds: int = 5,
    bins: int | None = None,
    neighbours: int = 10,
    limit: int | None = None,
    out: str | Path | None = None,
    progress: Callable[[float, float], None] | None = None,
    source: FeatureSource = ...,
    comparison: DebiasComparison = ...,
    loading: Loading = ...,
    assessment: Assessment = ...,
    **settings: Any,
) -> Debiased: ...

def embed(
    data: str | Path | Dataset | Frame,
    model: str | Model | Callable[..., Any] = 'builtin',
    *,
    features: Literal['concat', 'difference', 'single'] = 'concat',
    pooling: Literal['first', 'mean', 'span'] = 'first',
    finetune: int | None = None,
    formalization: str = 'mc-sent?style=winogrande',
    steps: int | None = None,
    seed: int = 0,
    learning_rate: float = 1e-05,
    epochs: int = 8,
    batch_size: int = 16,
    precision: Literal['auto', 'float32', 'bfloat16'] = 'auto',
    device: str | None = None,
    engine: Literal['local', 'ray'] = 'local',
    address: str | None = None,
    cores_each: int | None = None,
    gpus_each: int | None = None,
    memory_each: float | None = None,
    cache: str | Path | Cache | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    progress: Callable[[float, float], None] | None = None,
    design: EmbedDesign = ...,
    loading: Loading = ...,
    finetuning: Finetuning = ...,
    settings: TrainSettings = ...,
    cluster: ClusterSettings = ...,
) -> Embedding: ...

def evolve(
    release: str | Path,
    *,
    model: str | Sequence[str] = ...,
    predictions: str | Path | Sequence[Path] = ...,
    watch: str | Sequence[str] = ...,
    majority: float = 1.0,
    alpha: float = 0.05,
    bring_back: bool = False,
    previous_hidden: str | Path | None = None,
    out: str | Path,
    new: str | Path | Dataset | Frame | None = None,
    removed: str | Path | Dataset | Frame | None = None,
    name: str | None = None,
    version: str = 'next',
    licence: str | None = None,
    date: str | None = None,
    dev: float = 0.1,
    test: float = 0.15,
    sizes: int | Sequence[int] | None = None,
    split: Literal['random', 'knowledge'] = 'random',
    complete: bool = False,
    singles: bool = False,
    formalization: str = 'mc-mlm',
    seed: int = 0,
    audit: str | Path | Sequence[Path] = ...,
    collection: str | Path | None = None,
    about: str | Path | None = None,
    hidden: str | Path | None = None,
    secret: str | Path | bytes | None = None,
    reveal: bool = False,
    cache: str | Path | Cache | None = None,
    progress: Callable[[float, float], None] | None = None,
    evolving: EvolveSettings = ...,
    offered: OfferedProblems = ...,
    settings: ReleaseSettings = ...,
    extras: ReleaseExtras = ...,
    loading: Loading = ...,
) -> EvolvedRelease: ...

def gate(
    new: Run | str | Path | Sequence[Any] | Mapping[str, Any] | HasShape,
    *,
    against: Run | str | Path | Sequence[Any] | Mapping[str, Any] | HasShape,
    metric: Literal['accuracy', 'expected_accuracy', 'group_accuracy', 'consistency'] | Sequence[Literal['accuracy', 'expected_accuracy', 'group_accuracy', 'consistency']] | None = None,
    data: str | Path | Dataset | Frame | None = None,
    margin: float = 1.0,
    level: float = 0.05,
    strict: bool = False,
    of: str | None = None,
    scoring: str | None = None,
    markdown: str | Path | None = None,
    settings: GateSettings = ...,
) -> GateOutcome: ...

def grade(
    release: str | Path,
    files: str | Path | Sequence[Any] | Mapping[str, Any] | HasShape = ...,
    *,
    hidden: str | Path | None = None,
    name: str | None = None,
    system: str | None = None,
    formalization: str | None = None,
    training_data: str | None = None,
    trials: int | None = None,
    board: str | Path | None = None,
    budget: int | None = None,
    owner: bool = False,
    out: str | Path | None = None,
    settings: GradeSettings = ...,
) -> Grading | Leaderboard: ...

def hunt(
    index: str | Path | SentenceIndex | NgramCorpus,
    data: str | Path | Dataset | Frame | None = None,
    *,
    row: int = 1,
    text: str | None = None,
    candidate: str | Sequence[str] = ...,
    pronoun: str | None = None,
    set_: str | Sequence[str] = ...,
    synonyms: str | None = None,
    parser: str = 'rules',
    examples: int = 5,
    asked: HuntedProblem = ...,
    settings: HunterSettings = ...,
) -> Hunt: ...

def items(
    data: str | Path | Dataset | Frame,
    predictions: str | Path | Sequence[Any] | Mapping[str, Any] | HasShape = ...,
    *,
    families: str | Path | Mapping[str, str] = 'agreement',
    bank: str | Path | None = None,
    top: int = 30,
    errata: str | Path | None = None,
    queue: str | Path | None = None,
    votes: str | Path | None = None,
    out: str | Path | None = None,
    settings: ItemSettings = ...,
    loading: Loading = ...,
) -> ItemsRun: ...

def load(
    data: str | Path | Dataset | Frame,
    *,
    as_: str | None = None,
    labels: str | Path | Sequence[str | Path] = ...,
    errata: str | Path | None = None,
    groups: bool = True,
    lenient: bool = False,
    language: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    reading: Reading = ...,
) -> Dataset: ...

def release(
    kept: str | Path | Dataset | Frame,
    *,
    out: str | Path,
    removed: str | Path | Dataset | Frame | None = None,
    name: str | None = None,
    version: str = '1.0',
    licence: str | None = None,
    date: str | None = None,
    dev: float = 0.1,
    test: float = 0.15,
    sizes: int | Sequence[int] | None = None,
    split: Literal['random', 'knowledge'] = 'random',
    complete: bool = False,
    singles: bool = False,
    formalization: str = 'mc-mlm',
    seed: int = 0,
    audit: str | Path | Sequence[Path] = ...,
    collection: str | Path | None = None,
    about: str | Path | None = None,
    hidden: str | Path | None = None,
    secret: str | Path | bytes | None = None,
    reveal: bool = False,
    progress: Callable[[float, float], None] | None = None,
    settings: ReleaseSettings = ...,
    extras: ReleaseExtras = ...,
    loading: Loading = ...,
) -> Release: ...

def report(
    run: str | Path,
    *,
    of: str | Sequence[str] = ...,
) -> Path: ...

def score(
    data: str | Path | Dataset | Frame,
    model: str | Model | Callable[..., Any] = 'builtin',
    *,
    scoring: str | None = None,
    substitution: Literal['auto', 'literal', 'natural'] = 'auto',
    shots: int = 0,
    shots_from: str | Path | Dataset | None = None,
    seed: int = 0,
    prompt: str | Path | PromptTemplate | None = None,
    dry_run: bool = False,
    price_in: float | None = None,
    price_out: float | None = None,
    max_requests: int | None = None,
    max_tokens_total: int | None = None,
    max_cost: float | None = None,
    forget: bool = False,
    engine: Literal['local', 'ray'] = 'local',
    address: str | None = None,
    cores_each: int | None = None,
    gpus_each: int | None = None,
    memory_each: float | None = None,
    cache: str | Path | Cache | None = None,
    language: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    as_: Literal['binary', 'choice', 'judgements'] | None = None,
    limit: int | None = None,
    lenient: bool = False,
    out: str | Path | None = None,
    progress: Callable[[float, float], None] | None = None,
    asking: Asking = ...,
    loading: Loading = ...,
    plan: ScoringPlan = ...,
    spending: Spending = ...,
    cluster: ClusterSettings = ...,
) -> Scored: ...

def search(
    data: str | Path | Dataset | Frame,
    *,
    model: str = 'builtin',
    formalization: str | Sequence[str] = ...,
    trials: int | None = None,
    learning_rate: str | float | int | float | int | Sequence[float | int] = '1e-5,2e-5,3e-5',
    batch_size: str | float | int | float | int | Sequence[float | int] = '8,16,32,64',
    epochs: str | float | int | float | int | Sequence[float | int] = '10,20,40',
    warmup: str | float | int | float | int | Sequence[float | int] = '0.06',
    weight_decay: str | float | int | float | int | Sequence[float | int] = '0.001',
    sampler: Literal['random', 'grid'] = 'random',
    seed: int = 0,
    human: float | None = None,
    dev: str | Path | Dataset | None = None,
    holdout: int | None = None,
    test: str | Path | Dataset | Sequence[str | Path | Dataset] = ...,
    variant: str | None = None,
    train_on: Literal['variant', 'original'] = 'variant',
    drop_overlap: bool = False,
    limit: int | None = None,
    steps: int | None = None,
    accumulate: int = 1,
    evaluate_every: int | None = None,
    patience: int | None = 20,
    precision: Literal['auto', 'float32', 'bfloat16'] = 'auto',
    workers: int = 1,
    devices: str | Sequence[str] | None = None,
    threads: int | None = None,
    engine: Literal['local', 'ray'] = 'local',
    address: str | None = None,
    out: str | Path | None = None,
    progress: Callable[[float, float], None] | None = None,
    design: SearchDesign = ...,
    sets: SearchSets = ...,
    settings: TrainSettings = ...,
    crew: Crew = ...,
    space: SearchSpace = ...,
    loading: Loading = ...,
) -> SearchFindings: ...

def stats(
    data: str | Path | Dataset | Frame | str | Path | Dataset | Frame | Sequence[str | Path | Dataset | Frame],
    *,
    tokens: Literal['ptb', 'whitespace'] = 'ptb',
    language: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    as_: Literal['binary', 'choice', 'judgements'] | None = None,
    labels: str | Path | Sequence[str | Path] = ...,
    lenient: bool = False,
    remember: bool = False,
    loading: Loading = ...,
) -> list[Statistics]: ...

def suite(
    data: str | Path | Dataset | Frame | SuiteData | Sequence[str | Path | Dataset | Frame | SuiteData] = ...,
    *,
    model: str | Model | SuiteModel | Sequence[str | Model | SuiteModel] = ...,
    predictions: str | Sequence[str] = ...,
    scoring: str | Sequence[str] | None = None,
    shots: int | Sequence[int] = ...,
    limit: int | None = None,
    protocol: str | Sequence[str] = ...,
    subset: str | Sequence[str] = ...,
    substitution: Literal['auto', 'literal', 'natural'] = 'auto',
    shots_from: str | Path | Dataset | None = None,
    seed: int = 0,
    prompt: str | Path | PromptTemplate | None = None,
    dry_run: bool = False,
    price_in: float | None = None,
    price_out: float | None = None,
    max_requests: int | None = None,
    max_tokens_total: int | None = None,
    max_cost: float | None = None,
    forget: bool = False,
    engine: Literal['local', 'ray'] = 'local',
    address: str | None = None,
    cores_each: int | None = None,
    gpus_each: int | None = None,
    memory_each: float | None = None,
    cache: str | Path | Cache | None = None,
    out: str | Path | None = None,
    progress: Callable[[Sequence[SuiteCell]], None] | None = None,
    settings: SuiteSettings = ...,
    asking: Asking = ...,
    plan: ScoringPlan = ...,
    spending: Spending = ...,
    cluster: ClusterSettings = ...,
) -> SuiteRun: ...

def train(
    data: str | Path | Dataset | Frame,
    *,
    model: str = 'builtin',
    formalization: str = 'mc-mlm',
    learning_rate: float = 1e-05,
    epochs: int = 8,
    steps: int | None = None,
    batch_size: int = 16,
    tokens: int | None = None,
    accumulate: int = 1,
    warmup: float = 0.1,
    weight_decay: float = 0.0,
    clip: float = 1.0,
    seed: int = 0,
    evaluate_every: int | None = None,
    patience: int | None = None,
    keep: Literal['best', 'last'] = 'best',
    precision: Literal['auto', 'float32', 'bfloat16'] = 'auto',
    checkpoint_every: int | None = None,
    dev: str | Path | Dataset | None = None,
    holdout: int | None = None,
    test: str | Path | Dataset | Sequence[str | Path | Dataset] = ...,
    variant: str | None = None,
    train_on: Literal['variant', 'original'] = 'variant',
    drop_overlap: bool = False,
    limit: int | None = None,
    out: str | Path | None = None,
    device: str | None = None,
    progress: Callable[[float, float], None] | None = None,
    settings: TrainSettings = ...,
    sets: TrainSets = ...,
    loading: Loading = ...,
) -> TrainOutcome: ...

def transfer(
    *,
    train: str | Dataset | TrainingArm | Sequence[str | Dataset | TrainingArm],
    test: str | Dataset | NamedData | Sequence[str | Dataset | NamedData],
    choose: str | Sequence[str] = ...,
    drop_overlap: bool = False,
    model: str = 'builtin',
    learning_rate: float | Sequence[float] = ...,
    epochs: int | Sequence[int] = ...,
    batch_size: int | Sequence[int] = ...,
    seed: int | Sequence[int] = ...,
    keep: Literal['best', 'last'] = 'last',
    device: str | None = None,
    save: bool = False,
    formalization: str = 'mc-mlm',
    steps: int | None = None,
    tokens: int | None = None,
    accumulate: int = 1,
    warmup: float = 0.1,
    weight_decay: float = 0.0,
    clip: float = 1.0,
    evaluate_every: int | None = None,
    patience: int | None = None,
    precision: Literal['auto', 'float32', 'bfloat16'] = 'auto',
    checkpoint_every: int | None = None,
    out: str | Path = ...,
    progress: Callable[[float, float], None] | None = None,
    sets: TransferSets = ...,
    design: TransferDesign = ...,
    settings: TrainSettings = ...,
    loading: Loading = ...,
) -> Transfer: ...

def verify(
    release: str | Path,
    *,
    hidden: str | Path | None = None,
) -> Verification: ...
