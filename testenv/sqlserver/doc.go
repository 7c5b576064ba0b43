// Package sqlserver supports runs on a real SQL Server. It watches the server's deadlocks and lock
// escalations, which an embedded server does not have. Its tests are those that need row locks
// (capability testenv.RowLocks).
//
// run.sh runs all tests in order, by hand or in .github/workflows/sqlserver.yml. It uses the
// command watch:
//
//	JOBAGENT_TEST_DSN='sqlserver://sa:…@127.0.0.1:1433?TrustServerCertificate=true' bash testenv/sqlserver/run.sh
package sqlserver
