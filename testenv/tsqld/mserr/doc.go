// Package mserr is the part of SQL Server's error catalogue that the embedded server uses: message
// numbers, severities and texts (messages.txt), and one constructor for each message
// (mserr.InvalidObject(name) is error 208). Every package of the server reports an error for the
// client as a *[Error].
package mserr
