package actions

import (
	"context"
	"fmt"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/targets"
)

// maxServer bounds the name of a server, and maxDatabase that of a database, in UTF-16 code units.
const maxServer, maxDatabase = 256, 128

// confirmPauseNamed asks for the database that is to be paused. It need not be known.
func confirmPauseNamed(_ context.Context, r *page.Request) (*page.Confirmation, error) {
	const button = "Pause the database"
	server, name := value(r, "server"), value(r, "database")
	shownServer, shownName := server, name
	if server == "" || name == "" {
		shownServer, shownName = "SERVER", "DATABASE"
	}
	return &page.Confirmation{
		Title: "Pause a database", Nav: "databases", Button: button, Back: r.Path("windows"),
		Effects: sentences("Pauses a database: no attempt of any job starts on it.",
			"Attempts that run go on. A target that waits does so within the time limit of its step, and is then skipped."),
		Fields: append([]page.Field{
			{Name: "server", Label: "Server", Required: true, MaxLength: maxServer, Value: server},
			{Name: "database", Label: "Database", Required: true, MaxLength: maxDatabase, Value: name},
		}, pauseFields("")...),
		Equivalents: pauseEquivalents(r, shownServer, shownName),
	}, nil
}

// pauseNamed pauses a database that a person has named.
func pauseNamed(ctx context.Context, r *page.Request) (*page.Done, error) {
	server, name := value(r, "server"), value(r, "database")
	if err := targets.CheckServer(server); err != nil {
		return nil, &page.InputError{Field: "server", Problem: page.Sentence(err.Error())}
	}
	if name == "" {
		return nil, &page.InputError{Field: "database", Problem: "Want the name of a database."}
	}
	if err := setPause(ctx, r, holds.Pause{Target: targets.TargetID(server, name), Server: server, Database: name}); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("windows") + "#pauses", Notice: "The database is paused."}, nil
}

// confirmDeleteWindow says what becomes of databases without the window.
func confirmDeleteWindow(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	w, err := holds.On(r.Store).Window(ctx, r.Value("window"))
	if err != nil {
		return nil, err
	}
	const button = "Delete the window"
	of := "the databases with tags " + w.TagFilter
	if w.TagFilter == "" {
		of = quoted(w.Database) + " on " + w.Server
	}
	return &page.Confirmation{
		Title: button, Nav: "databases", Button: button, Danger: true, Back: r.Path("windows"),
		Effects:     sentences(fmt.Sprintf("Deletes the window %s of %s: what waits for it starts.", quoted(w.Name), of)),
		Equivalents: commands(page.CLI("target", "window", "delete", w.Name), page.TSQL("jobs.sp_delete_target_window", page.Arg{Name: "window_name", Value: w.Name})),
	}, nil
}

func deleteWindow(ctx context.Context, r *page.Request) (*page.Done, error) {
	name := r.Value("window")
	if err := holds.On(r.Store).DeleteWindow(ctx, name); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("windows"), Notice: "The window " + quoted(name) + " is deleted."}, nil
}

// confirmDeleteTrigger says what becomes of a job without the trigger.
func confirmDeleteTrigger(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	t, err := triggers.On(r.Store).Get(ctx, r.Value("job"), r.Value("trigger"))
	if err != nil {
		return nil, err
	}
	const button = "Delete the trigger"
	waiting := ""
	if t.Waiting > 0 {
		waiting = page.Counted(t.Waiting, "run that has ended starts nothing any more.", "runs that have ended start nothing any more.")
	}
	return &page.Confirmation{
		Title: button, Nav: "jobs", Button: button, Danger: true, Back: r.Path("jobs", t.JobName),
		Effects: sentences(fmt.Sprintf("Deletes %s: %s does not start any more %s.", quoted(t.Name), quoted(t.JobName), t.Describe()), waiting),
		Equivalents: commands(page.CLI("job", "trigger", "delete", t.JobName, t.Name), page.TSQL("jobs.sp_delete_job_trigger",
			page.Arg{Name: "job_name", Value: t.JobName}, page.Arg{Name: "trigger_name", Value: t.Name})),
	}, nil
}

func deleteTrigger(ctx context.Context, r *page.Request) (*page.Done, error) {
	job, name := r.Value("job"), r.Value("trigger")
	if err := triggers.On(r.Store).Delete(ctx, job, name); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("jobs", job), Notice: "The trigger " + quoted(name) + " is deleted."}, nil
}
