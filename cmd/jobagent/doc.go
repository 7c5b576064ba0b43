// Command jobagent is the one binary of the project: the agent daemon (run), an embedded server to try and develop
// against (demo, dev), the installer of the control database (db), and a client for everything that the jobs.sp_*
// procedures do (job, step, target-group, execution, history).
//
// Every command takes the control database from --dsn, JOBAGENT_DSN or the configuration file, in this order. Exit
// codes are stable; see exitcode.go and README.md.
package main
