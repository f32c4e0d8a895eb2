#!/usr/bin/env bash
# From a study to a benchmark that others can use, and back: the commands of docs/tutorial.md, which tells the story.
#
#   mkdir try && cd try && bash PATH/TO/runs/tutorial.sh
#
# It wants an empty folder, about a minute on two cores, and what `pip install '.[release]' ./collect` installs, with that
# environment's winokit and python on the PATH. Nothing is downloaded and nothing is written outside the folder but
# answers of the built-in model, which are kept in the user's cache.
set -eu

if [ -n "$(ls -A)" ]; then
  echo "tutorial.sh: $PWD is not empty; run it in an empty folder" >&2
  exit 2
fi

# What winokit remembers of a release's hidden test stays here too: this one is for trying.
export WINOKIT_STATE="$PWD/state"

# Each command is shown, with a dollar before it, and then run.
BASH_XTRACEFD=1
PS4='
$ '
set -x

# 1. People write twins and judge them. Here example workers do, in a study of fourteen days that is over already.
python -c "from pathlib import Path; from winokit_collect.demo import fill; fill(Path('study'), days=14)"
winokit collect status study
winokit collect export study

# 2. What was collected, looked at before anybody trains on it.
winokit stats study/export/problems.jsonl
winokit check study/export/problems.jsonl

# 3. What linear classifiers of the built-in model's features can guess is taken out.
winokit embed study/export/problems.jsonl --out X.npy
winokit debias aflite study/export/problems.jsonl --features X.npy --out filtered

# 4. A benchmark, with a hidden test. Its secret is written down here so that your numbers are the page's; leave
# the secret out for one that nobody knows.
python -c "import os; os.write(os.open('secret', os.O_CREAT | os.O_WRONLY, 0o600), b'%064d' % 1210)"
winokit release filtered --out example --name example --licence CC0-1.0 --dev 0.3 --test 0.3 --set collection=study/export --set secret=secret
winokit verify example

# 5. Two submissions, graded, and the leaderboard.
winokit score example/winogrande/test.jsonl --out builtin.jsonl
winokit score example/winogrande/test.jsonl --model random --out coin.jsonl
winokit grade example builtin.jsonl --name "built-in model" --formalization masked-candidate --training-data none --trials 1 --out graded/builtin.json
winokit grade example coin.jsonl --name "a coin" --formalization guessing --training-data none --trials 1 --out graded/coin.json
winokit grade example coin.jsonl --name "a coin" --formalization guessing --training-data none --trials 1 --owner
winokit grade example --board graded --out board.html --owner

# 6. What the score is worth.
winokit audit example/winogrande/dev.jsonl --model builtin --model random --out audit --all
winokit report audit

# 7. The same model on a hundred pairs of the bundled twins: which of these findings were luck?
winokit audit open --limit 200 --protocol accuracy --protocol groups --protocol dependence --protocol position --out more --all
