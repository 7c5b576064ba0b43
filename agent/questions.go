package agent

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/questions"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

const (
	// maxQuestions is the number of questions that an agent carries out at the same time, so that a
	// slow question does not delay all others.
	maxQuestions = 4
	// questionParallel is the number of databases that are queried at the same time for each
	// question. The limit of concurrent targets, which is for attempts, does not count them.
	questionParallel = 8
	// recordInterval is the time between two calls that record answers, and the longest time until
	// the agent learns that a question was canceled.
	recordInterval = 500 * time.Millisecond
	// recordRows and recordBytes bound a batch of rows: record_answers takes 1,000.
	recordRows, recordBytes = 500, 256 << 10
	// recordEnd is the time limit for recording how a question ended when the agent stops.
	recordEnd = 10 * time.Second
	// maxAnswerShapes, maxAnswerErrors and namedTargets are the limits of the tables of answers.
	maxAnswerShapes, maxAnswerErrors, namedTargets = 100, 100, 100
	// maxAnswerValue is the number of UTF-16 units to which a text is cut.
	maxAnswerValue = 4000
	// maxAnswerMessage is the number of UTF-16 units to which an error is cut.
	maxAnswerMessage = 2000
)

var (
	// errQuestionCanceled means that somebody has canceled the question.
	errQuestionCanceled = errors.New("the question was canceled")
	// errAnswersRefused means that the control database refuses to store answers.
	errAnswersRefused = errors.New("the control database refuses the answers")
)

// questionRunner runs the queries that people have asked through the control database
// (sql/DESIGN.md, "Questions") on the databases of target groups.
type questionRunner struct {
	store *controldb.Store
	term  controldb.TermID
	// termCtx ends with the term.
	termCtx context.Context
	tools   Tools
	log     *zap.Logger
	// wake has a value when a pass has found a question that waits. Size 1.
	wake chan struct{}
}

func newQuestions(store *controldb.Store, term controldb.TermID, termCtx context.Context, tools Tools, log *zap.Logger) *questionRunner {
	return &questionRunner{
		store: store, term: term, termCtx: termCtx, tools: tools,
		log: log.With(zap.String(keyService, "questions")), wake: make(chan struct{}, 1),
	}
}

func (q *questionRunner) name() string { return "questions" }

// run claims and carries out questions, whenever wake has a value, until ctx is done.
func (q *questionRunner) run(ctx context.Context, ready func()) error {
	ready()
	var asking sync.WaitGroup
	defer asking.Wait()
	slots := make(chan struct{}, maxQuestions)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		}
		for claimed := true; claimed; {
			select {
			case <-ctx.Done():
				return nil
			case slots <- struct{}{}:
			}
			claim, err := questions.On(q.store).Claim(ctx, q.term)
			if claimed = err == nil && claim != nil; claimed {
				asking.Go(func() {
					defer func() { <-slots }()
					q.carryOut(ctx, claim)
				})
				continue
			}
			<-slots
			if err != nil && ctx.Err() == nil { // the next pass finds the question again
				q.log.Warn("could not claim a question", zap.Error(err))
			}
		}
	}
}

// carryOut runs one question and records the answers.
func (q *questionRunner) carryOut(ctx context.Context, claim *questions.Claimed) {
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(q.termCtx, func() { stop(ErrTermLost) })()
	for _, claimed := range q.tools.OnClaim {
		claimed()
	}
	a := &answering{
		questionRunner: q, claim: claim, stop: stop, rows: make(chan questions.RecordedRow), shapes: map[string]int{},
		log: q.log.With(zap.Int64(keyQuestionID, claim.ID)),
	}
	a.log.Info("asking a question")
	var recording sync.WaitGroup
	recording.Go(func() { a.record(asking) })
	end := a.ask(asking)
	close(a.rows)
	recording.Wait()
	if a.lost {
		return
	}
	end.Cut = end.Cut || a.full
	if a.refused != nil {
		end.Error = refusedAnswers(a.refused)
	}
	// The end is recorded also when the agent stops.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordEnd)
	defer cancel()
	a.send(last, end)
	a.log.Info("a question has ended", zap.Int(keyCount, a.number), zap.String(keyCause, end.Error))
}

// answering is a question that is carried out. It is the sink of the answers.
type answering struct {
	*questionRunner
	claim *questions.Claimed
	// stop ends the question.
	stop context.CancelCauseFunc
	log  *zap.Logger

	targets          atomic.Pointer[int]
	paused           atomic.Int64
	answered, failed atomic.Int64

	mu     sync.Mutex
	shapes map[string]int // numbers by result set and columns
	added  []questions.RecordedShape

	rows chan questions.RecordedRow

	// These belong to record and, after it has returned, to carryOut.

	pending []questions.RecordedRow
	bytes   int
	number  int  // number of the last row
	full    bool // no more rows are kept
	lost    bool // the term does not hold the question any more
	// refused is the error with which the control database has refused answers; nil: it has not.
	refused error
}

