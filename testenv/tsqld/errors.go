package tsqld

import "errors"

// Causes with which the context of a request or connection ends; see [context.Cause].
var (
	// ErrAttention ends a request whose client sent an attention. The connection goes on.
	ErrAttention = errors.New("attention from the client")
	// ErrClientGone ends a connection whose client closed it or broke off.
	ErrClientGone = errors.New("client gone")
	// ErrServerClosed ends the connections of a server that is closed before their requests ended, and
	// is returned by [Server.Serve] and the dialer after [Server.Close].
	ErrServerClosed = errors.New("server closed")
	// ErrClose is returned by [Config.Fault] to drop the connection without an answer.
	ErrClose = errors.New("connection dropped by a fault")
)

// errFatal ends a connection after the client was told why by an error of severity 20 or more.
var errFatal = errors.New("connection ended by a severe error")

// errIgnored ends a bulk load that the client took back while it was still sending it.
var errIgnored = errors.New("request taken back by the client")
