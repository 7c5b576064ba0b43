// Package tsqld is an embedded stand-in for SQL Server: it speaks TDS, so that any client connects,
// runs T-SQL, and keeps each database as a SQLite database. It knows nothing of jobs.
//
// This package is the outside: the [Server], its connections, the in-memory pipe to it, TLS, faults.
// The wire format is package tds; what a request means is package exec, reached through the session
// interface.
//
// A connection is two goroutines. One reads packets, so that an attention and a client that
// disappears are seen at once; the other executes requests one after another and writes the answers.
//
//	          ┌────────── PRELOGIN ─ (TLS) ─ LOGIN7 ──────────┐
//	accept ──▶│ login: one goroutine, under a time limit       │──▶ idle ◀──────┐
//	          └────────────────────────────────────────────────┘      │ request  │ final DONE
//	                                                                  ▼          │
//	      attention: the request's context ends with ErrAttention,  running ─────┘
//	      rows are dropped, a message of its own acknowledges it      │
//	                                                                  ▼
//	              client gone, severity 20, fault, server closed:  closed; session rolled back
//
// What a newcomer gets wrong: an attention is acknowledged exactly once, after the request has really
// ended, even when it arrives together with the request's normal end.
//
// A server may be used inside a testing/synctest bubble through [Server.Dialer], whose connections
// block on condition variables only; a real socket would stop the bubble's clock.
package tsqld
