"""Time and memory of `hsa-replay report` in each format on a generated report.

usage: report.py COMMAND RECORDS FOLDER
"""
import os
import sys
import time

command, records, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sample = open(os.path.join(os.path.dirname(__file__), "../contract/tests/data/complete.jsonl")).read().splitlines()
os.makedirs(folder, exist_ok=True)
report = os.path.join(folder, "report.jsonl")

# The dispatch as the writer has it, with a kernel out of 200 and times of its own.
head, rest = sample[2].split('"id":0,', 1)
with open(report, "w") as file:
    file.write(sample[0] + "\n")
    for number in range(records):
        line = rest.replace('saxpy(', f'kernel_{number % 200}(').replace('_Z5saxpy', f'_Z5kernel_{number % 200}')
        line = line.replace('"launch":0,', f'"launch":{number // 200},').replace('"ns":8120,', f'"ns":{8000 + number % 997},')
        file.write(f'{head}"id":{number},{line}\n')

megabytes = os.path.getsize(report) / 1e6
print(f"{records} records, {megabytes:.0f} MB")
print(f"{'format':>8} {'seconds':>8} {'MB/s':>7} {'peak MB':>8} {'answer MB':>10}")
rows = [(name, ["--format", name, report]) for name in ("text", "json", "csv", "html", "trace")]
for name, options in [*rows, ("text -v", ["-v", report]), ("diff", ["--diff", report, report])]:
    answer = os.path.join(folder, "answer")
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(answer, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execvp(command, [command, "report", *options])
    _, status, usage = os.wait4(child, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"report {' '.join(options)} ended with {status}")
    size = os.path.getsize(answer) / 1e6
    print(f"{name:>8} {seconds:8.1f} {megabytes / seconds:7.0f} {usage.ru_maxrss / 1024:8.0f} {size:10.1f}")
os.remove(report)
os.remove(os.path.join(folder, "answer"))
