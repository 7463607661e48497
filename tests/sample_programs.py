"""Samples ten programs that Debian ships by cachegrind, for two machines, and writes a page.

make bench-factors runs it: sample_programs.py EVENKEEL PAGE. Inputs are made here, by seed, and are
small: under cachegrind a program takes 20 to 100 times as long.
"""

import json
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

MACHINES = ["odroid-xu3", "alder-lake"]

# Program, Debian's package, what it does, its arguments. Files are in the folder it runs in.
PROGRAMS = [
    ("gzip", "gzip", "compresses text", ["gzip", "-9", "-c", "text"]),
    ("bzip2", "bzip2", "compresses text", ["bzip2", "-c", "text"]),
    ("xz", "xz-utils", "compresses text", ["xz", "-6", "-T1", "-c", "text"]),
    ("zstd", "zstd", "compresses text", ["zstd", "-12", "-c", "--single-thread", "text"]),
    ("flac", "flac", "encodes sound", ["flac", "--silent", "-8", "-c", "sound.wav"]),
    ("perl", "perl-base", "counts words", ["perl", "count.pl", "text"]),
    ("mawk", "mawk", "sums columns", ["mawk", "{ for (i = 1; i <= NF; i++) s[$i] += length($i) } "
                                              "END { for (k in s) t += s[k]; print t }", "text"]),
    ("sort", "coreutils", "sorts lines", ["sort", "--parallel=1", "text"]),
    ("minisat", "minisat", "solves 3-SAT", ["sh", "-c", "minisat -verb=0 problem.cnf; [ $? -lt 21 ]"]),
    ("glpsol", "glpk-utils", "solves a linear program", ["glpsol", "--lp", "problem.lp"]),
]

COUNT = """my %n; while (<>) { $n{$_}++ for split } print scalar(keys %n), "\\n";\n"""


def inputs(folder):
    draw = random.Random(40)
    words = ["".join(draw.choice("etaoinshrdlu") for _ in range(draw.randint(2, 9)))
             for _ in range(3000)]
    lines = (" ".join(draw.choice(words) for _ in range(10)) for _ in range(8000))
    (folder / "text").write_text("\n".join(lines) + "\n")
    (folder / "count.pl").write_text(COUNT)
    samples = [int(12000 * math.sin(i * 0.05) + draw.gauss(0, 800)) for i in range(200_000)]
    data = struct.pack(f"<{len(samples)}h", *samples)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1,
                       44100, 88200, 2, 16, b"data", len(data))
    (folder / "sound.wav").write_bytes(head + data)
    clauses = [[draw.choice((-1, 1)) * v for v in draw.sample(range(1, 151), 3)]
               for _ in range(630)]
    text = "".join(" ".join(map(str, clause)) + " 0\n" for clause in clauses)
    (folder / "problem.cnf").write_text(f"p cnf 150 {len(clauses)}\n{text}")
    rows = [[(draw.randint(1, 20), v) for v in draw.sample(range(120), 12)] for _ in range(100)]
    sums = "\n".join(" + ".join(f"{a} x{v}" for a, v in row) + f" <= {draw.randint(200, 900)}"
                     for row in rows)
    goal = " + ".join(f"{draw.randint(1, 9)} x{v}" for v in range(120))
    bounds = "\n".join(f"x{v} <= 50" for v in range(120))
    (folder / "problem.lp").write_text(
        f"Maximize\n{goal}\nSubject To\n{sums}\nBounds\n{bounds}\nEnd\n")


def sample(evenkeel, machine, name, command, folder):
    done = subprocess.run(
        [evenkeel, "sample", "--by", "cachegrind", "-m", machine, "--name", name, "--json", "--",
         *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        sys.exit(f"{name} on {machine}: {last}")
    return json.loads(done.stdout)["kinds"]


def main():
    evenkeel, page = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    missing = [package for _, package, _, command in PROGRAMS
               for program in [command[0] if command[0] != "sh" else "minisat"]
               if shutil.which(program) is None]
    if missing or shutil.which("valgrind") is None:
        sys.exit(f"not installed: {' '.join(missing) or 'valgrind'} (apt install)")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        inputs(folder)
        for name, package, what, command in PROGRAMS:
            print(name, file=sys.stderr)
            kinds = [sample(evenkeel, machine, name, command, folder) for machine in MACHINES]
            of_little = kinds[0][1]["metrics"]
            figures = [f"{kind[0]['factor']:.2f}" for kind in kinds]
            figures += [f"{of_little['l1d-misses']:.1f}", f"{of_little['llc-misses']:.2f}",
                        f"{of_little['branch-miss-rate'] * 100:.1f} %"]
            rows.append(f"| {name} | {package} | {what} | " + " | ".join(figures) + " |")
    table = "\n".join(rows)
    page.write_text(f"""\
# Factors of programs, modelled

Ten programs that Debian ships, under cachegrind. `make bench-factors` writes this page.

**Modelled, not measured**: speedup factors of the fastest kind over the slowest, by the interval
model, from misses, mispredictions and `[kinds.core]` of the machine files
([tell speedup factors](../policies/speedup-factors.md)). Inputs are small and made by seed. Misses
are per 1,000 instructions in the first-level data cache and in the last cache of odroid-xu3's
little cores.

| program | package | what it does | {' | '.join(MACHINES)} | L1D | last cache | mispredicted |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
{table}
""")


main()
