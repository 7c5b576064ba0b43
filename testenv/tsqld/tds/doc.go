// Package tds implements the wire format of the embedded server: SQL Server's Tabular Data Stream
// protocol (MS-TDS), versions 7.1 to 7.4 and the strict form of 8.0, from the server's side.
//
// A message is a series of packets ([ReadPacket], [MessageWriter]). A message from the client is
// decoded from the payload of all its packets: [ReadPrelogin], [ReadLogin], [ReadBatch], [ReadRPC],
// [ReadTransaction]. Only a bulk load is read as a stream ([BulkReader]). An answer of the server
// is a series of tokens; one function for each token appends it to a byte slice
// ([AppendColMetadata], [AppendRow], [AppendDone], …).
//
// Values have the Go types of package types. Only this package converts them to the form of the
// wire: varchar to code page 1252, nvarchar to UTF-16LE, ticks to days and fractions.
//
// Every reader accepts arbitrary bytes: it returns a value or a [*FormatError], and never allocates
// more than the input justifies. Package testenv/tdsclient writes the messages of clients for
// tests.
package tds
