package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// Names and numbers of the demo of a roll-out, which is the example of sql/ROLLOUTS.md.
const (
	rolloutTenants = 40
	badTenant      = 7 // lacks the table: the fourth database of the second wave
	addJob         = "add note"
	dropJob        = "drop note"
	ordersTable    = "CREATE TABLE dbo.orders (id INT NOT NULL);"
	addNote        = "ALTER TABLE dbo.orders ADD note NVARCHAR(100) NULL;"
	dropNote       = "ALTER TABLE dbo.orders DROP COLUMN note;"
)

// rolloutPlan bakes for one second, where a real plan would wait for minutes or hours.
const rolloutPlan = `{
  "waves": [
    {"name": "canary", "targets": 3, "bake_seconds": 1},
    {"name": "next", "targets": "25%", "parallelism": 1},
    {"name": "rest", "targets": "rest", "parallelism": 10, "approval": "any"}
  ],
  "undo_job": "drop note"
}`

// rolloutShow is a demo of a roll-out that goes on.
type rolloutShow struct {
	app    *connect.App
	server *embedded.Server
}

// demoRollout implements `jobagent demo --rollout`.
func demoRollout(ctx context.Context, a *connect.App, keep bool, memory embedded.MemorySize) error {
	began := time.Now()
	return onServer(ctx, a, memory, keep, func(server *embedded.Server) error {
		a.Progress("Creating %d tenant databases with a table dbo.orders. In %s, somebody has lost the table ...", rolloutTenants, tenantName(badTenant))
		return makeTenants(ctx, rolloutTenants, func(number int) error {
			if err := execute(ctx, server, "master", "CREATE DATABASE "+tenantName(number)+";"); err != nil || number == badTenant {
				return err
			}
			return execute(ctx, server, tenantName(number), ordersTable)
		})
	}, func(server *embedded.Server) error {
		s := rolloutShow{a, server}
		first, undo, err := s.play(ctx)
		if err != nil {
			return err
		}
		if a.Structured() {
			detail, err := runs.ReadRollout(ctx, rollouts.On(server.Store), first)
			if err != nil {
				return err
			}
			return a.Emit(detail, nil)
		}
		a.Progress("\nThe whole demo took %s. sql/ROLLOUTS.md explains the plan; alerts can tell people when a roll-out needs them.",
			time.Since(began).Round(100*time.Millisecond))
		if keep && terminal.Is(a.Stdout) {
			a.Progress("\nThe server and the agent go on until Ctrl-C. In a second terminal:\n\n  %s\n  jobagent rollout list\n  jobagent rollout show %s\n  jobagent rollout targets %s",
				embedded.Export(config.EnvDSN, server.DSN(embedded.ControlDatabase)), first, undo)
		}
		return nil
	})
}

// execute runs a statement in a database.
func execute(ctx context.Context, server *embedded.Server, database, statement string) error {
	db, err := server.Open(database)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", database, err)
	}
	return nil
}

// play shows the roll-out and its undo, and returns both.
func (s *rolloutShow) play(ctx context.Context) (first, undo uuid.UUID, err error) {
	a, store := s.app, s.server.Store
	if err := s.define(ctx); err != nil {
		return first, undo, err
	}
	a.Progress(`
1. The plan of the job %q: a new column goes to 3 databases, which then bake (here for a second);
   then to a quarter of all, one after the other; then to the rest, if somebody approves.
   %s

     jobagent job start '%s'`, addJob, addNote, addJob)
	if first, err = executions.On(store).StartJob(ctx, addJob, uuid.Nil); err != nil {
		return first, undo, err
	}
	if err := s.follow(ctx, first, rollouts.Stopped); err != nil {
		return first, undo, err
	}

	a.Progress(`
2. It has stopped by itself: a database failed, and the plan lets none fail. The others that were to
   come have not been touched. Somebody restores the table in %s, and repeats what failed:

     jobagent rollout retry %s`, tenantName(badTenant), first)
	if err := execute(ctx, s.server, tenantName(badTenant), ordersTable); err != nil {
		return first, undo, err
	}
	if err := rollouts.On(store).RetryWave(ctx, first); err != nil {
		return first, undo, err
	}
	if err := s.follow(ctx, first, rollouts.Waiting); err != nil {
		return first, undo, err
	}

	a.Progress(`
3. The second wave is well now. The rest waits for a person:

     jobagent rollout approve %s --note 'figures looked at'`, first)
	if err := rollouts.On(store).Approve(ctx, first, "", "figures looked at"); err != nil {
		return first, undo, err
	}
	if err := s.follow(ctx, first, rollouts.Succeeded); err != nil {
		return first, undo, err
	}
	if err := s.table(ctx, first); err != nil {
		return first, undo, err
	}

	a.Progress(`
4. The column has to go again. The plan names the job %q for that; it runs where something was changed,
   in reverse order of the waves, with the same gates and approvals:

     jobagent rollout undo %s`, dropJob, first)
	if undo, err = rollouts.On(store).Undo(ctx, rollouts.UndoRequest{Rollout: first}); err != nil {
		return first, undo, err
	}
	if err := s.follow(ctx, undo, rollouts.Waiting); err != nil {
		return first, undo, err
	}
	a.Progress("\n     jobagent rollout approve %s", undo)
	if err := rollouts.On(store).Approve(ctx, undo, "", ""); err != nil {
		return first, undo, err
	}
	if err := s.follow(ctx, undo, rollouts.Succeeded); err != nil {
		return first, undo, err
	}
	return first, undo, s.table(ctx, undo)
}

