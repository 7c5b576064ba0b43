// Package tsqld is an embedded stand-in for SQL Server. It speaks TDS, so that any client can
// connect, runs T-SQL, and stores each database as a SQLite database. It knows nothing of jobs.
//
// This package is the outer layer: [New] starts a [Server]; it holds the connections, the in-memory
// pipe, TLS, the limits of logins and the injection of faults. Package tds holds the wire format.
// Package exec executes requests; this package reaches it through the interface interpreter.
//
// A connection has two goroutines. The first one reads packets, so that it notices at once an
// attention and the end of the client. The second one executes requests one after another and
// writes the answers.
//
//	          ┌────────── PRELOGIN ─ (TLS) ─ LOGIN7 ──────────┐
//	accept ──▶│ login: one goroutine, under a time limit       │──▶ idle ◀──────┐
//	          └────────────────────────────────────────────────┘      │ request  │ final DONE
//	                                                                  ▼          │
//	      attention: the request's context ends with ErrAttention,  running ─────┘
//	      rows are discarded, a separate message acknowledges it      │
//	                                                                  ▼
//	              client gone, severity 20, fault, server closed:  closed; session rolled back
//
// After the login of a client with MARS, the connection carries sessions (package smp), and each of
// them has these two goroutines. A group holds them together: their requests take turns.
//
// A server can be used inside a testing/synctest bubble through [Server.Dialer], whose connections
// block on condition variables only. A real socket would stop the bubble's clock.
//
// # Common mistakes
//
// An attention is acknowledged exactly once, after the request has really ended, even if it arrives
// together with the request's normal end.
package tsqld
