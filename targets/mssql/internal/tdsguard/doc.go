// Package tdsguard checks the data of a server before the driver reads them. It refuses everything
// that would make the driver allocate or index by a length that the server has not justified.
//
// go-mssqldb reads counts and lengths from the network and allocates by them: 13 bytes after a
// login (FEDAUTHINFO with 4 G options) end the process (.github/upstream). A [Guard] stands between
// the connection and the driver. It follows the token stream as the driver does, byte by byte, and
// checks every length and count against what a SQL Server can send (MS-TDS) and against [Limits].
// It ends the stream with a [Violation] or an [Exceeded] at the first fault. It removes data
// without a reader from the stream: the rows of a script without output never reach the driver,
// however large they are.
//
// A guard holds one packet, and four bytes for each column of the current result set. It copies
// rows only from its packet to the driver's buffer, and has neither a goroutine nor a logger. A
// [Budget] bounds the memory for large rows in all connections together.
package tdsguard
