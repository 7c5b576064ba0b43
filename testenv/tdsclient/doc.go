// Package tdsclient writes the messages of a TDS client for tests of the embedded server: logins,
// batches, calls, transaction requests and bulk loads, of every version that the server knows. The
// functions append the payload of a message to a slice and return the longer slice.
//
//	b := tdsclient.AppendBatch(nil, &tds.Batch{Text: "SELECT 1"}, tds.Version74)
package tdsclient
