// Package fault breaks the product's connections to SQL Server on purpose: the n-th request fails before it is sent, its
// answer is lost, cut or never comes, the server answers with a transient error, or the whole network is down or silent.
//
// [Network] stands between go-mssqldb and any mssql.HostDialer, in memory or TCP. It reads TDS packet headers (MS-TDS
// 2.2.3.1), and therefore sees requests only on connections without TLS; on others it only cuts and holds. All its waiting is
// durably blocking in a testing/synctest bubble over the in-memory pipe.
package fault
