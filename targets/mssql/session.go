package mssql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/golang-sql/sqlexp"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// session is a session on one database, used once. It is the driver's own connection without
// database/sql: a script needs the driver's message queue, and database/sql holds locks while the
// driver waits for the network.
type session struct {
	conn *conn
	wire *wire
	// token is in the program_name of this session only; empty means none.
	token  string
	closed bool
}

// open logs in to a database. Each script gets a fresh session, because a reset (RESETCONNECTION in
// a packet's header) does not undo everything that a script may have changed, such as the isolation
// level.
func (s *Servers) open(ctx context.Context, server, database, credential string) (*session, error) {
	return s.openFor(ctx, server, database, credential, "", "")
}

// openFor is open with a token and a description of the attempt, which become the end of
// program_name, unless the token is empty. That costs no round trip, because each attempt logs in
// anyway.
func (s *Servers) openFor(ctx context.Context, server, database, credential, token, description string) (*session, error) {
	app := s.cfg.AppName
	if s.cfg.AnonymousSessions {
		description = ""
	}
	if token != "" {
		app = programName(app, token, description)
	}
	connector, err := s.connector(server, database, credential, app, false)
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

// connect logs in with a connector.
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

// spid returns the session's ID from the packets' headers; 0 if the driver encrypts and they cannot
// be read.
func (s *session) spid() int { return s.wire.spid() }

// openTransactions returns @@TRANCOUNT.
func (s *session) openTransactions(ctx context.Context) (int, error) {
	return s.number(ctx, "SELECT @@TRANCOUNT")
}

// number sends a query that returns one integer.
func (s *session) number(ctx context.Context, question string) (int, error) {
	var row [1]driver.Value
	if err := s.row(ctx, question, row[:]); err != nil {
		return 0, err
	}
	n, ok := row[0].(int64)
	if !ok {
		return 0, fmt.Errorf("%s returned a %T", question, row[0])
	}
	return int(n), nil
}

// row sends a query that returns one row. Any other answer of the target is an error.
func (s *session) row(ctx context.Context, question string, into []driver.Value) error {
	a, err := s.ask(ctx, question)
	switch {
	case err != nil:
		return err
	case a.columns != len(into):
		return fmt.Errorf("the answer to a query of the agent has %d columns, want %d", a.columns, len(into))
	case a.sets != 1:
		return errors.New("the answer to a query of the agent has more than one result set")
	case len(a.rows) == 0:
		return errors.New("the answer to a query of the agent has no row")
	case len(a.rows) > 1:
		return errors.New("the answer to a query of the agent has more than one row")
	}
	copy(into, a.rows[0])
	return nil
}

// smallAnswer is the answer to a query of the agent.
type smallAnswer struct {
	sets    int              // result sets
	columns int              // number of columns of the first result set
	rows    [][]driver.Value // rows of the first result set; at most two are kept
}

// ask sends a batch and reads the answer to its end. The error is the server's first one of
// severity 11 or more, errUnexplained, or the reason why the answer is not complete.
//
// It uses the driver's message queue, as scripts do. Without the queue, the driver's reading
// goroutine would block when an error precedes the columns.
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
		return a, s.wire.unexplained()
	default:
		return a, cmp.Or(broken, p.err, err)
	}
}

// finish closes an answer. If the driver cannot cancel the request, finish cuts the connection, so
// that the driver's reading goroutine ends.
func (s *session) finish(answer driver.Rows) {
	if answer.Close() != nil && s.wire != nil {
		s.wire.abort()
	}
}

// exec sends a batch that returns no rows.
func (s *session) exec(ctx context.Context, text string) error {
	_, err := s.ask(ctx, text)
	return err
}

// query sends a batch. Messages go to the queue, and the rows are a *mssqldb.Rowsq. The caller has
// called setRows. With arguments, the driver sends the batch through sp_executesql.
func (s *session) query(
	ctx context.Context, text string, queue *sqlexp.ReturnMessage, args ...driver.NamedValue,
) (driver.Rows, error) {
	// database/sql passes the queue to the driver in the same way.
	err := s.conn.CheckNamedValue(&driver.NamedValue{Ordinal: 1, Value: queue})
	if !errors.Is(err, driver.ErrRemoveArgument) {
		return nil, fmt.Errorf("the driver did not accept the message queue: %w", err)
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	query, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, fmt.Errorf("the driver's statement is a %T", stmt)
	}
	return query.QueryContext(ctx, args)
}

// close ends the session; the server rolls back open transactions. A second call has no effect,
// because the driver would return the connection's buffers to its pool twice.
func (s *session) close() {
	if !s.closed {
		s.closed = true
		_ = s.conn.Close()
	}
}

// discard ends a session that does not answer, without waiting. It does not call the driver's
// Close, which would return buffers to a pool while a goroutine of the driver may still read into
// them.
func (s *session) discard() {
	if s.wire == nil {
		s.close()
		return
	}
	s.closed = true
	s.wire.abort()
	_ = s.wire.Close()
}
