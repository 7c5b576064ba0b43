// Package testenv provides SQL Servers for tests: always the embedded server, and a real server if
// JOBAGENT_TEST_DSN names one or JOBAGENT_TEST_CONTAINER requests a container. A suite is a
// function of an [Env]; [Each] runs it on every available server.
//
// Only tests import this package. The binary links testenv/tsqld alone.
package testenv
