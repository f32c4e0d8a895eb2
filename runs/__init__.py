"""The experiments of five papers, run again: `python -m runs` lists them.

    python -m runs PAPER [--table N] --model [NAME=]SPEC … --data DIR --out DIR [--limit N]
    python -m runs page [--check]                       write the tables of docs/reproduction.md from runs/results
    python -m runs corpus | trigrams | language-head    make the corpus and the models that the page speaks of
    python -m runs jobs --model mpnet=hf:DIR --out DIR  everything that is trained, as a queue that resumes
    python -m runs trained DIR                          from the queue's records to runs/results
    python -m runs denominators FILE                    which test sizes a table of accuracies can come from
    python -m runs figures                              draw the page's figures from runs/results

How the pieces fit:

- `store`: a `Store` is one JSON file of `Record`s. A record is one piece of work, such as a model on a dataset or one
  training run: settings, metric rows, predictions as one character per problem, seconds, versions. `Store.put` writes
  the file at once, and `Store.has(key, settings)` says what need not be done again: that is how runs resume.
- `tables`: a `Table` is registered by its paper's module. `run(bench)` does the work and puts records into the store
  of its name (`runs/results/winogrande-4.json`); each of its `parts` turns that store into Markdown. It gets nothing
  but the store: the page is written without the datasets. A table whose records come from elsewhere names that
  store's file (`file="trained"`) and has no `run`.
- `page`: every part stands in docs/reproduction.md between `<!-- table NAME -->` and `<!-- end -->`. Numbers in prose
  must be found in the tables of their section, or of a section that their paragraph links to; what papers say that
  stands in no table is listed in `papers.STATED`.
- `winogrande`, `winogrande_aaai`, `trichelair`, `liu`, `square_one`, `naturalness`: the tables, one module per paper.
- `jobs`, `job_queue`, `trainer`, `sets`, `authors`: the list of training runs, the queue that hands them out, what one
  does, its datasets, AFLite against its authors. `trained` packs their records into stores, with what several of them
  come to (`comparisons`, `trials`); `winogrande_trained`, `winogrande_aflite`, `winogrande_aaai_trained`,
  `liu_trained`, `square_one_trained` and `training_time` write the tables from these, with what all of them share in
  `trained_tables`.
"""
