// Package fault breaks the product's connections to SQL Server: the n-th request fails before it is
// sent, its answer is lost, truncated or never sent, the server answers with a transient error, or
// the whole network is down or silent, leads elsewhere, hangs, resets connections or refuses, or
// the database fails over.
//
// A [Network] wraps any mssqldb.HostDialer, in memory or TCP. It parses TDS packet headers (MS-TDS
// 2.2.3.1), so it recognizes requests only on connections without TLS. On other connections it
// supports only Cut and Silence. Its waits are durably blocking in a testing/synctest bubble over
// the in-memory pipe.
package fault
