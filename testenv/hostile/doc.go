// Package hostile is a server that means harm, or that is broken: what one target can do to an agent. It speaks enough TDS for a client to log in and
// to send a script; what it answers is up to its [Mode]. [Streams] are single answers of which a length, a count or a type is a lie.
//
// The package is for tests. It knows nothing of jobs, nor of what a client defends itself with.
package hostile
