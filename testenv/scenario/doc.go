// Package scenario runs what the documentation and the samples of Azure Elastic Jobs do, as tests: the scenarios S1 to S31 of the
// specification, one script each in testdata, in the dialect of package script. The calls are those of the sources, server names
// included; what surrounds them, the expected results among it, is ours.
//
// A scenario has a fleet of embedded servers, one per server name of the samples, and a control database ElasticJobs on one of them.
// An agent runs in virtual time: WAITFOR DELAY is how a script waits for it. The agent's configuration holds the credentials that
// the samples name. A session of a script whose name is server/database is a connection to that database.
//
// What needs Azure itself is expected to fail with the reason: elastic pools cannot be listed elsewhere, and there is no
// sys.dm_db_resource_stats.
package scenario
