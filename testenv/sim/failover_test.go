package sim

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/jobs"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// failover is a way in which a control database, or a target, is away for a while. It is a model:
// the networks of the agents answer in place of the servers. What a real server answers, and when,
// is from the documentation (targets/mssql/classify.go).
type failover struct {
	name  string
	begin func(*fault.Network)
}

// failovers are the ways. After Heal, all of them lead to the same server again, as a listener does
// whose new primary lost nothing.
func failovers() []failover {
	list := []failover{
		{"refused connections", (*fault.Network).Cut},
		{"silent for a while", (*fault.Network).Silence},
		{"lost server", (*fault.Network).Lose},
		{"lost server, and the next one hangs", func(n *fault.Network) { n.Lose(); n.Hang() }},
		{"half of the connections are reset", func(n *fault.Network) { n.Cut(); n.Heal(); n.ResetHalf() }},
	}
	for _, r := range []fault.Refusal{
		{Number: 976, State: 1, Class: 14, Text: "The target database, 'control', is participating in an availability group and is currently not accessible for queries."},
		{Number: 983, State: 1, Class: 14, Text: "Unable to access availability database 'control' because the database replica is not in the PRIMARY or SECONDARY role."},
		{Number: 3906, State: 2, Class: 16, Text: "Failed to update database \"control\" because the database is read-only."},
		{Number: 4060, State: 1, Class: 11, Text: "Cannot open database \"control\" requested by the login. The login failed.", Logins: true},
		{Number: 18456, State: 1, Class: 14, Text: "Login failed for user 'sa'.", Logins: true},
		{Number: 233, State: 1, Class: 20, Text: "A connection was successfully established with the server, but then an error occurred during the login process.", Ends: true},
		{Number: 596, State: 1, Class: 21, Text: "Cannot continue the execution because the session is in the kill state.", Ends: true},
		{Number: 10928, State: 1, Class: 16, Text: "Resource ID: 1. The request limit for the database is 90 and has been reached."},
		{Number: 10929, State: 1, Class: 16, Text: "Resource ID: 1. The request minimum guarantee is 0, maximum limit is 90 and the current usage for the database is 91."},
		{Number: 40197, State: 4, Class: 20, Text: "The service has encountered an error processing your request. Please try again. Error code 4221.", Ends: true},
		{Number: 40501, State: 1, Class: 20, Text: "The service is currently busy. Retry the request after 10 seconds.", Ends: true},
		{Number: 40613, State: 1, Class: 17, Text: "Database 'control' on server 'fault' is not currently available. Please retry the connection later."},
		{Number: 49918, State: 1, Class: 16, Text: "Cannot process request. Not enough resources to process request."},
		{Number: 49919, State: 1, Class: 16, Text: "Cannot process create or update request. Too many create or update operations in progress."},
		{Number: 49920, State: 1, Class: 16, Text: "Cannot process request. Too many operations in progress."},
	} {
		list = append(list, failover{fmt.Sprint(r.Number), func(n *fault.Network) {
			n.Refuse(r)
			if r.Logins { // only new connections are refused, so that the others must end
				n.Cut()
				n.Heal()
				n.Refuse(r)
			}
		}})
	}
	return list
}

const (
	// kept is the longest failover over which no term is lost, with a lease of 30 s: the term was
	// renewed up to 11 s before, the agent counts on it for 25 s, and looks again each 5 s.
	kept = 9 * time.Second
	// back is how soon work goes on when the service is back: the longest wait of the loops that
	// start terms (15 s) and make passes (10 s), and a few calls.
	back = 30 * time.Second
)

// An outage of the control database that a planned failover takes ends no term: no script is
// stopped, or started again, and each outcome is recorded.
func TestFailoverKeepsTerms(t *testing.T) {
	testenv.Long(t)
	for _, f := range failovers() {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGapWorld(t, 2)
				agents, run := g.twoAgents(t)
				<-time.After(7 * time.Second)
				for _, a := range agents {
					f.begin(a.Control)
				}
				<-time.After(kept)
				for _, a := range agents {
					a.Control.Heal()
				}
				g.undisturbed(t, run, agents[:]...)
				g.Check(t, true)
			})
		})
	}
}

