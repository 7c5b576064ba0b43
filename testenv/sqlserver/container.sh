#!/usr/bin/env bash
# Starts containers of SQL Server with a random password, and prints JOBAGENT_TEST_DSN=… and, with the argument fleet, JOBAGENT_TEST_FLEET=…, each
# on a line, for a file of environment variables. The fleet has the five servers that the scenarios name, of 2 GB each; jobserver is the
# first one. The containers are called jobagent-NAME; `docker rm -f jobagent-NAME` removes one.
# Usage: bash testenv/sqlserver/container.sh IMAGE [fleet] >> "$GITHUB_ENV"
#   by hand: while read -r v; do export "$v"; done < <(bash testenv/sqlserver/container.sh mcr.microsoft.com/mssql/server:2022-latest)
set -euo pipefail
image=${1:?usage: container.sh IMAGE [fleet]}

password=Aa1-$(od -An -N18 -tx1 /dev/urandom | tr -d ' \n')
# GitHub hides the value in logs from now on. The line goes to standard error, because standard output is the file of variables.
[ -z "${GITHUB_ACTIONS:-}" ] || echo "::add-mask::$password" >&2

# start NAME: runs a container, and prints its connection string. The password is in the environment, because other users can read command
# lines. It has two names, because images of 2017 use only the second one.
start() {
	MSSQL_SA_PASSWORD=$password SA_PASSWORD=$password docker run --detach --name "jobagent-$1" --publish 127.0.0.1::1433 --env ACCEPT_EULA=Y \
		--env MSSQL_PID=Developer --env MSSQL_MEMORY_LIMIT_MB=2048 --env MSSQL_SA_PASSWORD --env SA_PASSWORD "$image" >&2
	echo "sqlserver://sa:$password@$(docker port "jobagent-$1" 1433/tcp | head -n 1)?TrustServerCertificate=true"
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
