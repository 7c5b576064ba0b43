// Package scenario runs the scenarios S1 to S31 as tests: the documented
// procedures and samples of Azure Elastic Jobs. Each scenario is one script in testdata, in the
// dialect of package script. The calls, server names included, are those of the sources; everything
// else, such as the expected results, was written for this package.
//
// A scenario has a fleet of embedded servers, one per server name of the samples. The control
// database ElasticJobs is on one of them. An agent runs in virtual time; a script waits for it with
// WAITFOR DELAY. The agent's configuration contains the credentials that the samples name. A
// script's session named server/database is a connection to that database.
//
// Features that need Azure itself are expected to fail with the reason: elastic pools cannot be
// listed elsewhere, and sys.dm_db_resource_stats does not exist.
package scenario
