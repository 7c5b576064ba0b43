package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// findingView is a finding as -o json shows it.
type findingView struct {
	Code     string             `json:"code"`
	Severity controldb.Severity `json:"severity"`
	Found    string             `json:"found"`
	Why      string             `json:"why,omitempty"`
	SQL      string             `json:"sql,omitempty"`     // T-SQL that mends it
	Command  string             `json:"command,omitempty"` // what mends it where T-SQL cannot
}

func newFindingView(f controldb.Finding) findingView {
	return findingView{f.Code, f.Severity, f.Found, f.Why, f.SQL, f.Command}
}

// newDoctorCommand makes `jobagent doctor`.
func newDoctorCommand(a *app) *cobra.Command {
	var group, credential string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what would hurt in the control database, and say how to mend it; changes nothing",
		Long: `Look for what would hurt in the control database, and say how to mend it. Nothing is changed.

Server, database, schema, clocks, space, history and agents are looked at, and each right that an agent needs is tried with the
login of the connection string: run it with the agent's configuration. Credentials of targets are tried on the control database, which must
not let them in. With --targets, the databases of a target group are
reached from this machine as well, with the credentials of the configuration.

The exit code is 0 when all is well and 7 when there is a warning or an error.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			store, err := a.openStore(ctx)
			if err != nil {
				return err
			}
			defer store.Close()
			found, err := store.Examine(ctx)
			if err != nil {
				return err
			}
			encryption, err := a.examineEncryption()
			if err != nil {
				return err
			}
			found = append(found, encryption...)
			more, err := a.examineCredentials(ctx, store)
			if err != nil {
				return err
			}
			found = append(found, more...)
			if group != "" {
				more, err := a.examineTargets(ctx, store, group, credential)
				if err != nil {
					return err
				}
				found = append(found, more...)
			}
			if err := a.emitFindings(found); err != nil {
				return err
			}
			if controldb.Worst(found) != controldb.SeverityOK {
				return exitWith(exitRunFailed, nil)
			}
			return nil
		},
	}
	a.target.add(cmd)
	cmd.Flags().StringVar(&group, "targets", "", "target `group` whose databases are reached, too")
	cmd.Flags().StringVar(&credential, "credential", "", "with --targets: credential that the steps name (default: the configuration's default)")
	return cmd
}

// emitFindings prints all findings as a table, and then how to mend those that hurt.
func (a *app) emitFindings(found []controldb.Finding) error {
	views := make([]findingView, 0, len(found))
	for _, f := range found {
		views = append(views, newFindingView(f))
	}
	return a.emit(views, func(w io.Writer) error {
		t := newTable("SEVERITY", "MATTER", "FOUND")
		for _, f := range found {
			t.add(f.Severity, f.Code, f.Found)
		}
		if err := t.write(w); err != nil {
			return err
		}
		for _, f := range found {
			if f.Severity == controldb.SeverityOK {
				continue
			}
			mend := strings.ReplaceAll(f.Mend(), "\n", "\n    ")
			if _, err := fmt.Fprintf(w, "\n%s: %s: %s\n    %s\n", f.Severity, f.Found, f.Why, mend); err != nil {
				return err
			}
		}
		return nil
	})
}

// codeEncryption is the code of findings about encryption.
const codeEncryption = "encryption"

// examineEncryption looks for settings of encryption that leave a connection open to who is in its way: those of the control database, and
// those of targets in the configuration file.
func (a *app) examineEncryption() ([]controldb.Finding, error) {
	dsn, err := a.parsedControlDSN()
	if err != nil {
		return nil, err
	}
	cfg, err := a.fileConfig()
	if err != nil {
		return nil, err
	}
	servers, err := mssql.NewServers(cfg.encryption())
	if err != nil {
		return nil, usage(err)
	}
	defer servers.Close()
	var found []controldb.Finding
	for what, list := range map[string][]mssql.Weakness{"the control database's server": dsn.Weaknesses(), "targets": servers.Weaknesses()} {
		for _, w := range list {
			found = append(found, controldb.Finding{
				Code: codeEncryption, Severity: controldb.SeverityWarning, Found: fmt.Sprintf("%s for %s (%s)", w.Setting, what, w.Servers), Why: w.Text, Command: mendEncryption(w),
			})
		}
	}
	slices.SortFunc(found, func(x, y controldb.Finding) int { return strings.Compare(x.Found, y.Found) })
	if len(found) > 0 {
		return found, nil
	}
	ok := "connections are encrypted, and servers are verified"
	if dsn.Encryption.Plain() {
		ok = "connections to the control database are not encrypted, and do not leave this machine; those to targets are encrypted, and servers are verified"
	}
	return []controldb.Finding{{Code: codeEncryption, Severity: controldb.SeverityOK, Found: ok}}, nil
}

// mendEncryption is what to do about a weak setting.
func mendEncryption(w mssql.Weakness) string {
	if w.Setting == "encrypt=disable" {
		return "give the server a certificate, and take " + w.Setting + " out"
	}
	return "pin the server's certificate (README, Encryption), or have the machine trust its authority, and take " + w.Setting + " out"
}

// The codes of findings about targets.
const (
	codeTargets       = "targets"
	codeTargetLogin   = "target-login"
	codeCredential    = "target-credential"
	codeTargetWriting = "target-writing"
)

const (
	// probesAtOnce bounds how many targets are reached at the same moment.
	probesAtOnce = 16
	// probeLimit bounds the login and the question to one target.
	probeLimit = time.Minute
)

// probeText is what is run on targets.
//
//go:embed probe.sql
var probeText string

// cannotOpenDatabase is "Cannot open database \"%.*ls\" requested by the login. The login failed.".
const cannotOpenDatabase = 4060

// examineCredentials looks for credentials of targets with which a script would have rights on the control database, by trying each that may be
// sent to its server.
func (a *app) examineCredentials(ctx context.Context, store *controldb.Store) ([]controldb.Finding, error) {
	servers, reach, err := a.openServers(ctx, store)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	dsn, err := a.parsedControlDSN()
	if err != nil {
		return nil, err
	}
	var found []controldb.Finding
	server := serverNames(dsn.Params)[0]
	for _, name := range reach.Credentials.Names() {
		if _, err := reach.Credentials.For(name, server); err != nil {
			continue // it is never sent there
		}
		v, err := servers.Visit(ctx, server, reach.Control.Database, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && (mssql.Classify(err).Class == targets.ClassAuth || mssql.Classify(err).Number == cannotOpenDatabase):
		case err != nil:
			found = append(found, controldb.Finding{Code: codeCredential, Severity: controldb.SeverityOK,
				Found: fmt.Sprintf("not seen: whether credential %q can enter the control database: %v", name, err)})
		default:
			f := controldb.Finding{Code: codeCredential, Severity: controldb.SeverityError, SQL: mendVisitor(v, reach.Control.Database),
				Found: fmt.Sprintf("credential %q (login %s) can enter the control database", name, v.Login),
				Why:   "a script could end the agent's term and rewrite history, so that the agent refuses all targets of this server with it"}
			if reach.AllowControlDatabase {
				f.Severity, f.Why = controldb.SeverityWarning, "a script can end the agent's term and rewrite history: targets.allow_control_database is true"
			}
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	found = []controldb.Finding{{Code: codeCredential, Severity: controldb.SeverityOK, Found: "no credential of targets can enter the control database"}}
	if !slices.ContainsFunc(reach.Credentials.Names(), isDefaultName) {
		found[0].Found = "this configuration has no default credential of targets: steps and members that name none fail; " +
			"give --target-credential NAME, or --target-user LOGIN with --target-secret and --target-servers, or set targets.default_credential"
	}
	return found, nil
}

// examineTargets resolves a target group and tries each database as a run would: one login, one batch that changes nothing.
func (a *app) examineTargets(ctx context.Context, store *controldb.Store, group, credential string) ([]controldb.Finding, error) {
	list, err := members(ctx, store, group)
	if err != nil {
		return nil, err
	}
	tools, closeTools, err := a.openTools(ctx, store)
	if err != nil {
		return nil, err
	}
	defer closeTools()
	resolved, err := tools.Resolver.Resolve(ctx, list)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return []controldb.Finding{{Code: codeTargets, Severity: controldb.SeverityError, Found: fmt.Sprintf("target group %q cannot be resolved: %v", group, err),
			Why: "runs of its steps fail before they reach any database", Command: mendTarget(err)}}, nil
	}
	probed, err := probeTargets(ctx, tools, credential, resolved)
	if err != nil {
		return nil, err
	}
	failed := slices.ContainsFunc(probed, func(f controldb.Finding) bool { return f.Code == codeTargetLogin })
	summary := controldb.Finding{Code: codeTargets, Severity: controldb.SeverityOK, Found: fmt.Sprintf("target group %q has %d databases now", group, len(resolved))}
	if !failed && len(resolved) > 0 {
		summary.Found += ", and all can be reached"
	}
	if len(resolved) == 0 {
		summary.Severity, summary.Why = controldb.SeverityWarning, "a step on it succeeds without doing anything"
		summary.Command = fmt.Sprintf("jobagent target-group add %q --server NAME", group)
	}
	return append([]controldb.Finding{summary}, probed...), nil
}

// probeTargets tries all targets, some at once, and returns what is wrong in their order. It returns when every attempt has ended.
func probeTargets(ctx context.Context, tools agent.Tools, credential string, list []targets.Target) ([]controldb.Finding, error) {
	results := make([]targets.Result, len(list))
	room := make(chan struct{}, probesAtOnce)
	var running sync.WaitGroup
	for i, target := range list {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			limited, cancel := context.WithTimeout(ctx, probeLimit)
			defer cancel()
			results[i] = tools.Runner.Run(limited, mssql.Attempt{Attempt: targets.Attempt{Target: target, Credential: credential, Command: probeText}})
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var found []controldb.Finding
	for i, r := range results {
		readOnly := slices.ContainsFunc(r.Messages, func(m targets.Message) bool { return m.Kind == targets.KindInfo && m.Text == "read-only" })
		switch {
		case r.Outcome != targets.Succeeded:
			found = append(found, controldb.Finding{Code: codeTargetLogin, Severity: controldb.SeverityError, Found: fmt.Sprintf("%s: %s", list[i], r.Summary),
				Why: "a run fails there", Command: mendClass(r.Error.Class)})
		case readOnly:
			found = append(found, controldb.Finding{Code: codeTargetWriting, Severity: controldb.SeverityWarning, Found: fmt.Sprintf("%s is read-only", list[i]),
				Why: "scripts that change something fail there (error 3906)", SQL: fmt.Sprintf("ALTER DATABASE %s SET READ_WRITE WITH NO_WAIT; -- on server %s", tsql.Name(list[i].Database), list[i].Server)})
		}
	}
	return found, nil
}

// mendTarget is what to do about an error of a target's server.
func mendTarget(err error) string { return mendClass(mssql.Classify(err).Class) }

// mendClass is what to do about a kind of error.
func mendClass(class targets.Class) string {
	switch class {
	case targets.ClassAuth:
		return "check the credential in the configuration, and that the login has a user in the database"
	case targets.ClassConfig:
		return "mend the configuration file, or the target group"
	case targets.ClassLostConnection, targets.ClassTimeout, targets.ClassTransient:
		return "check that the server runs, its name, its port, and the firewall between this machine and the server"
	}
	return "see the error's text"
}
