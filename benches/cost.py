"""What hsa-replay costs on the software GPU, as ratios taken in one run, beside two peers: ROCr's own intercept queue, and windows as
the reference system makes them.

usage: cost.py [--short] FOLDER PART...     parts: queue, window, growth; FOLDER holds the compiled programs of benches/
"""

import json
import os
import statistics
import subprocess
import sys

arguments = sys.argv[1:]
short = "--short" in arguments
folder, *parts = [word for word in arguments if word != "--short"]
REPORT = os.path.join(folder, "report.jsonl")
MIB = 1 << 20


def run(*command, tool=None, options=None):
    """The figures that a program prints, by name; under replay where there are options."""
    if options is not None:
        command = ("hsa-replay", "run", *options, "-o", REPORT, "--", *command)
    environment = dict(os.environ)
    if tool:
        environment["HSA_TOOLS_LIB"] = os.path.abspath(os.path.join(folder, tool))
    done = subprocess.run(["scripts/in-root", *command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: [float(word) for word in words] for name, *words in lines}


def dispatches():
    with open(REPORT) as lines:
        records = [record for record in map(json.loads, lines) if record["record"] == "dispatch"]
    bad = [(record["reason"], record["detail"]) for record in records if record["outcome"] != "replayed"]
    if bad or not records:
        sys.exit(f"bench: {len(bad)} of {len(records)} dispatches were not replayed: {bad[:3]}")
    return records


def title(text):
    print(f"\n==> {text}", flush=True)


def queue():
    title("the queue path of a process that replays nothing, beside ROCr's intercept queue (medians of rounds in turns)")
    program = [os.path.join(folder, "paths"), os.path.join(folder, "nothing.co"), "3000" if short else "20000", "1000"]
    kinds = {
        "direct": {},
        "intercept": {"tool": "libintercept.so"},
        "hsa-replay": {"options": ["--kernel", "no such kernel"]},
    }
    rounds = {kind: [] for kind in kinds}
    for _ in range(5 if short else 9):
        for kind, how in kinds.items():
            rounds[kind].append(run(*program, **how))
    figure = {
        kind: {name: statistics.median(each[name][0] for each in figures) for name in figures[0]}
        for kind, figures in rounds.items()
    }
    direct = figure["direct"]
    print("nanoseconds; +: over direct. A submission is a packet written and its doorbell rung; signalled: with a completion signal")
    names = ("doorbell", "submission", "signalled", "submission_signalled", "crowded", "allocation")
    heads = ("doorbell", "submission", "signalled", "submission", "ring full", "alloc+free")
    print(f"{'':10}" + "".join(f" {head:>11}" for head in heads) + f" {'packets/s':>10} {'of direct':>9}")
    for kind, own in figure.items():
        cells = "".join(f" {own[name]:5.0f} {own[name] - direct[name]:+5.0f}" for name in names)
        print(f"{kind:10}{cells} {1e9 / own['packet']:10.0f} {direct['packet'] / own['packet']:9.0%}")
    title("a chain of dependent kernels over two streams")
    links = "100" if short else "300"
    chain = [os.path.join(folder, "chain"), links]
    plain, ours = [], []
    for _ in range(3):
        plain.append(run(*chain)["chain"][1])
        ours.append(run(*chain, options=["--kernel", "no such kernel"])["chain"][1])
    plain, ours = (statistics.median(times) / float(links) / 1e3 for times in (plain, ours))
    print(f"direct {plain:.1f} us a link, hsa-replay {ours:.1f} us: {ours / plain:.2f} of direct")


def footprint(mib, regions, kib, launches, queues=0, passes=0):
    return [os.path.join(folder, "footprint"), *map(str, (mib, regions, kib, launches, queues, passes))]


PASSES = 3


def replayed(program, *more):
    """A replayed run: its figures, and the best of its windows, since other work on the machine only adds."""
    figures = run(*program, options=["--passes", str(PASSES), "--kernel", "raise", *more])
    windows = dispatches()
    return figures, {
        "window": min(r["window"]["ns"] for r in windows),
        "rate": max(r["snapshot"]["bytes"] / r["snapshot"]["ns"] for r in windows),
        "restore": min(r["restore"]["ns"] / (PASSES - 1) for r in windows),
        "moved": max(r["restore"]["bytes"] / (PASSES - 1) for r in windows),
        "read": windows[0]["snapshot"]["bytes"],
        "tier": windows[0]["snapshot"]["tier"],
    }


def window():
    title(f"windows of {PASSES} passes: the snapshot's speed over one memcpy and over one device copy of the same bytes; what a pass")
    print("    beyond the first moves over what the kernel wrote, and what detection reads; all over the reference system's window")
    print(
        f"{'footprint':>9} {'regions':>7} {'written':>9} {'snapshot':>10} {'memcpy':>7} {'copy':>6} {'restore':>9}"
        f" {'moved':>6} {'read':>9} {'window':>10} {'no check':>10} {'reference':>10} {'ours/ref.':>9} {'no check':>8}"
    )
    rows = [(1, 1, 4), (64, 1, 64), (64, 1000, 64), (40, 10000, 4), (256, 8, 16384), (1024, 1, 64)]
    for mib, regions, kib in rows[:4] if short else rows:
        program = footprint(mib, regions, kib, 5 if short else 10)
        figures, own = replayed(program)
        _, unchecked = replayed(program, "--no-check")
        peer = run(*footprint(mib, regions, kib, 2, 0, PASSES))
        reference = peer["reference"][0]
        memcpy, copy = (figures[name][0] / figures[name][1] for name in ("memcpy", "copy"))
        print(
            f"{mib:5} MiB {regions:7} {kib:5} KiB {own['rate']:5.2f} GB/s {own['rate'] / memcpy:7.0%} {own['rate'] / copy:6.0%}"
            f" {own['restore'] / 1e6:6.2f} ms {own['moved'] / (kib * 1024):6.2f} {own['read'] / MIB:5.0f} MiB"
            f" {own['window'] / 1e6:7.2f} ms {unchecked['window'] / 1e6:7.2f} ms {reference / 1e6:7.2f} ms"
            f" {own['window'] / reference:9.2f} {unchecked['window'] / reference:8.2f}",
            flush=True,
        )


def growth():
    title(f"growth of a window of {PASSES} passes; fixed: what a window costs beyond as many plain launches")
    print(f"{'footprint':>9} {'regions':>7} {'queues':>6} {'launches':>8} {'plain':>10} {'window':>10} {'fixed':>10}")
    rows = [(1, 1, 0, 20), (1, 1, 0, 100), (1, 1, 2, 20), (1, 1, 8, 20)]
    rows += [(1, 10, 0, 5), (1, 100, 0, 5), (8, 1000, 0, 5), (80, 10000, 0, 5), (16, 1, 0, 5), (64, 1, 0, 5), (256, 1, 0, 5)]
    if not short:
        rows += [(1, 1, 0, 1000), (1024, 1, 0, 5)]
    for mib, regions, queues, launches in rows:
        program = footprint(mib, regions, 4, launches, queues)
        plain = run(*program)["launch"][0]
        _, own = replayed(program)
        fixed = own["window"] - PASSES * plain
        print(
            f"{mib:5} MiB {regions:7} {queues:6} {launches:8} {plain / 1e6:7.2f} ms {own['window'] / 1e6:7.2f} ms {fixed / 1e6:7.2f} ms",
            flush=True,
        )


for part in parts:
    {"queue": queue, "window": window, "growth": growth}[part]()
