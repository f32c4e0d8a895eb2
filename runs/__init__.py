"""The experiments of five papers, run again: `python -m runs` lists them.

    python -m runs TABLE|PAPER [--model [NAME=]SPEC] [--data DIR] [--out DIR] [--limit N]
    python -m runs TABLE --model NAME=SPEC [--minutes N] [--at-a-time N] [--only JOB]      tables that are trained
    python -m runs denominators FILE                    which test sizes a table of accuracies can come from
    python -m runs page [--check]                       write the tables of the pages from runs/results
    python -m runs corpus | trigrams | language-head    make the corpus and the models that the pages speak of
    python -m runs figures                              draw the pages' figures from runs/results

How the pieces fit:

- `protocol`: the papers' settings beside ours (`protocols/*.toml`), which are essential, what the paper says, and the
  word that follows. `denominators` reads the papers' own tables (`protocols/accuracies`).
- `protocol_jobs`, `training`: what is trained as the papers did (`protocols/pass.toml`), each job one call of
  `winokit.train`.
- `store`: a `Store` is one JSON file of `Record`s. A record is one piece of work, such as a model on a dataset or one
  training run: settings, metric rows, predictions as one character per problem, seconds, versions. `Store.put` writes
  the file at once, and `Store.has(key, settings)` says what need not be done again: that is how runs resume.
- `tables`: a `Table` is registered by its paper's module. `run(bench)` does the work and puts records into the store
  of its name (`winogrande-4.json`); each of its `parts` turns that store into Markdown. It gets nothing but the store:
  pages are written without the datasets. A table whose records come from elsewhere names that store's file
  (`file="trained-liu"`) and has no `run`.
- `page`: every part stands on a page between `<!-- table NAME -->` and `<!-- end -->`. Numbers in prose must be found
  in the tables of their section, or of a section that their paragraph links to; what papers say that stands in no
  table is listed in `papers.STATED`.
- `winogrande`, `winogrande_aaai`, `trichelair`, `liu`, `square_one`, `naturalness`: the tables, one module per paper.
- `sets`: the datasets of all training. `trained`: stored runs of a queue that is gone, and what tables ask of them;
  `winogrande_trained`, `winogrande_aflite`, `winogrande_aaai_trained`, `liu_trained` and `square_one_trained` write the
  tables from these, with what all of them share in `trained_tables`.
"""