// ask queries all databases and returns how the question ended.
func (a *answering) ask(ctx context.Context) (end questions.RecordedAnswers) {
	end.Ended = true
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("a question panicked", zap.Any(keyError, p), zap.ByteString(keyStack, debug.Stack()))
			end.Error = "The agent had an internal error. See the agent's log."
		}
	}()
	batches, err := mssql.SplitBatches(a.claim.Text)
	if err == nil && len(batches) == 0 {
		err = errors.New("the question is empty")
	}
	if err != nil {
		end.Error = clipped("Nothing was sent: "+err.Error(), maxAnswerMessage)
		return end
	}
	if _, err := mssql.CheckUndoable(batches); err != nil {
		end.Error = clipped("Nothing was sent, because this cannot be rolled back: "+err.Error(), maxAnswerMessage)
		return end
	}
	list, err := a.list(ctx)
	if err != nil {
		end.Error = a.why(ctx, "The target group could not be resolved: "+mssql.Describe(err).String())
		return end
	}
	asked := question.Question{
		Batches: batches, MaxRows: int64(a.claim.MaxRowsOfTarget), MaxTotal: int64(a.claim.MaxRows),
		Options: question.Options{
			Parallel: questionParallel, Timeout: time.Duration(a.claim.TimeoutSeconds) * time.Second,
			Asking: mssql.Asking{Credential: a.claim.Credential, ReadOnly: true, Admit: true, Description: fmt.Sprint("question ", a.claim.ID)},
			Ended: func(err error) {
				switch cause := context.Cause(ctx); {
				case err == nil, errors.Is(err, question.ErrEnough):
					a.answered.Add(1)
				case cause == nil || !errors.Is(err, cause):
					a.failed.Add(1)
				}
			},
		},
	}
	summary, err := asked.Ask(ctx, a.tools.Runner.Servers(), list, a)
	end.Cut = summary.Full || len(summary.Cut) > 0
	if err != nil {
		end.Error = a.why(ctx, err.Error())
		cause := context.Cause(ctx)
		summary.Failures = without(summary.Failures, cause)
	}
	end.Errors = grouped(summary.Failures)
	return end
}

// list returns the databases to be queried.
func (a *answering) list(ctx context.Context) ([]targets.Target, error) {
	members, err := questions.On(a.store).GroupMembers(ctx, a.claim.Group)
	if err != nil {
		return nil, err
	}
	all, err := a.tools.Resolver.Resolve(ctx, members)
	if err != nil {
		return nil, err
	}
	list := make([]targets.Target, 0, len(all))
	for _, t := range all {
		if !a.claim.Paused[t.ID] {
			list = append(list, t)
		}
	}
	a.paused.Store(int64(len(all) - len(list)))
	count := len(all)
	a.targets.Store(&count)
	return list, nil
}

// why returns the reason why a question ended early, or text.
func (a *answering) why(ctx context.Context, text string) string {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errQuestionCanceled):
		return "Canceled." // the control database adds the name
	case cause != nil:
		return "The agent stopped before all databases had answered; ask again."
	}
	return clipped(text, maxAnswerMessage)
}

// without returns the failures of targets that did not fail because of cause.
func without(list []question.Failure, cause error) (own []question.Failure) {
	for _, f := range list {
		if cause == nil || !errors.Is(f.Err, cause) {
			own = append(own, f)
		}
	}
	return own
}

// grouped returns the failures in the form in which they are recorded.
func grouped(list []question.Failure) (errs []questions.RecordedError) {
	for _, g := range question.GroupFailures(list) {
		if len(errs) == maxAnswerErrors {
			break
		}
		errs = append(errs, questions.RecordedError{
			Message: clipped(g.Message, maxAnswerMessage), Class: string(g.Class), Targets: len(g.Targets),
			Names: g.Targets[:min(len(g.Targets), namedTargets)],
		})
	}
	return errs
}

// clipped cuts a text to a number of UTF-16 units.
func clipped(text string, most int) string { return wording.Clip(text, most, wording.UTF16) }

// Begin implements [question.Sink].
func (a *answering) Begin(t targets.Target, number int, columns []mssql.Column) (question.Rows, error) {
	shape := questions.RecordedShape{ResultSet: number, Columns: make([]questions.Column, len(columns))}
	for i, c := range columns {
		shape.Columns[i] = questions.Column{Name: c.Name, Kind: string(c.Kind())}
	}
	key, err := json.Marshal(shape)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n, known := a.shapes[string(key)]
	if !known {
		if n = len(a.shapes) + 1; n > maxAnswerShapes {
			return nil, &question.TargetError{Err: fmt.Errorf("the columns of the answers differ in more than %d ways", maxAnswerShapes)}
		}
		a.shapes[string(key)] = n
		shape.Shape = n
		a.added = append(a.added, shape)
	}
	return &answerRows{answering: a, target: t, shape: n, columns: columns}, nil
}

