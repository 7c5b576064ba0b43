// Package tdsguard reads what a server sends before the driver does, and lets nothing through that would make the driver allocate
// or index on the server's word.
//
// go-mssqldb reads counts and lengths from the network and allocates by them: 13 bytes after a login (FEDAUTHINFO with 4 G
// options) end the process (.github/upstream). A [Guard] stands between the connection and the driver. It follows the token stream as
// the driver does, byte by byte, checks every length and count against what a SQL Server can send (MS-TDS) and against [Limits], and ends
// the stream with a [Violation] or an [Exceeded] at the first fault. What nobody reads is taken out of the stream: the rows of a script
// without output never reach the driver, however large they are.
//
// A guard holds one packet, and four bytes for each column of the current result set. It makes no copies of rows but the one from its
// packet to the driver's, and it has no goroutine and no logger. A [Budget] bounds what large rows cost in all connections together.
package tdsguard
