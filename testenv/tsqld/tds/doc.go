// Package tds is the wire of the embedded server: the Tabular Data Stream protocol of SQL Server
// (MS-TDS), versions 7.1 to 7.4 and the strict form of 8.0, from the server's side.
//
// A message is a series of packets ([ReadPacket], [MessageWriter]). What a client sends is decoded
// from the payload of one whole message: [ReadPrelogin], [ReadLogin], [ReadBatch], [ReadRPC],
// [ReadTransaction]; only a bulk load is read as a stream ([BulkReader]). What the server answers is a
// series of tokens, each appended to a byte slice by a function of its own ([AppendColMetadata],
// [AppendRow], [AppendDone], …).
//
// Values have the forms of package types. They are converted here, and nowhere else, to what the wire
// wants: varchar to code page 1252, nvarchar to UTF-16LE, ticks to days and fractions.
//
// Every reader is total: whatever the bytes, it returns a value or an error that is a [*FormatError],
// and never allocates more than the input justifies. The writers of the client's messages exist for
// tests, for fault injection and for round trips.
package tds
