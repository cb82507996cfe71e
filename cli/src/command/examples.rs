//! What stands below the help of each command: examples and exit statuses.

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  hsa-replay run -- ./program             replay every kernel twice
  hsa-replay run -n 5 -k saxpy -- ./program --size 1024
  hsa-replay run --launch-skip 100 --launch-count 1 -- python train.py

Exit status:
  the program's, or 128+N when signal N ended it
  125  hsa-replay itself failed, or was used wrongly
  126  the program cannot be run
  127  the program is not found";

pub(super) const REPORT_EXAMPLES: &str = "\
Examples:
  hsa-replay report report.jsonl
  hsa-replay report -v hsa-replay-*.jsonl
  hsa-replay report --format csv report.jsonl > dispatches.csv
  hsa-replay report --format html report.jsonl > report.html
  hsa-replay report --as f32 report.jsonl      after run --dump-writes DIR
  hsa-replay report --diff before.jsonl after.jsonl";

pub(super) const ENV_EXAMPLES: &str = "\
Example:
  eval \"$(hsa-replay env --passes 5 -o report.jsonl)\"
  ./program";

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  hsa-replay completions bash > ~/.local/share/bash-completion/completions/hsa-replay
  hsa-replay completions zsh > ~/.zfunc/_hsa-replay
  hsa-replay completions fish > ~/.config/fish/completions/hsa-replay.fish";

pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  hsa-replay man | man -l -
  hsa-replay man run > hsa-replay-run.1";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  hsa-replay doctor
  hsa-replay doctor -- ./program";