// define creates the target group, the two jobs and the plan.
func (s *rolloutShow) define(ctx context.Context) error {
	store, server := s.server.Store, s.server.ServerName()
	if _, err := targetgroups.On(store).Add(ctx, groupName); err != nil {
		return err
	}
	for n := 1; n <= rolloutTenants; n++ { // in this order, which is that of the waves
		m := targets.Member{Membership: targets.Include, Kind: targets.SQLDatabase, Server: server, Database: tenantName(n)}
		if _, err := targetgroups.On(store).AddMember(ctx, groupName, m); err != nil {
			return err
		}
	}
	none := 0
	for _, job := range []struct{ name, script string }{{dropJob, dropNote}, {addJob, addNote}} {
		if _, err := catalog.On(store).AddJob(ctx, model.JobSpec{Name: job.name}); err != nil {
			return err
		}
		if _, err := catalog.On(store).AddJobStep(ctx, model.StepSpec{
			JobName: job.name, Command: new(job.script), TargetGroup: new(groupName), RetryAttempts: &none,
		}); err != nil {
			return err
		}
	}
	return catalog.On(store).SetJobRollout(ctx, addJob, rolloutPlan, nil)
}

// follow prints what a roll-out does until it has a state.
func (s *rolloutShow) follow(ctx context.Context, id uuid.UUID, until rollouts.State) error {
	s.app.Progress("")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		all, err := rollouts.On(s.server.Store).Rollouts(ctx, rollouts.Filter{}, controldb.Page[executions.Key]{Top: 2})
		if err != nil {
			return err
		}
		for _, r := range all {
			if r.ID != id {
				continue
			}
			if line := describe(r); line != "" && line != last {
				s.app.Progress("   %s", line)
				last = line
			}
			if r.State == until {
				return nil
			}
			if !r.EndedAt.IsZero() || r.State == rollouts.Stopped {
				return fmt.Errorf("the roll-out is %s, not %s: %s", r.State, until, r.Reason)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// describe says what a roll-out does, in one line; states that last for a moment are left out.
func describe(r rollouts.Rollout) string {
	done := fmt.Sprintf("%2d of %d databases changed", r.Succeeded, r.Targets)
	if r.UndoOf != uuid.Nil {
		done += " back"
	}
	switch r.State {
	case rollouts.Running:
		return fmt.Sprintf("%s; wave %d of %d (%s) runs", done, r.Wave, r.Waves, r.WaveName)
	case rollouts.Baking, rollouts.Waiting:
		return done + "; " + r.NextEvent
	case rollouts.Stopped:
		return done + "; Stopped. " + r.Reason
	case rollouts.Succeeded:
		return done + "; Succeeded"
	}
	return ""
}

// table prints the waves of a roll-out.
func (s *rolloutShow) table(ctx context.Context, id uuid.UUID) error {
	if s.app.Structured() {
		return nil
	}
	detail, err := runs.ReadRollout(ctx, rollouts.On(s.server.Store), id)
	if err != nil {
		return err
	}
	s.app.Progress("")
	return runs.PrintRollout(&s.app.Printer, s.app.Stdout, detail)
}
