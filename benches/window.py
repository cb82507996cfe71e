"""One row of the window table of scripts/bench: window.py ROW PLAIN REPLAYED REPORT."""

import json
import statistics
import sys

row, plain_path, replayed_path, report_path = sys.argv[1:]
footprint, regions, written = (int(word) for word in row.split())


def figures(path):
    with open(path) as lines:
        return {words[0]: (int(words[1]), int(words[2])) for words in map(str.split, lines)}


plain, replayed = figures(plain_path), figures(replayed_path)
with open(report_path) as lines:
    windows = [record for record in map(json.loads, lines) if record["record"] == "dispatch"]
if not windows or any(record["outcome"] != "replayed" for record in windows):
    sys.exit(f"bench: not every dispatch was replayed: {[(r['outcome'], r['reason']) for r in windows]}")

memcpy_rate = replayed["memcpy"][0] / replayed["memcpy"][1]
snapshot_rate = statistics.median(r["snapshot"]["bytes"] / r["snapshot"]["ns"] for r in windows)
restored = statistics.median(r["restore"]["bytes"] / (len(r["passes"]) - 1) for r in windows)
restore_rate = sum(r["restore"]["bytes"] for r in windows) / sum(r["restore"]["ns"] for r in windows)
launches, plain_ns = plain["launches"]
fixed_ms = (replayed["launches"][1] - plain_ns) / launches / 1e6
print(
    f"{footprint:6} MiB {regions:8} {written:7} KiB {snapshot_rate:9.2f} GB/s {snapshot_rate / memcpy_rate:8.0%}"
    f" {restore_rate:9.2f} GB/s {restore_rate / memcpy_rate:8.0%} {fixed_ms:11.2f} ms {restored / (written * 1024):13.2f}"
)
