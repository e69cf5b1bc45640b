#!/usr/bin/env bash
# On a machine with a GPU: the whole test suite on it, then the benchmark rows beside NVIDIA Warp, as a table.
#
#   bash benchmarks/gpu.sh [FOLDER [ARGUMENT ...]]
#
# FOLDER (default: benchmarks/gpu) receives tests.log, table.md and table.json. ARGUMENTs go to `python -m benchmarks`,
# for example --quick, or --rows 'saxpy,copy'. PYTHON (default: python3) is an interpreter in which this was done:
#
#   pip install '.[dev,cuda,bench]'
#
# DEVICE (default: cuda:0) is the GPU of the benchmarks. Exit status: 0 when all tests passed and warpsim ran every
# row with the right values, 1 otherwise, 2 when this machine cannot run it; then stderr says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
device=${DEVICE:-cuda:0}
folder=${1:-benchmarks/gpu}
[ $# -eq 0 ] || shift

refuse() { printf 'gpu.sh: %s\n' "$*" >&2; exit 2; }

command -v "$python" >/dev/null || refuse "no interpreter $python: set PYTHON"
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH}
"$python" -c 'import warpsim' || refuse "$python cannot import warpsim: pip install '.[dev,cuda,bench]'"
why=$("$python" - "$device" <<'PY'
import importlib.util
import sys

import warpsim
from warpsim.core.emit.cuda import tools as cuda_tools
from warpsim.errors import DeviceError

try:
    warpsim.get_device(sys.argv[1])
except DeviceError as error:
    sys.exit(print(" / ".join(str(error).splitlines())))
if missing := [*cuda_tools.missing(), *(name for name in ("pytest", "warp") if not importlib.util.find_spec(name))]:
    print(f"missing: {', '.join(missing)}: pip install '.[dev,cuda,bench]'")
PY
) || refuse "the check of $device failed"
[ -z "$why" ] || refuse "$why"

mkdir -p "$folder"
"$python" -m warpsim info

echo "=== tests on $device"
tests=0
"$python" -m pytest -m device -q -p no:cacheprovider 2>&1 | tee "$folder/tests.log" || tests=$?
said=$(grep -E '(passed|failed|error)' "$folder/tests.log" | tail -n 1) || true

echo "=== benchmarks on $device"
rows=0
"$python" -m benchmarks --device "$device" --json "$folder/table.json" --markdown "$folder/table.md" "$@" || rows=$?
[ -s "$folder/table.md" ] && printf -- '- `pytest -m device` on this machine: %s\n' "${said:-no result, see tests.log}" >>"$folder/table.md"

echo "=== $folder: tests $([ "$tests" -eq 0 ] && echo passed || echo FAILED), rows $([ "$rows" -eq 0 ] && echo right || echo FAILED)"
[ "$tests" -eq 0 ] && [ "$rows" -eq 0 ] || exit 1
