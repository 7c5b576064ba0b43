#!/usr/bin/env bash
# Starts a container of SQL Server with a password made for it, and prints JOBAGENT_TEST_DSN=… for the file of environment variables.
# The container is named jobagent-sqlserver; `docker rm -f jobagent-sqlserver` ends it.
# Usage: bash testenv/sqlserver/container.sh IMAGE >> "$GITHUB_ENV"        (by hand: export "$(bash testenv/sqlserver/container.sh IMAGE)")
set -euo pipefail
image=${1:?usage: container.sh IMAGE}

password=Aa1-$(od -An -N18 -tx1 /dev/urandom | tr -d ' \n')
# GitHub hides the value in logs from here on. The line goes to standard error: standard output is the file of variables.
[ -z "${GITHUB_ACTIONS:-}" ] || echo "::add-mask::$password" >&2
# The password goes by the environment: others can read command lines. Two names: images before 2019 CU know SA_PASSWORD only.
MSSQL_SA_PASSWORD=$password SA_PASSWORD=$password docker run --detach --name jobagent-sqlserver --publish 127.0.0.1::1433 \
	--env ACCEPT_EULA=Y --env MSSQL_PID=Developer --env MSSQL_SA_PASSWORD --env SA_PASSWORD "$image" >&2
address=$(docker port jobagent-sqlserver 1433/tcp | head -n 1)
echo "JOBAGENT_TEST_DSN=sqlserver://sa:$password@$address?TrustServerCertificate=true"
