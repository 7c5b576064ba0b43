package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
)

const (
	// pollInterval is the time between two reads of a followed run, and awayInterval that between
	// two attempts while the control database does not answer.
	pollInterval = 500 * time.Millisecond
	awayInterval = time.Second
	// readLimit bounds a read. A database that takes longer is away.
	readLimit = 20 * time.Second
)

// reader reads runs; an [executions.Store] is one.
type reader interface {
	DetailReader
	executionReader
}

// Follow waits for the end of a run and returns its rows, the run itself first. It shows the
// progress on stderr: on a terminal in a picture, else in plain lines, now and then.
func Follow(ctx context.Context, p *output.Printer, store *controldb.Store, id uuid.UUID) ([]executions.Execution, error) {
	f := &follower{store: executions.On(store), screen: newScreen(ctx, p)}
	return f.follow(ctx, id)
}

// follower waits for the end of runs.
type follower struct {
	store  reader
	screen screen
	news   news
	away   outage
}

// follow implements Follow. It reads the rows of the targets, of which there may be thousands, only
// once, after the end; until then one call per tick reads their numbers by step and state.
func (f *follower) follow(ctx context.Context, id uuid.UUID) ([]executions.Execution, error) {
	err := f.wait(ctx, func(ctx context.Context, before news) (news, bool, error) { return readRun(ctx, f.store, id, before) })
	if err != nil {
		return nil, err
	}
	return f.rows(ctx, id)
}

// rows reads the rows of a run that has ended.
func (f *follower) rows(ctx context.Context, id uuid.UUID) ([]executions.Execution, error) {
	var rows []executions.Execution
	err := f.away.persist(ctx, func(ctx context.Context) error {
		var err error
		rows, err = Read(ctx, f.store, id)
		return err
	})
	return rows, err
}

// read reads the news after those of before, and reports whether all has ended.
type read func(ctx context.Context, before news) (after news, ended bool, err error)

// readRun reads the state of a run.
func readRun(ctx context.Context, store DetailReader, id uuid.UUID, before news) (after news, ended bool, err error) {
	d, err := ReadDetail(ctx, store, id, before.run)
	if errors.Is(err, dberror.ErrExecutionNotFound) {
		return before, false, NotFound(id)
	}
	if err != nil {
		return before, false, err
	}
	after = before
	after.run, after.notes = d, agentNote(d.Run.LiveAgents, d.Run.Active)
	return after, !d.Run.Active, nil
}

// wait reads and shows the news until the end, and ends the screen.
func (f *follower) wait(ctx context.Context, read read) error {
	defer func() { f.screen.end(f.news) }() // a panic, too, must give the terminal back
	for {
		began := time.Now()
		after, ended, err := limited(ctx, read, f.news)
		pause := max(pollInterval, 10*time.Since(began)) // a server that takes long to count is asked less often
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !f.away.passes(err):
			return err
		case err != nil:
			f.news.notes, pause = []string{f.away.note()}, awayInterval
		default:
			f.news, f.away = after, outage{}
		}
		if ended {
			return nil
		}
		f.screen.show(f.news)
		if err := command.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// limited calls read within readLimit.
func limited(ctx context.Context, read read, before news) (news, bool, error) {
	type answer struct {
		after news
		ended bool
	}
	reading, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	a, err := atOnce(reading, func(reading context.Context) (answer, error) {
		after, ended, err := read(reading, before)
		return answer{after, ended}, err
	})
	return a.after, a.ended, err
}

// atOnce calls read, and at the end of ctx returns at once: a driver whose server hangs may wait
// long for the confirmation that a call was canceled, and Ctrl-C must not.
func atOnce[T any](ctx context.Context, read func(ctx context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() { // ends with the call, or with the process
		value, err := read(ctx)
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// outage is a time without answers of the control database; its zero value is none.
type outage struct {
	since time.Time
	why   error // the first error
}

// numCannotOpenDatabase is the error of a database that does not exist, or that starts up.
const numCannotOpenDatabase = 4060

// passes reports whether an error may pass by itself, and records the outage. Errors of the login
// do not, except while a server that was away starts its databases.
func (o *outage) passes(err error) bool {
	starting := !o.since.IsZero() && dberror.NumberOf(err) == numCannotOpenDatabase
	if !errors.Is(err, dberror.ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) && !dberror.IsTransient(err) && !starting {
		return false
	}
	if o.since.IsZero() {
		o.since, o.why = time.Now(), err
	}
	return true
}

// note says since when there is no answer, and why.
func (o *outage) note() string {
	why := output.OneLine(o.why.Error())
	if errors.Is(o.why, context.DeadlineExceeded) {
		why = fmt.Sprintf("no answer in %s", readLimit)
	}
	return fmt.Sprintf("the control database does not answer since %s, waiting for it: %s", o.since.Format("15:04:05"), why)
}

// persist calls read again as long as the control database is away.
func (o *outage) persist(ctx context.Context, read func(ctx context.Context) error) error {
	return command.Poll(ctx, awayInterval, func() (bool, error) {
		_, err := atOnce(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, read(ctx) })
		if err == nil || ctx.Err() != nil || !o.passes(err) {
			return true, err
		}
		return false, nil
	})
}
