#!/usr/bin/env bash
# Starts containers of SQL Server with a random password, and prints JOBAGENT_TEST_DSN=… and, with the argument fleet, JOBAGENT_TEST_FLEET=…, each
# on a line, for a file of environment variables. The fleet has the five servers that the scenarios name, of 2 GB each; jobserver is the
# first one. The containers are called jobagent-NAME; `docker rm -f jobagent-NAME` removes one.
# It uses docker, or podman where only that answers (ENGINE=docker|podman chooses). COLLATION is the server's collation; the default is the image's.
# EDITION is a value of MSSQL_PID, such as StandardDeveloper, which SQL Server 2025 has; the default, Developer, has the features of Enterprise.
# Usage: bash testenv/sqlserver/container.sh IMAGE [fleet] >> "$GITHUB_ENV"
#   by hand: while read -r v; do export "$v"; done < <(bash testenv/sqlserver/container.sh mcr.microsoft.com/mssql/server:2022-latest)
set -euo pipefail
image=${1:?usage: container.sh IMAGE [fleet]}

engine=${ENGINE:-}
for name in docker podman; do
	[ -n "$engine" ] || ! "$name" info >/dev/null 2>&1 || engine=$name
done
[ -n "$engine" ] || { echo "neither docker nor podman answers: start one of them" >&2; exit 1; }

password=Aa1-$(od -An -N18 -tx1 /dev/urandom | tr -d ' \n')
# GitHub hides the value in logs from now on. The line goes to standard error, because standard output is the file of variables.
[ -z "${GITHUB_ACTIONS:-}" ] || echo "::add-mask::$password" >&2

# start NAME: runs a container, and prints its connection string. The password is in the environment, because other users can read command
# lines. It has two names, because images of 2017 use only the second one.
# The memory limit is SQL Server's own setting: before 2022 CU 20 the server does not see the limits of a cgroup of version 2, and would be ended.
# https://learn.microsoft.com/sql/linux/sql-server-linux-configure-environment-variables
start() {
	local options=()
	[ -z "${COLLATION:-}" ] || options+=(--env "MSSQL_COLLATION=$COLLATION")
	[ -z "${EDITION:-}" ] || options+=(--env "MSSQL_PID=$EDITION")
	MSSQL_SA_PASSWORD=$password SA_PASSWORD=$password "$engine" run --detach --name "jobagent-$1" --publish 127.0.0.1::1433 --env ACCEPT_EULA=Y \
		--env MSSQL_MEMORY_LIMIT_MB=2048 --env MSSQL_SA_PASSWORD --env SA_PASSWORD "${options[@]}" "$image" >&2
	sleep "${SETTLE:-5}" # a server that this kernel cannot run has ended by now
	if [ "$("$engine" inspect --format '{{.State.Running}}' "jobagent-$1")" != true ]; then
		"$engine" logs --tail 50 "jobagent-$1" >&2
		echo "the server jobagent-$1 has ended; kernel $(uname -r). Images of 2017 and early 2019 and 2022 do not start on kernels from 6.7 on:" \
			"https://github.com/microsoft/mssql-docker/issues/868" >&2
		return 1
	fi
	echo "sqlserver://sa:$password@$("$engine" port "jobagent-$1" 1433/tcp | head -n 1)?TrustServerCertificate=true"
}

dsn=$(start jobserver)
echo "JOBAGENT_TEST_DSN=$dsn"
if [ "${2:-}" = fleet ]; then
	fleet="jobserver=$dsn"
	for name in server1 server2 london newyork; do
		fleet="$fleet $name=$(start "$name")"
	done
	echo "JOBAGENT_TEST_FLEET=$fleet"
fi
