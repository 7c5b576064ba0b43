// Package bench measures the agent and the control database. It has the commands of `jobagent
// bench`; what they need of the program around them is the interface [Program].
package bench

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Program is what the benchmarks need of the program that they run in.
type Program interface {
	// Usagef returns an error in the command line.
	Usagef(format string, args ...any) error
	// Print writes a report.
	Print(*Report) error
	// OpenServer opens the server that a benchmark measures.
	OpenServer(context.Context) (*Server, error)
	// StartAgent starts an agent. The function stop stops the agent, waits for it and returns its
	// error.
	StartAgent(context.Context, agent.Config, *controldb.Store, agent.Tools) (stop func() error, failed <-chan error, err error)
	// StartFront starts the front of the REST server on a loopback address, without limits.
	StartFront(context.Context, Front) (address string, stop func() error, err error)
}

// Embedded is the version of the embedded server.
const Embedded = "embedded"

// Server is a SQL Server that is measured.
type Server struct {
	Version string    // Embedded, or the version of a SQL Server
	DSN     mssql.DSN // without a database
	Name    string    // in target groups
	Control string    // its control database; empty: the benchmark makes one
	Close   func() error
	// Tools makes the tools of an agent of a control database on the server. onLogin is called
	// after each login on a target of the embedded server.
	Tools func(ctx context.Context, store *controldb.Store, onLogin func(time.Duration, targets.Class)) (agent.Tools, func() error, error)
}

// Front describes a front of one control database.
type Front struct {
	Open                                       func() (*controldb.Store, error)
	Subscription, ResourceGroup, Server, Agent string // in paths
	Token                                      tokenfile.Token
	CertificateFile, KeyFile                   string // PEM
}

// bench is the state that the commands share.
type bench struct {
	Program
	*Options
}

// Options are options of all benchmarks.
type Options struct {
	Tracing bool // export traces while a benchmark runs
}

// Commands returns the subcommands of `jobagent bench`. They read the options when they run.
func Commands(p Program, o *Options) []*cobra.Command {
	b := &bench{p, o}
	return []*cobra.Command{
		newFanoutCommand(b), newQueryCommand(b), newControlCommand(b), newLagCommand(b), newIdleCommand(b), newStopCommand(b),
		newHistoryCommand(b), newBoundsCommand(b), newCleanupCommand(b), newRESTCommand(b),
	}
}
