// Package databases finds the databases that a command line names: those of a target group, or of
// servers without a control database.
package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// Choice are the flags that name databases.
type Choice struct {
	// Group is a target group. Servers are names of servers, and Databases are names and patterns
	// of their databases.
	Group              string
	Servers, Databases []string
	// Also are servers whose databases are not among these, but which are reached like Servers.
	Also []string
	// Own is the encryption of Servers.
	Own connect.OwnEncryption
}

// MaxParallel is the largest number of connections of SQL Server ("user connections").
const MaxParallel = 32_767

// AddFlags adds the flags.
func (c *Choice) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Group, "target-group", "", "ask the databases of this `GROUP`")
	flags.StringArrayVar(&c.Servers, "servers", nil, "ask these `SERVERS`, separated by commas; no control database is needed; may be repeated")
	flags.StringArrayVarP(&c.Databases, "database", "d", nil, "of --servers, only this `DATABASE`; * and ? are wildcards; may be repeated (default: all user databases)")
	flags.BoolVar(&c.Own.Trust, "trust-server-certificate", false, "of --servers: accept any certificate")
	flags.StringArrayVar(&c.Own.Pins, "certificate-sha256", nil, "of --servers: accept only a certificate with this `HASH`; may be repeated")
}

// Check checks that the flags go together.
func (c *Choice) Check() error {
	switch {
	case (c.Group == "") == (len(c.Servers) == 0):
		return exit.Usagef("want --target-group or --servers: the databases to ask")
	case c.Group != "" && len(c.Databases) > 0:
		return exit.Usagef("--database chooses databases of --servers, not of --target-group")
	case c.Group != "" && (c.Own.Trust || len(c.Own.Pins) > 0):
		return exit.Usagef("--trust-server-certificate and --certificate-sha256 are for --servers; of --target-group, the configuration file says which certificates are accepted")
	}
	return nil
}

// port matches what is behind the comma in the name of a server with a port.
var port = regexp.MustCompile(`^[0-9]{1,5}$`)

// names returns the names of --servers. A name may have a port behind a comma.
func (c *Choice) names() (list []string) {
	for _, given := range c.Servers {
		begins := len(list)
		for part := range strings.SplitSeq(given, ",") {
			part = strings.TrimSpace(part)
			if n := len(list); port.MatchString(part) && n > begins {
				list[n-1] += "," + part
				continue
			}
			if part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// members returns what --servers and --database name, as members of a target group.
func (c *Choice) members(names []string) ([]targets.Member, error) {
	var list []targets.Member
	for _, server := range names {
		if err := targets.CheckServer(server); err != nil {
			return nil, exit.Usagef("--servers %q: %w", server, err)
		}
		if len(c.Databases) == 0 {
			list = append(list, targets.Member{Membership: targets.Include, Kind: targets.SQLServer, Server: server})
		}
		for _, database := range c.Databases {
			list = append(list, targets.Member{Membership: targets.Include, Kind: targets.SQLDatabase, Server: server, Database: database})
		}
	}
	return list, nil
}

// Find opens the connections and resolves the databases. write says that they will be changed. The
// caller calls done.
func (c *Choice) Find(ctx context.Context, app *connect.App, write bool) (servers *mssql.Servers, list []targets.Target, done func(), err error) {
	if c.Group == "" {
		names := c.names()
		members, err := c.members(names)
		if err != nil {
			return nil, nil, nil, err
		}
		if servers, err = app.OpenNamedServers(slices.Concat(names, c.Also), c.Own); err != nil {
			return nil, nil, nil, err
		}
		done = func() { _ = servers.Close() }
		list, err = resolve(ctx, app, mssql.NewResolver(servers, mssql.Instance{}), members)
		if err != nil {
			done()
			return nil, nil, nil, err
		}
		return servers, list, done, nil
	}
	open := app.OpenStore
	if write {
		open = app.OpenStoreToChange
	}
	store, err := open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	done = func() { store.Close() }
	fail := func(err error) (*mssql.Servers, []targets.Target, func(), error) {
		done()
		return nil, nil, nil, err
	}
	members, err := lookup.Members(ctx, store, c.Group)
	if err != nil {
		return fail(err)
	}
	if servers, _, err = app.OpenServers(ctx, store, nil); err != nil {
		return fail(err)
	}
	done = func() {
		_ = servers.Close()
		store.Close()
	}
	control, err := store.Instance(ctx)
	if err != nil {
		return fail(err)
	}
	if list, err = resolve(ctx, app, mssql.NewResolver(servers, control).WithTags(targetgroups.On(store).TaggedTargets), members); err != nil {
		return fail(err)
	}
	return servers, list, done, nil
}

// resolve resolves members into databases.
func resolve(ctx context.Context, app *connect.App, r *mssql.Resolver, members []targets.Member) ([]targets.Target, error) {
	list, counts, err := r.Explain(ctx, members)
	if err == nil {
		return list, app.Warn(mssql.WithoutEffect(members, counts))
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	err = fmt.Errorf("list the databases: %w", err)
	switch mssql.Classify(err).Class {
	case targets.ClassAuth, targets.ClassLostConnection, targets.ClassTimeout, targets.ClassTransient:
		return nil, exit.With(exit.CodeConnection, err)
	case targets.ClassConfig:
		return nil, exit.Usage(err)
	}
	return nil, err
}

// progressTime is how often the progress is printed.
const progressTime = 10 * time.Second

// Progress prints now and then how many databases have answered, until the function that it returns
// is called.
func Progress(app *connect.App, asked *question.Options, all int) (stop func()) {
	if app.Live == terminal.ProgressNone {
		return func() {}
	}
	var ended, failed atomic.Int64
	asked.Ended = func(err error) {
		ended.Add(1)
		if err != nil && !errors.Is(err, question.ErrEnough) {
			failed.Add(1)
		}
	}
	done := make(chan struct{})
	var printing sync.WaitGroup
	printing.Go(func() {
		ticker := time.NewTicker(progressTime)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(app.Stderr, "%d of %s asked, %d failed\n", ended.Load(), wording.Count(all, "database"), failed.Load())
			case <-done:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		printing.Wait()
	})
}

// PrintFailures prints the errors of databases, the most frequent first.
func PrintFailures(w io.Writer, list []question.Failure) {
	for _, g := range question.GroupFailures(list) {
		fmt.Fprintf(w, "%s: %s\n  %s\n", wording.Count(len(g.Targets), "database"), output.OneLine(g.Message), output.OneLine(output.SomeDatabases(g.Targets)))
	}
}
