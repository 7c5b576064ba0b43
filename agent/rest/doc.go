// Package rest is the REST front: the listener, authentication, authorisation, limits and the
// request log. The APIs themselves are surfaces: packages elastic, scheduler and sap.
//
// A surface is a table of operations. The server matches a request to an operation, authenticates
// the caller, checks the caller's role at the operation's scope, and calls the operation's handler.
// The same table gives the OpenAPI documents, and the tests that walk all operations.
//
// The front decides nothing about jobs: handlers translate between JSON and methods of controldb.
// The control database checks the caller's role again, because each call runs as the database user
// of that role (caller.Caller).
package rest
