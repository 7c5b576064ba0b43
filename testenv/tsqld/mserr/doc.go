// Package mserr is the part of SQL Server's error catalogue that the embedded server uses: message
// numbers, severities and texts (messages.txt), and constructors of the frequent ones
// (mserr.InvalidObject(name) is error 208). [Of] makes the others. Every package of the server
// reports an error for the client as a *[Error].
package mserr
