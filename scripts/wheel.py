"""Packs an installed tree as a wheel without Python code: pip puts bin/ and the rest below the environment's prefix.

usage: wheel.py TREE VERSION GLIBC OUTPUT   (GLIBC as in the tag: 2_34)
"""

import base64
import hashlib
import os
import stat
import sys
import time
import zipfile
from pathlib import Path

tree, version, glibc, output = Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
tag = f"py3-none-manylinux_{glibc}_x86_64"
data, info = f"hsa_replay-{version}.data", f"hsa_replay-{version}.dist-info"
when = max(time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6], (1980, 1, 1, 0, 0, 0))
record = []


def add(archive, name, content, mode=0o644):
    entry = zipfile.ZipInfo(name, when)
    entry.external_attr = (stat.S_IFREG | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record.append(f"{name},sha256={digest},{len(content)}\n")


metadata = f"""Metadata-Version: 2.1
Name: hsa-replay
Version: {version}
Summary: Replays GPU kernels of unmodified ROCm programs: a drop-in libhsa-runtime64.so.1 and the command that attaches it
License: MIT OR Apache-2.0
Requires-Python: >=3
Description-Content-Type: text/markdown

""".encode() + (tree / "share/doc/hsa-replay/README.md").read_bytes()

with zipfile.ZipFile(output / f"hsa_replay-{version}-{tag}.whl", "w") as archive:
    # A wheel holds no links: what is one here becomes a copy, and the library knows its copies.
    for path in sorted(path for path in tree.rglob("*") if path.is_file()):
        inside = path.relative_to(tree)
        if inside.parts[0] == "bin":
            add(archive, f"{data}/scripts/{inside.name}", path.read_bytes(), 0o755)
        elif not inside.name.startswith("LICENSE-"):
            add(archive, f"{data}/data/{inside}", path.read_bytes())
        else:
            add(archive, f"{info}/licenses/{inside.name}", path.read_bytes())
    add(archive, f"{info}/METADATA", metadata)
    wheel = f"Wheel-Version: 1.0\nGenerator: hsa-replay ({version})\nRoot-Is-Purelib: false\nTag: {tag}\n"
    add(archive, f"{info}/WHEEL", wheel.encode())
    listing = "".join(record) + f"{info}/RECORD,,\n"
    add(archive, f"{info}/RECORD", listing.encode())
