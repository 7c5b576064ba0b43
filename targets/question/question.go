package question

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Question is a T-SQL text for many targets.
type Question struct {
	Options
	// Batches are the text, split at GO. They run one after the other in one session of each
	// target, and in one transaction if Asking.ReadOnly is set.
	Batches []mssql.Batch
	// MaxRows and MaxTotal bound the rows of one target and of all together; 0 means no bound. A
	// target with more rows is canceled, which is no failure.
	MaxRows, MaxTotal int64
}

// Sink takes the answers of all targets. Several targets call it at the same time; of one target,
// only Message is called while another function runs. A function that waits slows the targets down.
// An error ends the whole question, and becomes the error of Ask.
type Sink interface {
	// Begin begins a result set of a target: its number among those of the target, from 1, and its
	// columns. The function that it returns takes the rows, whose values are valid until it
	// returns.
	Begin(t targets.Target, number int, columns []mssql.Column) (func([]driver.Value) error, error)
	// Message takes a message of a severity below 11: what PRINT and RAISERROR write.
	Message(t targets.Target, m targets.Message)
}

// Summary says what became of a question.
type Summary struct {
	// Rows is the number of rows that the sink has taken.
	Rows int64
	// Cut are the targets with more rows than MaxRows, in the order of the list.
	Cut []targets.Target
	// Full means that there were more rows than MaxTotal.
	Full bool
	// Failures are the targets without a complete answer, unless MaxRows or MaxTotal cut it.
	Failures []Failure
}

// Ask asks all targets, and returns after all sessions have ended. The error is that of the sink,
// or the cause of ctx if ctx has ended; the summary is valid with it.
func (q Question) Ask(ctx context.Context, servers *mssql.Servers, list []targets.Target, sink Sink) (Summary, error) {
	asking, end := context.WithCancelCause(ctx)
	defer end(nil)
	a := &answers{Question: q, sink: sink, end: end, cut: map[targets.Target]bool{}}
	failed := Each(asking, servers, list, q.Options, a.one)
	summary := Summary{Rows: a.taken.Load(), Full: a.full.Load(), Failures: failed}
	for _, t := range list {
		if a.cut[t] {
			summary.Cut = append(summary.Cut, t)
		}
	}
	if cause := context.Cause(asking); cause != nil && !errors.Is(cause, ErrEnough) {
		return summary, cause
	}
	return summary, nil
}

// answers counts the rows of all targets.
type answers struct {
	Question
	sink Sink
	// end ends the question.
	end context.CancelCauseFunc

	begun atomic.Int64 // rows that were read, those beyond MaxTotal included
	taken atomic.Int64 // rows that the sink has taken
	full  atomic.Bool

	mu  sync.Mutex
	cut map[targets.Target]bool
}

// one asks one target.
func (a *answers) one(ctx context.Context, o *One) error {
	sets, rows := 0, int64(0)
	var columns []mssql.Column
	var take func([]driver.Value) error
	refuse := func(err error) error {
		a.end(err)
		return err
	}
	for _, b := range a.Batches {
		for range b.Count {
			err := o.Ask(ctx, b.Text, b.Line, mssql.Answers{
				Columns: func(c []mssql.Column) (err error) {
					sets++
					columns = c
					err = o.Aside(func() error {
						take, err = a.sink.Begin(o.Target, sets, columns)
						return err
					})
					if err != nil {
						return refuse(err)
					}
					return nil
				},
				Row: func(row []driver.Value) error {
					if rows++; a.MaxRows > 0 && rows > a.MaxRows {
						a.mu.Lock()
						a.cut[o.Target] = true
						a.mu.Unlock()
						return ErrEnough
					}
					if a.MaxTotal > 0 && a.begun.Add(1) > a.MaxTotal {
						a.full.Store(true)
						return refuse(ErrEnough)
					}
					if err := o.Aside(func() error { return take(row) }); err != nil {
						return refuse(err)
					}
					a.taken.Add(1)
					return nil
				},
				Message: func(m targets.Message) { a.sink.Message(o.Target, m) },
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
