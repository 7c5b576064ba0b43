// Package conformance runs ordinary T-SQL scripts on the embedded server over its wire protocol,
// through the driver that the product uses.
//
// The scripts are in testdata, in the format of package script. Their transcripts are what SQL
// Server answers according to its documentation, not what the embedded server happens to return:
// work out the transcript before you run a new batch, and use -rewrite only to fix its layout.
package conformance
