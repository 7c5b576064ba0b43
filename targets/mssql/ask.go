package mssql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/golang-sql/sqlexp"

	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// Asking configures a session of [Servers.OpenSession].
type Asking struct {
	// Credential names the credential to log in with; empty means DefaultCredential.
	Credential string
	// ReadOnly runs the batches in one transaction that is rolled back, and lets a listener lead to
	// a replica (ApplicationIntent=ReadOnly).
	ReadOnly bool
	// Primary leaves out ApplicationIntent=ReadOnly.
	Primary bool
	// Admit refuses a session on a control database, and a login that can enter one, as for scripts
	// of jobs (I13).
	Admit bool
	// Description is the end of the session's program_name; empty means none.
	Description string
}

// Session is a session on one database whose answers are read by the caller: those to queries of a
// person, and to queries of the agent. It is not safe for concurrent use.
type Session struct {
	servers *Servers
	inner   *session
	// readOnly means that the batches are in a transaction that is rolled back; begun is the ID of
	// this transaction, or 0 if the ID is not known.
	readOnly, open bool
	begun          int64
	// lost means that the session cannot be used any more.
	lost bool
}

// Column describes a column of a result set.
type Column struct {
	// Name may be empty, and several columns may have the same name.
	Name string
	// Type is the name of the type without its length, in capitals, such as NVARCHAR.
	Type string
	// Precision and Scale are those of decimals and times; 0 for other types.
	Precision, Scale int64
}

// Answers receives the answer to a batch. A nil function drops its part of the answer. An error of
// Columns or Row cancels the batch on the server and becomes the error of [Session.Ask].
type Answers struct {
	// Columns is called at the beginning of each result set.
	Columns func([]Column) error
	// Row is called for each row as soon as it was read. The next row is read after Row has
	// returned, except for the few rows that the driver buffers. The values belong to the driver,
	// and are valid until Row returns.
	Row func([]driver.Value) error
	// Message is called for each message of a severity below 11 (PRINT, warnings), one after the
	// other, but possibly while Columns or Row runs.
	Message func(targets.Message)
}

// OpenSession logs in to a database. The caller closes the session.
func (s *Servers) OpenSession(ctx context.Context, t targets.Target, how Asking) (*Session, error) {
	app := s.cfg.AppName
	if how.Description != "" && !s.cfg.AnonymousSessions {
		app = programName(app, newToken(), how.Description)
	}
	connector, err := s.connector(t.Server, t.Database, how.Credential, app, how.ReadOnly && !how.Primary)
	if err != nil {
		return nil, err
	}
	connector.guard.limits, connector.guard.budget = s.cfg.Limits.guard(), s.questions
	connector.guard.limits.OutputBytes = connector.guard.limits.AnswerBytes // no output table takes the rows
	inner, err := connect(ctx, connector, t.Server, t.Database)
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	if how.Admit && !s.cfg.AllowControlDatabase {
		stop := cutAfter(ctx, inner.wire, ackWait)
		_, err = s.admit(ctx, inner, t.Server, t.Database, how.Credential)
		stop()
		if err != nil {
			inner.close()
			return nil, causeOr(ctx, err)
		}
	}
	return &Session{servers: s, inner: inner, readOnly: how.ReadOnly}, nil
}

// SPID returns the session's ID; 0 if the driver itself encrypts, so that packets cannot be read.
func (s *Session) SPID() int { return s.inner.spid() }

// Close ends the session. The server rolls back an open transaction.
func (s *Session) Close() { s.inner.close() }

// Ask sends a batch and passes on the answer. line is the number of the batch's first line in the
// script. The error is, in this order: the error of a function of a; the cause of ctx if ctx has
// ended; the reason why the connection broke; a *TrialError if the batch ended the transaction that
// is to be rolled back; the server's first error of severity 11 or more.
//
// When ctx ends, or a function of a returns an error, the batch is canceled on the server. If the
// server does not acknowledge that within ackWait, the connection is cut, and the server then ends
// the session. Only after an error of the server can the session be used again.
func (s *Session) Ask(ctx context.Context, text string, line int, a Answers) error {
	if s.lost {
		return errors.New("the session has ended")
	}
	if !s.readOnly {
		return s.ask(ctx, text, line, a)
	}
	read := s.servers.readingOf(text)
	if !s.open {
		s.open = true
		if read.begins != "" {
			return s.ask(ctx, read.begins, line, a)
		}
		if err := s.own(ctx, func() error { return s.inner.exec(ctx, trialBegin) }); err != nil {
			return err
		}
	}
	if !read.watched {
		return s.ask(ctx, text, line, a)
	}
	var err error
	if s.begun == 0 {
		if _, s.begun, err = s.transaction(ctx); err != nil {
			return err
		}
	}
	if err := s.ask(ctx, text, line, a); err != nil {
		return err
	}
	count, id, err := s.transaction(ctx)
	if err != nil {
		return err
	}
	if count == 0 || id != s.begun {
		return &TrialError{fmt.Sprintf("The batch at line %d ended the transaction that is rolled back. "+
			"If that was a COMMIT in a procedure or in dynamic T-SQL, what came before it is left.", line)}
	}
	return nil
}

// reading is the way to send a batch in a transaction that is rolled back.
type reading struct {
	text string
	// begins is the batch with BEGIN TRANSACTION before it; empty means that the transaction is
	// begun in a packet of its own.
	begins string
	// watched means that the transaction is compared after the batch.
	watched bool
}