// Message implements [question.Sink]. Messages are not kept.
func (a *answering) Message(targets.Target, targets.Message) {}

// answerRows takes the rows of one result set.
type answerRows struct {
	*answering
	target  targets.Target
	shape   int
	columns []mssql.Column
}

// Row implements [question.Rows]. It waits while a batch is being recorded.
func (r *answerRows) Row(row []driver.Value) error {
	values := []byte{'['}
	for i, v := range row {
		if i > 0 {
			values = append(values, ',')
		}
		values = appendValue(values, r.columns[i], v)
	}
	r.rows <- questions.RecordedRow{ // record receives until all sessions have ended
		Shape: r.shape, Server: r.target.Server, Database: r.target.Database, Values: append(values, ']'),
	}
	return nil
}

// End implements [question.Rows].
func (r *answerRows) End(error) error { return nil }

// appendValue appends a value as JSON. A long text, and long bytes, are cut.
func appendValue(to []byte, c mssql.Column, v driver.Value) []byte {
	switch long := v.(type) {
	case string:
		if len(long) > maxAnswerValue {
			return append(to, jsontree.Quote(clipped(long, maxAnswerValue))...)
		}
	case []byte:
		if len(long) > maxAnswerValue/2 && c.Kind() == mssql.KindBytes {
			return append(to, jsontree.Quote(c.Text(long[:maxAnswerValue/2-2])+"…")...)
		}
		if len(long) > maxAnswerValue {
			return append(to, jsontree.Quote(clipped(strings.ToValidUTF8(c.Text(long), "\uFFFD"), maxAnswerValue))...)
		}
	}
	return c.AppendJSON(to, v)
}

// record records rows and counts until rows is closed. The rows that it has not recorded are then
// in pending.
func (a *answering) record(ctx context.Context) {
	ticker := time.NewTicker(recordInterval)
	defer ticker.Stop()
	for {
		select {
		case row, ok := <-a.rows:
			if !ok {
				return
			}
			if a.full || a.lost || ctx.Err() != nil {
				continue
			}
			a.number++
			row.Number = a.number
			a.pending = append(a.pending, row)
			if a.bytes += len(row.Values); len(a.pending) < recordRows && a.bytes < recordBytes {
				continue
			}
		case <-ticker.C:
		}
		if !a.full && !a.lost && ctx.Err() == nil {
			a.send(ctx, questions.RecordedAnswers{})
		}
	}
}

// refusedAnswers is the error of a question whose answers the control database has refused with
// err.
func refusedAnswers(err error) string {
	return fmt.Sprintf("The control database could not store answers (error %d). See the agent's log.", dberror.NumberOf(err))
}

// send records the pending rows, with counts. It retries until ctx is done or the term is lost. If
// the control database refuses the data, another call would not help: the question ends, and its
// end is recorded without rows and errors.
func (a *answering) send(ctx context.Context, answers questions.RecordedAnswers) {
	answers.Question, answers.Targets = a.claim.ID, a.targets.Load()
	answers.Answered, answers.Failed, answers.Paused = int(a.answered.Load()), int(a.failed.Load()), int(a.paused.Load())
	answers.Rows, a.pending, a.bytes = a.pending, nil, 0
	a.mu.Lock()
	answers.Shapes, a.added = a.added, nil
	a.mu.Unlock()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 5 * time.Second}
	for {
		verdict, err := questions.On(a.store).RecordAnswers(ctx, a.term, answers)
		switch {
		case errors.Is(err, dberror.ErrTermEnded), err == nil && verdict == questions.AnswersRefused:
			a.lost = true
			a.stop(ErrTermLost)
			return
		case err == nil && verdict == questions.AnswersCanceled:
			a.full = true
			a.stop(errQuestionCanceled)
			return
		case err == nil && verdict == questions.AnswersFull:
			a.full = true
			a.stop(question.ErrEnough)
			return
		case err == nil && verdict == questions.AnswersBusy:
			err = errors.New("another session is changing the question")
		case err == nil:
			return
		case refusesData(err):
			a.log.Error("the control database refuses answers, and the question ends without them", zap.Error(err))
			a.full, a.refused = true, err
			a.stop(errAnswersRefused)
			if !answers.Ended || len(answers.Rows)+len(answers.Shapes)+len(answers.Errors) == 0 {
				return
			}
			answers.Rows, answers.Shapes, answers.Errors, answers.Error = nil, nil, nil, refusedAnswers(err)
			continue
		}
		delay := retry.Next()
		if ctx.Err() == nil {
			a.log.Warn("could not record answers", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
		if !sleep(ctx, delay, nil) {
			a.pending, a.bytes = append(answers.Rows, a.pending...), 0
			a.mu.Lock()
			a.added = append(answers.Shapes, a.added...)
			a.mu.Unlock()
			return
		}
	}
}
