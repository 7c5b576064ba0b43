package tsqld

import "errors"

// Causes of the end of a request's or connection's context; see [context.Cause].
var (
	// ErrAttention ends a request whose client sent an attention. The connection continues.
	ErrAttention = errors.New("attention from the client")
	// ErrClientGone ends a connection that the client closed or that broke.
	ErrClientGone = errors.New("connection closed by the client")
	// ErrServerClosed ends the connections of a server that is closed while requests run.
	// [Server.Serve] and the dialer return it after [Server.Close].
	ErrServerClosed = errors.New("server closed")
	// ErrClose is returned by [Config.Fault] to drop the connection without an answer.
	ErrClose = errors.New("connection dropped by a fault")
)

// errFatal ends a connection after an error of severity 20 or more was sent.
var errFatal = errors.New("connection ended by a severe error")

// errPendingReset ends a connection whose client resets it while other requests of it are pending.
var errPendingReset = errors.New("reset of a connection with pending requests")

// errIgnored ends a bulk load that the client canceled while it sent the load (StatusIgnore).
var errIgnored = errors.New("request canceled by the client")