// readingOf returns the way to send a batch. It caches the last batch, because the same batch is
// sent to thousands of databases.
func (s *Servers) readingOf(text string) *reading {
	if last := s.lastRead.Load(); last != nil && last.text == text {
		return last
	}
	r := &reading{text: text, watched: mayEndTransaction(text)}
	if all, ok := prefixed(trialBegin+" ", text); ok && !r.watched {
		r.begins = all
	}
	s.lastRead.Store(r)
	return r
}

// mayEndTransaction reports whether a batch may execute a COMMIT that the text does not show: in a
// procedure, dynamic T-SQL or a trigger. Functions cannot end a transaction, and [CheckUndoable]
// finds a COMMIT in the batch itself.
func mayEndTransaction(text string) bool {
	tokens, err := tsql.Scan(text)
	if err != nil {
		return true
	}
	for _, t := range tokens {
		for _, word := range []string{"EXEC", "EXECUTE", "INSERT", "UPDATE", "DELETE", "MERGE"} {
			if t.Is(word) {
				return true
			}
		}
	}
	_, known := prefixed("", text) // otherwise it may begin with the name of a procedure
	return !known
}

// own runs a query of the agent, and cuts the connection when ctx ends.
func (s *Session) own(ctx context.Context, ask func() error) error {
	defer cutAfter(ctx, s.inner.wire, ackWait)()
	if err := ask(); err != nil {
		s.lost = true
		return causeOr(ctx, fmt.Errorf("the transaction that is rolled back: %w", err))
	}
	return nil
}

// transaction returns the number of open transactions and the id of the outermost one.
func (s *Session) transaction(ctx context.Context) (count, id int64, err error) {
	var row [3]driver.Value
	if err := s.own(ctx, func() error { return s.inner.row(ctx, trialState, row[:]) }); err != nil {
		return 0, 0, err
	}
	count, _ = row[0].(int64)
	id, _ = row[1].(int64)
	return count, id, nil
}

// ask sends a batch and reads the whole answer.
func (s *Session) ask(ctx context.Context, text string, line int, a Answers) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer cutAfter(asking, s.inner.wire, ackWait)()
	s.inner.wire.setRows(tdsguard.KeptRows)
	var queue sqlexp.ReturnMessage
	// The leading blank keeps the driver from taking a batch of one word for a procedure's name.
	answer, err := s.inner.query(asking, " "+text, &queue)
	if err != nil {
		s.lost = true
		return causeOr(ctx, fmt.Errorf("send the batch: %w: %w", errConnectionLost, err))
	}
	limits := targets.Limits{}.WithDefaults()
	limits.Messages = 1 // the first error is kept; the others come to a.Message
	said := &collector{limits: limits, heard: a.Message}
	if said.heard == nil {
		said.heard = func(targets.Message) {}
	}
	p := startPump(&queue, said, line)
	refused, err := s.read(asking, answer, a)
	if refused != nil {
		s.inner.wire.setRows(tdsguard.NoRows)
		cancel() // the driver sends an attention
	}
	for err == nil && refused == nil {
		err = answer.Next(nil)
	}
	s.inner.finish(answer)
	p.stop()
	_, broken := s.inner.wire.state()
	if refused == nil && errors.Is(err, io.EOF) && broken == nil && p.err == nil {
		return cmp.Or(said.failure(), s.inner.wire.unexplained())
	}
	s.lost = true
	var exceeded *tdsguard.Exceeded
	switch {
	case refused != nil:
		return refused
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(broken, &exceeded):
		s.inner.wire.cancel(ackWait)
		return &limitError{exceeded}
	case said.endedSession():
		return said.failure()
	}
	return fmt.Errorf("%w while the batch ran: %w", errConnectionLost, cmp.Or(broken, p.err, err))
}

// read passes on the result sets of an answer. refused is the error of a function of a. If err is
// nil, the rest of the answer must be read to find out whether it is complete.
func (s *Session) read(ctx context.Context, answer driver.Rows, a Answers) (refused, err error) {
	err = eachSet(ctx, answer, s.inner.wire, false, func(set *resultSet) error {
		refused = set.passOn(a)
		return refused
	})
	if refused != nil {
		return refused, nil
	}
	return nil, err
}

// passOn passes on a result set. The error is the error of a function of a.
func (s *resultSet) passOn(a Answers) error {
	if a.Columns != nil {
		columns := make([]Column, len(s.columns))
		for i, c := range s.columns {
			columns[i] = Column{Name: c.name, Type: c.typ, Precision: c.precision, Scale: c.scale}
		}
		if err := a.Columns(columns); err != nil {
			return err
		}
	}
	for s.next() {
		if a.Row == nil {
			continue
		}
		if err := a.Row(s.row); err != nil {
			return err
		}
	}
	return nil
}

// CheckUndoable finds the statements in batches that a transaction cannot undo, or that cannot be
// in a transaction, as for trials. The error, a *TrialError, names those that must not be sent;
// warnings are about the others.
func CheckUndoable(batches []Batch) (warnings []string, err error) {
	var refused []string
	for _, b := range batches {
		found, err := doubts(b.Text, b.Line)
		if err != nil {
			return nil, &TrialError{err.Error()}
		}
		for _, d := range found {
			if d.warns {
				warnings = append(warnings, d.String())
			} else {
				refused = append(refused, d.String())
			}
		}
	}
	if n := len(refused); n > 0 {
		return nil, &TrialError{strings.Join(shortened(refused), "; ")}
	}
	return warnings, nil
}

// shortened returns at most ten of the texts, and the number of the others.
func shortened(list []string) []string {
	if n := len(list) - 10; n > 0 {
		list = append(list[:10:10], fmt.Sprintf("and %d more", n))
	}
	return list
}
