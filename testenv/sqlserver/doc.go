// Package sqlserver is for runs against a real SQL Server: it watches the server's deadlocks and lock escalations, which an embedded
// server has not, and its tests are those that need row locks (capability testenv.RowLocks).
//
// run.sh runs everything in order, by hand or in .github/workflows/sqlserver.yml; the command watch is its eyes:
//
//	JOBAGENT_TEST_DSN='sqlserver://sa:…@127.0.0.1:1433?TrustServerCertificate=true' bash testenv/sqlserver/run.sh
package sqlserver
