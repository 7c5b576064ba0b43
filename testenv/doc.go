// Package testenv gives tests a SQL Server to run against: the embedded one always, and a real one as well when
// JOBAGENT_TEST_DSN names it or JOBAGENT_TEST_CONTAINER asks for a container. A suite is written once, as a function of an
// [Env], and [Each] runs it on every server there is.
//
// Only tests import this package; the binary links testenv/tsqld alone.
package testenv
