// Package smp is the server's side of the Session Multiplex Protocol ([MC-SMP]), which carries the
// requests of clients with MultipleActiveResultSets (MARS) over one connection.
//
// A [Mux] reads the packets of a connection and hands out a [Session] for each SYN. A Session is a
// stream in both directions. Its sender may be the sequence number of the client's window ahead of
// the client, at first 4 packets. Then Write blocks; but if [Mux.Wanted] says that somebody waits
// for the writer, Write puts the packet into a spool instead, in memory and beyond that in a
// temporary file, from where it is sent as the window opens. So a client that reads one result
// slowly does not stop its other requests. Beyond 4 GB in the spool, Write blocks again.
//
// A client that violates the protocol ends the connection (MC-SMP 3.1.5.1): the error of
// [Mux.Serve] is a [*Violation]. The memory of a connection is limited by the number of sessions
// (MaxSessions), the window of 4 packets, and the length of a packet (MaxData).
//
// [MC-SMP]: https://learn.microsoft.com/openspecs/windows_protocols/mc-smp
package smp
