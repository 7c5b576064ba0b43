package mssql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/golang-sql/sqlexp"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// session is a session of its own on one database, never used before and never again. It is the
// driver's own connection, without database/sql in between: a script needs the driver's message queue,
// and its end must not depend on locks that others hold while they wait for the network.
type session struct {
	conn *conn
	wire *wire
	// token is in the session's program_name, and in no other's; empty: none.
	token  string
	closed bool
}

// open logs in to a database. Scripts get a fresh session each: go-mssqldb resets a pooled one when it
// is taken again (RESETCONNECTION in the next packet's header), but SQL Server does not undo
// everything at a reset, the isolation level among others, and a script may do anything. A token that is not empty becomes
// part of the session's program_name.
func (s *Servers) open(ctx context.Context, server, database, credential, token string) (*session, error) {
	app := s.cfg.AppName
	if token != "" {
		app = programName(app, token)
	}
	connector, err := s.connector(server, database, credential, app)
	if err != nil {
		return nil, err
	}
	connector.guard.limits, connector.guard.budget = s.cfg.Limits.guard(), s.budget
	sess, err := connect(ctx, connector, server, database)
	if err != nil {
		return nil, err
	}
	sess.token = token
	return sess, nil
}

// connect logs in by a connector.
func connect(ctx context.Context, connector *Connector, server, database string) (*session, error) {
	made, err := connector.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s/%s: %w", server, database, err)
	}
	own, ok := made.(*conn)
	if !ok {
		_ = made.Close()
		return nil, fmt.Errorf("connect to %s/%s: the connector made a %T", server, database, made)
	}
	return &session{conn: own, wire: own.wire}, nil
}

// spid is the session's id as the server writes it into what it sends; 0 when the driver encrypts and it cannot be read.
func (s *session) spid() int { return s.wire.spid() }

// openTransactions asks for @@TRANCOUNT.
func (s *session) openTransactions(ctx context.Context) (int, error) {
	return s.number(ctx, "SELECT @@TRANCOUNT")
}

// number asks a question whose answer is one integer.
func (s *session) number(ctx context.Context, question string) (int, error) {
	var row [1]driver.Value
	if err := s.row(ctx, question, row[:]); err != nil {
		return 0, err
	}
	n, ok := row[0].(int64)
	if !ok {
		return 0, fmt.Errorf("%s answers with a %T", question, row[0])
	}
	return int(n), nil
}

// row asks a question whose answer is one row. A target that answers with something else is no reason to index what is not there.
func (s *session) row(ctx context.Context, question string, into []driver.Value) error {
	a, err := s.ask(ctx, question)
	switch {
	case err != nil:
		return err
	case a.columns != len(into):
		return fmt.Errorf("a question of the agent was answered with %d columns, where %d are needed", a.columns, len(into))
	case a.sets != 1:
		return errors.New("a question of the agent was answered with more than one result set")
	case len(a.rows) == 0:
		return errors.New("a question of the agent was answered with no row")
	case len(a.rows) > 1:
		return errors.New("a question of the agent was answered with more than one row")
	}
	copy(into, a.rows[0])
	return nil
}

// smallAnswer is what a server said to a question of the agent.
type smallAnswer struct {
	sets    int              // result sets
	columns int              // of the first one
	rows    [][]driver.Value // of the first one; two at most
}

// ask sends a batch and reads the answer to its end. The error is the server's first of severity 11 or more, or why there is no whole answer.
//
// It takes the driver's message queue, as scripts do: without it the driver leaves its reading goroutine behind when an error comes before the
// columns.
func (s *session) ask(ctx context.Context, text string) (a smallAnswer, err error) {
	s.wire.setRows(tdsguard.OwnRows)
	var queue sqlexp.ReturnMessage
	answer, err := s.query(ctx, text, &queue)
	if err != nil {
		return a, err
	}
	said := &collector{limits: targets.Limits{Messages: 1, MessageBytes: 1, TextBytes: 1}}
	p := startPump(&queue, said, 1)
	set, err := newResultSet(answer, nil)
	if set != nil {
		a.columns = len(set.columns)
		for set.next() {
			if len(a.rows) < 2 {
				a.rows = append(a.rows, slices.Clone(set.row))
			}
		}
		err = set.err
	}
	for err == nil {
		err = answer.Next(nil)
	}
	s.finish(answer)
	p.stop()
	a.sets = p.sets
	_, broken := s.wire.state()
	switch {
	case said.failure() != nil:
		return a, said.failure()
	case ctx.Err() != nil:
		return a, ctx.Err()
	case errors.Is(err, io.EOF) && broken == nil && p.err == nil:
		return a, nil
	default:
		return a, cmp.Or(broken, p.err, err)
	}
}

// finish closes an answer. When the driver cannot even ask for its end, it leaves a goroutine behind that waits for somebody to take what it has
// read; the connection is cut then, and all is taken.
func (s *session) finish(answer driver.Rows) {
	for tries := 0; answer.Close() != nil && s.wire != nil && tries < 1000; tries++ {
		s.wire.abort()
		time.Sleep(time.Millisecond)
	}
}

// exec sends a batch that answers with nothing but errors.
func (s *session) exec(ctx context.Context, text string) error {
	_, err := s.ask(ctx, text)
	return err
}

// query sends a batch. The messages go to the queue, and the rows are a *mssql.Rowsq; the caller has said what becomes of the rows.
func (s *session) query(ctx context.Context, text string, queue *sqlexp.ReturnMessage) (driver.Rows, error) {
	// This is how database/sql hands the queue to the driver.
	if err := s.conn.CheckNamedValue(&driver.NamedValue{Ordinal: 1, Value: queue}); !errors.Is(err, driver.ErrRemoveArgument) {
		return nil, fmt.Errorf("the driver takes no message queue: %w", err)
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	query, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, fmt.Errorf("the driver's statement is a %T", stmt)
	}
	return query.QueryContext(ctx, nil)
}

// close ends the session; the server rolls back what the script left open. Again: nothing. The driver gives the connection's buffers
// to the next one, and would give them twice.
func (s *session) close() {
	if !s.closed {
		s.closed = true
		_ = s.conn.Close()
	}
}

// discard ends a session that does not answer; nothing is waited for. The driver may still read from it in a goroutine of its own, which
// ends with the wire, so that its buffers must not be given to another connection: the driver's Close is not called.
func (s *session) discard() {
	if s.wire == nil {
		s.close()
		return
	}
	s.closed = true
	s.wire.abort()
	_ = s.wire.Close()
}
