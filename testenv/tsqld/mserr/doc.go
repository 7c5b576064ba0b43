// Package mserr is SQL Server's error catalogue as far as the embedded server needs it: message
// numbers, severities, texts, and one constructor per message (mserr.InvalidObjectName(name) is
// error 208). Every package of the server reports what a client may see as a *[Error].
package mserr