// An outage of five minutes costs the agents their terms, which nothing can save: they stop their
// scripts in time, and the control database gives them to nobody twice at a time. Nobody retries
// without pause, and the work goes on within a bound after the service is back.
func TestLongFailover(t *testing.T) {
	testenv.Long(t)
	const outage = 5 * time.Minute
	for _, f := range failovers() {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGapWorld(t, 2)
				agents, run := g.twoAgents(t)
				g.AddJob(t, "next", []string{WriteLedger})
				<-time.After(7 * time.Second)
				for _, a := range agents {
					f.begin(a.Control)
				}
				began := time.Now()
				<-time.After(outage)
				for _, a := range agents {
					require.Less(t, dialsSince(a.Control, began), int(outage/time.Second), "connections, of all loops of an agent")
					a.Control.Heal()
				}
				healed := time.Now()
				next := g.Start(t, "next")
				root, ended := g.Ended(t, next, 5*time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				require.Less(t, time.Since(healed), back)
				root, ended = g.Ended(t, run, 10*time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				g.recorded(t, run)
				g.Check(t, true)
			})
		})
	}
}

// recorded checks that the script of a run has begun once for each attempt on each target.
func (g *gapWorld) recorded(t *testing.T, run uuid.UUID) {
	t.Helper()
	for _, e := range g.Run(t, run) {
		if e.Database != "" {
			require.Equal(t, e.Attempts, g.Ledger(t, e.Database, run, 1), e.LastMessage)
		}
	}
}

// dialsSince returns how many connections were asked for since an instant.
func dialsSince(n *fault.Network, since time.Time) (dials int) {
	for _, at := range n.Dials() {
		if !at.Before(since) {
			dials++
		}
	}
	return dials
}

// The name of the control database leads to a readable secondary for a while, as the name of a
// failover group whose old entry is still remembered. Reads succeed there and changes fail. When
// the name leads to the primary, the agents leave the secondary, although their sessions with it
// live: a term survives if there is time, and afterwards work goes on within the bound.
func TestNameLeadsToSecondary(t *testing.T) {
	testenv.Long(t)
	for _, outage := range []time.Duration{kept, 2 * time.Minute} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGapWorld(t, 2)
				agents, run := g.twoAgents(t)
				<-time.After(7 * time.Second)
				image, err := g.Server.Image(t.Context(), g.Control)
				require.NoError(t, err)
				secondary := testenv.Embedded(t, testenv.Options{})
				require.NoError(t, secondary.Server.CreateFrom(t.Context(), g.Control, image))
				_, err = secondary.DB(t, "master").ExecContext(t.Context(), "ALTER DATABASE ["+g.Control+"] SET READ_ONLY;")
				require.NoError(t, err)
				for _, a := range agents {
					a.Control.Cut()
					a.Control.Heal()
					a.Control.Lead(secondary.Dialer())
				}
				<-time.After(outage)
				for _, a := range agents {
					a.Control.Lead(g.Dialer())
				}
				returned := time.Now()
				g.AddJob(t, "next", []string{WriteLedger})
				next := g.Start(t, "next")
				if outage == kept {
					g.undisturbed(t, run, agents[:]...)
				}
				root, ended := g.Ended(t, next, 5*time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				if outage > kept {
					require.Less(t, time.Since(returned), back)
				}
				_, ended = g.Ended(t, run, 10*time.Minute)
				require.True(t, ended)
				g.recorded(t, run)
				for _, a := range agents {
					require.NotEmpty(t, a.Logs.FilterFieldKey("error").All())
				}
				g.Check(t, true)
			})
		})
	}
}

// Targets fail over while scripts run, and the agents' control database does not. No term ends.
// Each attempt whose script was sent counts, and one whose connection broke is Unknown, so that no
// script runs twice without a record. An author who asks for retries after transient errors only
// gets them, and each target has its result in the end.
func TestTargetsFailOver(t *testing.T) {
	testenv.Long(t)
	transient := func(s *jobmodel.StepSpec) { s.RetryErrors = new("Transient") }
	for _, f := range failovers() {
		if f.name == "18456" || strings.HasPrefix(f.name, "lost server") {
			continue // a refused login is not transient; keep-alive probes end the others, and the model has none
		}
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGapWorld(t, 2)
				a := g.StartAgent(t, agent.Config{}, nil)
				g.AddJob(t, "j", []string{WriteLedger + " WAITFOR DELAY '00:00:30';"}, Retries(10, 10), transient)
				run := g.Start(t, "j")
				g.began(t, run)
				f.begin(a.Targets)
				<-time.After(time.Minute)
				a.Targets.Heal()
				root, ended := g.Ended(t, run, 5*time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				for _, e := range g.Run(t, run) {
					if e.Database != "" {
						require.LessOrEqual(t, g.Ledger(t, e.Database, run, 1), e.Attempts, "each start is an attempt")
						require.LessOrEqual(t, e.Attempts, 8, "the wait between attempts is kept")
					}
				}
				require.Len(t, a.Logs.FilterMessage("term started").All(), 1)
				require.Less(t, dialsSince(a.Targets, time.Time{}), 60)
				g.Check(t, true)
			})
		})
	}
}
