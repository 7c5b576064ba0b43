package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
)

// maxReason bounds the reason of a pause of a database, in UTF-16 code units.
const maxReason = 1000

// database returns the database that a path names, with its pause if it has one.
func database(ctx context.Context, r *page.Request) (holds.Pause, error) {
	missing := &rest.Error{Status: 404, Code: rest.CodeUnknownPath, Message: "No run that is kept has this database among its targets."}
	one, err := uuid.Parse(r.Value("target"))
	if err != nil {
		return holds.Pause{}, missing
	}
	if pause, err := holds.On(r.Store).Pause(ctx, one); err == nil {
		return pause, nil
	}
	o, err := executions.On(r.Store).TargetOutcomes(ctx, executions.TargetFilter{Target: one, Jobs: 1, Top: 1})
	if err != nil {
		return holds.Pause{}, err
	}
	if len(o.Targets) == 0 || o.Targets[0].Database == "" {
		return holds.Pause{}, missing
	}
	return holds.Pause{Target: one, Server: o.Targets[0].Server, Database: o.Targets[0].Database}, nil
}

// pagePath is the page that shows the pause of a database: its own, which only databases have on
// which a job ran, or that of all pauses.
func pagePath(ctx context.Context, r *page.Request, p holds.Pause) string {
	o, err := executions.On(r.Store).TargetOutcomes(ctx, executions.TargetFilter{Target: p.Target, Top: 1})
	if err != nil || len(o.Targets) == 0 {
		return r.Path("windows")
	}
	return r.Path("databases", p.Target.String())
}

// pauseState says which pause a database has; empty: none.
func pauseState(p holds.Pause) string {
	if p.Since.IsZero() {
		return ""
	}
	text := "It is paused"
	if p.By != "" {
		text += " by " + p.By
	}
	text += " since " + instant(p.Since)
	if !p.Until.IsZero() {
		text += " until " + instant(p.Until)
	}
	if p.Reason != "" {
		return text + ": " + p.Reason
	}
	return text + "."
}

// confirmPauseDatabase says what a pause of a database does.
func confirmPauseDatabase(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	p, err := database(ctx, r)
	if err != nil {
		return nil, err
	}
	const button = "Pause the database"
	state := pauseState(p)
	if state != "" {
		state += " The pause gets the new reason and end."
	}
	return &page.Confirmation{
		Title: button, Nav: "databases", Button: button, Back: pagePath(ctx, r, p),
		Effects: sentences(
			fmt.Sprintf("Pauses %s on %s: no attempt of any job starts on it.", quoted(p.Database), p.Server),
			"Attempts that run go on. A target that waits does so within the time limit of its step, and is then skipped.", state,
		),
		Fields:      pauseFields(p.Reason),
		Equivalents: pauseEquivalents(r, p.Server, p.Database, page.Arg{Name: "target_id", Value: p.Target}),
	}, nil
}

// pauseFields are the fields of a pause beside the database.
func pauseFields(reason string) []page.Field {
	return []page.Field{
		{Name: "reason", Label: "Reason", Help: "For whoever asks what a run waits for.", MaxLength: maxReason, Value: reason},
		{Name: "until", Label: "Until", Kind: "datetime", Help: "YYYY-MM-DD HH:MM in UTC, or RFC 3339. Empty: until somebody resumes it."},
	}
}

// pauseEquivalents are the commands that pause a database as it was typed.
func pauseEquivalents(r *page.Request, server, database string, more ...page.Arg) []page.Equivalent {
	cli := []string{"target", "pause", server, database}
	tsql := append([]page.Arg{{Name: "server_name", Value: server}, {Name: "database_name", Value: database}}, more...)
	if text := value(r, "reason"); text != "" {
		cli, tsql = append(cli, "--reason", text), append(tsql, page.Arg{Name: "reason", Value: text})
	}
	if until, err := pauseEnd(r); err == nil && !until.IsZero() {
		cli, tsql = append(cli, "--until", until.Format(time.RFC3339)), append(tsql, page.Arg{Name: "end_time", Value: until})
	}
	return commands(page.CLI(cli...), page.TSQL("jobs.sp_pause_target", tsql...))
}

// setPause pauses a database with the reason and the end that were typed.
func setPause(ctx context.Context, r *page.Request, p holds.Pause) (err error) {
	p.Reason = value(r, "reason")
	if p.Until, err = pauseEnd(r); err != nil {
		return err
	}
	return refuse(refuse(holds.On(r.Store).SetPause(ctx, p), "until", 50460), "reason", 50097)
}

// pauseEnd returns the end of a pause that was typed; zero if none was.
func pauseEnd(r *page.Request) (time.Time, error) {
	text := value(r, "until")
	if text == "" {
		return time.Time{}, nil
	}
	until, err := page.ParseInstant(text)
	if err != nil {
		return until, &page.InputError{Field: "until", Problem: "Invalid instant: " + err.Error() + "."}
	}
	return until, nil
}

func pauseDatabase(ctx context.Context, r *page.Request) (*page.Done, error) {
	p, err := database(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := setPause(ctx, r, p); err != nil {
		return nil, err
	}
	return &page.Done{Location: pagePath(ctx, r, p), Notice: "The database is paused."}, nil
}

// confirmResumeDatabase says what the end of a pause does.
func confirmResumeDatabase(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	p, err := database(ctx, r)
	if err != nil {
		return nil, err
	}
	const button = "Resume the database"
	state := pauseState(p)
	if state == "" {
		state = "It is not paused."
	}
	return &page.Confirmation{
		Title: button, Nav: "databases", Button: button, Back: pagePath(ctx, r, p),
		Effects: sentences(fmt.Sprintf("Ends the pause of %s on %s: what waits for it starts.", quoted(p.Database), p.Server), state),
		Equivalents: commands(page.CLI("target", "resume", p.Server, p.Database), page.TSQL("jobs.sp_resume_target",
			page.Arg{Name: "server_name", Value: p.Server}, page.Arg{Name: "database_name", Value: p.Database}, page.Arg{Name: "target_id", Value: p.Target})),
	}, nil
}

// resumeDatabase ends the pause of a database.
func resumeDatabase(ctx context.Context, r *page.Request) (*page.Done, error) {
	p, err := database(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := holds.On(r.Store).Resume(ctx, p.Server, p.Database, p.Target); err != nil {
		return nil, err
	}
	return &page.Done{Location: pagePath(ctx, r, p), Notice: "The database is not paused any more."}, nil
}
