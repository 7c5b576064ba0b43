#!/usr/bin/env bash
# Runs everything that needs a real SQL Server, in order: the suite, the tests that need row locks, a short crash run, the plans of our
# statements over a long history, the marks `# verified:` in scripts, and the check for deadlocks and lock escalations on the server. Each
# step can run alone.
# Usage: JOBAGENT_TEST_DSN='sqlserver://sa:…@HOST:PORT?TrustServerCertificate=true' bash testenv/sqlserver/run.sh [STEP…]
#   STEP: wait, watch, suite, rowlocks, scenarios, crash, plans, verify, check; without any, all of them
#   JOBAGENT_TEST_RCSI=on|off   READ_COMMITTED_SNAPSHOT of test databases (default: the server's)
#   JOBAGENT_TEST_FLEET=…       the servers of the scenarios (container.sh prints it); without it, scenarios run on embedded servers only
#   OUT=DIR                     directory for logs, deadlock graphs, the patch with the marks (default: a new temporary directory)
#   CRASH=DURATION              duration of the crash run (default 2m)
#   HISTORY=ROWS                rows of history under which plans are collected (default 1000000)
# After a failed step the others still run, and the exit status is 1. The login needs sysadmin, to create databases, logins and Extended
# Events sessions. For a server without Extended Events (`jobagent dev`), the script prints one line.
set -uo pipefail
cd "$(dirname "$0")/../.."

if [ -z "${JOBAGENT_TEST_DSN:-}" ]; then
	echo "JOBAGENT_TEST_DSN is not set" >&2
	exit 2
fi
case ${JOBAGENT_TEST_RCSI:-} in
'' | on | off) ;;
*)
	echo "invalid JOBAGENT_TEST_RCSI: want on or off" >&2
	exit 2
	;;
esac
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
failed=()

# step NAME COMMAND…: runs a command, writes its output to $out/NAME.log, and prints the failures and the last lines.
step() {
	local name=$1 began=$SECONDS status=0
	shift
	printf '== %s\n' "$name"
	"$@" >"$out/$name.log" 2>&1 || status=$?
	if [ "$status" = 0 ]; then
		grep -v -e 'no test files' "$out/$name.log" | tail -n 15
		printf 'ok %s (%d s)\n' "$name" $((SECONDS - began))
	else
		grep -n -e '^ *--- FAIL' -e '^FAIL' -e 'panic:' "$out/$name.log" | head -n 60
		tail -n 25 "$out/$name.log"
		printf 'FAILED %s with status %d (%d s); log: %s\n' "$name" "$status" $((SECONDS - began)) "$out/$name.log"
		failed+=("$name")
	fi
}

verify() {
	# -count=1, because a cached result writes no mark.
	go test -count=1 -timeout 90m ./testenv/script ./testenv/scenario -args -rewrite-verified || return
	git diff --no-color -- testenv >"$out/verified.patch"
	echo "$(grep -c '^+# verified: SQL Server' "$out/verified.patch") scripts marked; the patch is $out/verified.patch"
}

# plans collects plans, costs and waits while `jobagent bench history` works on a database with a long history.
plans() {
	go build -o "$out/watch" ./testenv/sqlserver/watch && go build -o "$out/jobagent" ./cmd/jobagent || return
	"$out/watch" plans "$out/plans" &
	local watcher=$! status=0
	JOBAGENT_DSN=$JOBAGENT_TEST_DSN "$out/jobagent" bench history --executions "${HISTORY:-1000000}" || status=$?
	kill -INT "$watcher" 2>/dev/null # has ended already if there is nothing to collect
	wait "$watcher" || status=$?
	rm -f "$out/watch" "$out/jobagent"
	return "$status"
}

one() {
	case $1 in
	wait) step wait go run ./testenv/sqlserver/watch wait ;;
	watch) step watch go run ./testenv/sqlserver/watch start "$out/since" ;;
	suite) step suite env -u JOBAGENT_TEST_FLEET go test -count=1 -timeout 90m ./... ;; # the step scenarios has the fleet
	rowlocks) step rowlocks go test -count=1 -timeout 60m -v ./testenv/sqlserver -run TestRowLocks ;;
	scenarios)
		[ -n "${JOBAGENT_TEST_FLEET:-}" ] || echo "JOBAGENT_TEST_FLEET is not set: the scenarios run on embedded servers only"
		step scenarios go test -count=1 -timeout 90m -v ./testenv/scenario
		;;
	crash) step crash go test -count=1 -timeout 60m -v ./cmd/jobagent -run '^TestCrash$' -crash.duration "${CRASH:-2m}" ;;
	plans) step plans plans ;;
	verify) step verify verify ;;
	check) step check go run ./testenv/sqlserver/watch check "$out/since" "$out/events" ;;
	*)
		echo "invalid step $1: want wait, watch, suite, rowlocks, scenarios, crash, plans, verify or check" >&2
		exit 2
		;;
	esac
}

steps=("$@")
[ $# -gt 0 ] || steps=(wait watch suite rowlocks scenarios crash plans verify check)
for s in "${steps[@]}"; do
	one "$s"
done
if [ ${#failed[@]} -gt 0 ]; then
	printf 'failed: %s\n' "${failed[*]}"
	exit 1
fi
