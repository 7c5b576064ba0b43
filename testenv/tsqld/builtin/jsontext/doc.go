// Package jsontext reads and changes JSON texts as SQL Server does: the functions of JSON,
// OPENJSON, and the values of FOR JSON.
//
// A text is read without a tree: values are spans of the text, found by a path such as "strict
// $.a[0]". The package needs a meter, which may be nil, for the cancellation of long texts.
package jsontext
