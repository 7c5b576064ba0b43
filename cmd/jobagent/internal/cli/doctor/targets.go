package doctor

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/mssql/kerberos"
)

// The codes of findings about targets.
const (
	codeTargets       = "targets"
	codeTargetLogin   = "target-login"
	CodeCredential    = "target-credential"
	codeTargetWriting = "target-writing"
	codeKerberos      = "target-kerberos"
)

// maxInspected is the maximum number of servers whose tickets are inspected.
const maxInspected = 16

const (
	// probesAtOnce is the maximum number of concurrent probes.
	probesAtOnce = 16
	// probeLimit is the time limit of one probe, login included.
	probeLimit = time.Minute
)

// probeText is the script of a probe.
//
//go:embed probe.sql
var probeText string

// cannotOpenDatabase is "Cannot open database \"%.*ls\" requested by the login. The login failed.".
const cannotOpenDatabase = 4060

// examineCredentials looks for credentials with which a script would have rights on the control
// database. It tries each credential that may be sent to the control database's server.
func examineCredentials(ctx context.Context, a *connect.App, store *controldb.Store) ([]doctor.Finding, error) {
	servers, settings, err := a.OpenServers(ctx, store, nil)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	dsn, err := a.ParsedControlDSN(ctx)
	if err != nil {
		return nil, err
	}
	var found []doctor.Finding
	server := connect.ServerNames(dsn.Params)[0]
	for _, name := range sentTo(settings.Credentials, server) {
		v, err := servers.Principal(ctx, server, settings.Control.Database, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && (mssql.Classify(err).Class == targets.ClassAuth ||
			mssql.Classify(err).Number == cannotOpenDatabase):
		case err != nil:
			found = append(found, doctor.Finding{Code: CodeCredential, Severity: doctor.SeverityOK,
				Found: fmt.Sprintf("unknown whether credential %q can enter the control database: %v", name, err)})
		default:
			statement, command := denyAccess(v, settings.Control.Database)
			f := doctor.Finding{Code: CodeCredential, Severity: doctor.SeverityError,
				SQL: statement, Command: command,
				Found: fmt.Sprintf("credential %q (login %s) can enter the control database", name, v.Login),
				Why:   "a script could end the agent's term and change the history, so the agent refuses this credential for all targets of this server"}
			if settings.AllowControlDatabase {
				f.Severity, f.Why = doctor.SeverityWarning, "a script can end the agent's term and change the history, because targets.allow_control_database is true"
			}
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	found = []doctor.Finding{{Code: CodeCredential, Severity: doctor.SeverityOK,
		Found: "no credential of targets can enter the control database"}}
	if !slices.ContainsFunc(settings.Credentials.Names(), config.IsDefaultName) {
		found[0].Found = "the configuration has no default credential, so steps and members without a credential fail; " +
			"give --target-credential NAME, or --target-user LOGIN with --target-secret and --target-servers, or set targets.default_credential"
	}
	return found, nil
}

// sentTo returns the names of the credentials that may be sent to the server. The default one is
// left out if it is another one under this name (targets.default_credential).
func sentTo(set *mssql.CredentialSet, server string) []string {
	var names []string
	for _, name := range set.Names() {
		if _, err := set.For(name, server); err == nil {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return config.IsDefaultName(name) && slices.ContainsFunc(names, func(other string) bool {
			return other != name && set.Same(name, other, server)
		})
	})
}

// examineTargets resolves a target group and probes each database: one login, and one batch that
// changes nothing.
func examineTargets(ctx context.Context, c *connect.Connections, store *controldb.Store, group,
	credential string) ([]doctor.Finding, error) {
	list, err := lookup.Members(ctx, store, group)
	if err != nil {
		return nil, err
	}
	servers, _, err := c.OpenServers(ctx, store, nil)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	tools, err := connect.NewTools(ctx, store, servers)
	if err != nil {
		return nil, err
	}
	resolved, counts, err := tools.Resolver.WithTags(targetgroups.On(store).TaggedTargets).Explain(ctx, list)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return []doctor.Finding{{Code: codeTargets, Severity: doctor.SeverityError,
			Found: fmt.Sprintf("target group %q cannot be resolved: %v", group, err),
			Why:   "runs of its steps fail before they connect to a database", Command: fixTarget(err)}}, nil
	}
	probed, err := probeTargets(ctx, tools, credential, resolved)
	if err != nil {
		return nil, err
	}
	failed := slices.ContainsFunc(probed, func(f doctor.Finding) bool { return f.Code == codeTargetLogin })
	summary := doctor.Finding{Code: codeTargets, Severity: doctor.SeverityOK,
		Found: fmt.Sprintf("target group %q currently has %s", group, wording.Count(len(resolved), "database"))}
	if !failed && len(resolved) > 0 {
		summary.Found += ", and all are reachable"
	}
	if len(resolved) == 0 {
		summary.Severity, summary.Why = doctor.SeverityWarning, "a step with this group succeeds without running anywhere"
		summary.Command = fmt.Sprintf("jobagent target-group add %q --server NAME", group)
	}
	all := []doctor.Finding{summary}
	for _, text := range mssql.WithoutEffect(list, counts) {
		all = append(all, doctor.Finding{Code: codeTargets, Severity: doctor.SeverityWarning, Found: text,
			Why:     "a misspelled name in an exclusion lets runs change a database that was to be spared",
			Command: fmt.Sprintf("jobagent target-group show %q", group)})
	}
	return append(append(all, probed...), kerberosFindings(servers, credential, resolved)...), nil
}

// largestSkew is the difference of clocks from which doctor warns: half of what Kerberos allows.
const largestSkew = kerberos.MaxSkew / 2

// kerberosFindings says, for each server on which the credential logs in with Kerberos, which SPN
// was asked for, whose ticket came, and how the clocks differ. Failures are findings of the probes.
func kerberosFindings(servers *mssql.Servers, credential string, list []targets.Target) []doctor.Finding {
	var found []doctor.Finding
	seen := map[string]bool{}
	for _, target := range list {
		if seen[target.Server] || len(seen) == maxInspected {
			continue
		}
		seen[target.Server] = true
		status, used, err := servers.Kerberos(target.Server, credential)
		if !used || err != nil {
			continue
		}
		f := doctor.Finding{Code: codeKerberos, Severity: doctor.SeverityOK,
			Found: fmt.Sprintf("Kerberos gives %s a ticket for %s", status.Principal, status.SPN)}
		if status.SkewKnown {
			f.Found += fmt.Sprintf("; the clocks of the KDC and this machine differ by %v", status.Skew.Abs().Round(time.Millisecond))
		}
		if status.Skew.Abs() > largestSkew {
			f.Severity, f.Why = doctor.SeverityWarning, fmt.Sprintf("logins fail when the difference exceeds %v", kerberos.MaxSkew)
			f.Command = "synchronize the clocks of this machine and of the KDC with the same time servers"
		}
		found = append(found, f)
	}
	return found
}

// probeTargets probes all targets and returns the findings in the order of the targets, those about
// failed probes first. It returns after all probes have ended.
func probeTargets(ctx context.Context, tools agent.Tools, credential string,
	list []targets.Target) ([]doctor.Finding, error) {
	results := make([]targets.Result, len(list))
	slots := make(chan struct{}, probesAtOnce)
	var running sync.WaitGroup
	for i, target := range list {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			limited, cancel := context.WithTimeout(ctx, probeLimit)
			defer cancel()
			results[i] = tools.Runner.Run(limited, mssql.Attempt{Attempt: targets.Attempt{Target: target,
				Credential: credential, Command: probeText}})
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	found := loginFindings(list, results)
	for i, r := range results {
		readOnly := slices.ContainsFunc(r.Messages, func(m targets.Message) bool {
			return m.Kind == targets.KindInfo &&
				m.Text == "read-only"
		})
		if r.Outcome == targets.Succeeded && readOnly {
			found = append(found, doctor.Finding{Code: codeTargetWriting, Severity: doctor.SeverityWarning,
				Found: fmt.Sprintf("%s is read-only", list[i]),
				Why:   "scripts that change data fail on it (error 3906)", SQL: fmt.Sprintf("ALTER DATABASE %s SET READ_WRITE WITH NO_WAIT; -- on server %s", tsql.Name(list[i].Database), list[i].Server)})
		}
	}
	return found, nil
}

// namedTargets is how many targets a finding about several of them names.
const namedTargets = 3

// loginFindings returns a finding for each fault of the failed probes. Targets with the same fault,
// such as a missing credential, share a finding. A fault may name its target.
func loginFindings(list []targets.Target, results []targets.Result) []doctor.Finding {
	var found []doctor.Finding
	var sharing [][]targets.Target // for each finding
	faults := map[string]int{}
	for i, r := range results {
		if r.Outcome == targets.Succeeded {
			continue
		}
		fault := strings.ReplaceAll(r.Summary, list[i].String(), "")
		at, known := faults[fault]
		if !known {
			at, faults[fault] = len(found), len(found)
			found = append(found, doctor.Finding{Code: codeTargetLogin, Severity: doctor.SeverityError,
				Found: r.Summary, Why: "a run on this target fails", Command: fixClass(r.Error.Class)})
			sharing = append(sharing, nil)
		}
		sharing[at] = append(sharing[at], list[i])
	}
	for at, of := range sharing {
		var names []string
		for _, one := range of[:min(len(of), namedTargets)] {
			names = append(names, one.String())
		}
		who := strings.Join(names, ", ")
		if len(of) > 1 {
			found[at].Why = "a run on these targets fails"
			if more := len(of) - len(names); more > 0 {
				who += fmt.Sprintf(" and %d more", more)
			}
			who = fmt.Sprintf("%s (%s)", wording.Count(len(of), "database"), who)
		}
		found[at].Found = who + ": " + found[at].Found
	}
	return found
}

// fixTarget returns the remedy for an error of a target's server.
func fixTarget(err error) string { return fixClass(mssql.Classify(err).Class) }

// fixClass returns the remedy for a class of errors.
func fixClass(class targets.Class) string {
	switch class {
	case targets.ClassAuth:
		return "check the credential in the configuration, and that the login has a user in the database"
	case targets.ClassConfig:
		return "correct the configuration file or the target group"
	case targets.ClassLostConnection, targets.ClassTimeout, targets.ClassTransient:
		return "check that the server runs, its name and port, and the firewall between this machine and the server"
	}
	return "see the error message"
}
