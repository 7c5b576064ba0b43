// Package conformance holds ordinary T-SQL scripts against the embedded server over its wire protocol, through the
// driver that the product uses.
//
// A script is a file in testdata: batches, each followed by a line "----", what SQL Server answers according to
// its documentation, and an empty line. The one thing to know: the answers are not what the server happens to
// say. Whoever adds a batch works out the answer first; the flag -update is for its layout.
package conformance
