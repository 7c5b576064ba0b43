// Command jobagent runs T-SQL across many SQL Server databases. It contains the agent (run), an
// embedded server to try and develop against (demo, dev), the installer of the control database
// (db), and a client for the jobs.sp_* procedures (job, step, schedule, target-group, execution and
// others).
//
// Data flows one way. Package internal/cli builds the tree of commands; each group of commands is a
// package below it, and imports no other group. The groups share the packages connect (control
// database, targets, log), lookup and runs, and these are built on config, output, exit and
// command. Package embedded is the embedded server with its control database, daemon is the agent
// in this process, and demo and bench are built on both.
//
// The control database is that of --dsn, JOBAGENT_DSN or the configuration file, in this order.
// Exit codes are stable; see package exit.
package main
