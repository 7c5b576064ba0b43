package question

import (
	"cmp"
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
// An error ends the whole question, and becomes the error of Ask, unless it is a *[TargetError].
type Sink interface {
	// Begin begins a result set of a target: its number among those of the target, from 1, and its
	// columns.
	Begin(t targets.Target, number int, columns []mssql.Column) (Rows, error)
	// Message takes a message of a severity below 11: what PRINT and RAISERROR write.
	Message(t targets.Target, m targets.Message)
}

// Rows takes the rows of one result set.
type Rows interface {
	// Row takes a row, whose values are valid until it returns.
	Row([]driver.Value) error
	// End is called once, after the last row. err is nil if the result set is complete, [ErrEnough]
	// if a limit has cut it, and else why rows are missing.
	End(err error) error
}

// TargetError is an error of a sink about the answer of one target, which fails.
type TargetError struct{ Err error }

// Error implements error.
func (e *TargetError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *TargetError) Unwrap() error { return e.Err }

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
	a := &answers{Question: q, sink: sink, stop: end, cut: map[targets.Target]bool{}}
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
	// stop ends the question.
	stop context.CancelCauseFunc

	begun atomic.Int64 // rows that were read, those beyond MaxTotal included
	taken atomic.Int64 // rows that the sink has taken
	full  atomic.Bool

	mu  sync.Mutex
	cut map[targets.Target]bool
}

// one asks one target.
func (a *answers) one(ctx context.Context, o *One) (err error) {
	s := &answer{answers: a, target: o.Target, one: o}
	defer func() {
		if endErr := s.end(err); err == nil || errors.Is(err, ErrEnough) {
			err = cmp.Or(endErr, err)
		}
	}()
	receive := mssql.Answers{
		Columns: s.begin, Row: s.row,
		Message: func(m targets.Message) { a.sink.Message(o.Target, m) },
	}
	for _, b := range a.Batches {
		for range b.Count {
			if err := o.Ask(ctx, b.Text, b.Line, receive); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer is the answer of one target.
type answer struct {
	*answers
	target targets.Target
	one    *One

	sets int
	rows int64
	open Rows // the result set that was begun; nil if there is none
}

// refused returns an error of the sink, which ends the question unless it is about the target.
func (s *answer) refused(err error) error {
	var own *TargetError
	if err != nil && !errors.As(err, &own) {
		s.stop(err)
	}
	return err
}

// begin begins the next result set.
func (s *answer) begin(columns []mssql.Column) error {
	if err := s.end(nil); err != nil {
		return err
	}
	s.sets++
	return s.refused(s.one.Aside(func() (err error) {
		s.open, err = s.sink.Begin(s.target, s.sets, columns)
		return err
	}))
}

// row takes a row of the result set.
func (s *answer) row(row []driver.Value) error {
	if s.rows++; s.MaxRows > 0 && s.rows > s.MaxRows {
		s.mu.Lock()
		s.cut[s.target] = true
		s.mu.Unlock()
		return ErrEnough
	}
	if s.MaxTotal > 0 && s.begun.Add(1) > s.MaxTotal {
		s.full.Store(true)
		return s.refused(ErrEnough)
	}
	if err := s.one.Aside(func() error { return s.open.Row(row) }); err != nil {
		return s.refused(err)
	}
	s.taken.Add(1)
	return nil
}

// end ends the result set that was begun; why is the error that ended it.
func (s *answer) end(why error) error {
	if s.open == nil {
		return nil
	}
	open := s.open
	s.open = nil
	return s.refused(s.one.Aside(func() error { return open.End(why) }))
}
